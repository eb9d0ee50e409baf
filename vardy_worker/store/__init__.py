"""Where jobs, documents and worker presence are kept: in Redis, or in memory for tests.

`redis_*` and `memory_*` implement the same ports and pass the same contract suites.
"""

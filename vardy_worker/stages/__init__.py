"""The stages of a job: each takes and returns values, and does I/O only through ports."""

"""What people may do to a job: pure functions from a record and a wish to one compare-and-set.

Each returns the `Change` to apply, or raises `RequestError`; `erase`, which the store itself
carries out, returns what is noted of it. The caller applies it, starts over with a fresh
record on a conflict, and publishes a commit message when `to` is `COMMITTING`. So whoever
carries a wish, it comes to the same.
"""

from vardy_worker.verbs.commits import cancel, commit_planned, discard, expire, requeue, resolve
from vardy_worker.verbs.decisions import decide
from vardy_worker.verbs.erasure import erase

__all__ = ["cancel", "commit_planned", "decide", "discard", "erase", "expire", "requeue", "resolve"]

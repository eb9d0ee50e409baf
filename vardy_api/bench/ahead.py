"""A client that a store can fill a server through without waiting for each reply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.job import JobRecord
from vardy_worker.store.codec import stored_name
from vardy_worker.store.scripts import script

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 2000
"""Commands in flight together."""


class AheadOfReplies:
    """Stands for the client of a `RedisJobStore` that alone writes jobs nobody else knows.

    What the scripts will reply is then known before they run, so the commands are sent by
    batches. Each real reply is compared with the expected one: a store that changes how it
    writes makes this fail, and not measure something else.
    """

    def __init__(self, client: Any, job_prefix: str) -> None:
        self._job_prefix = job_prefix
        self._pipe = client.pipeline(transaction=False)
        self._expected: list[list[Any]] = []
        self._jobs: dict[str, tuple[str, int]] = {}
        self._records: dict[str, list[bytes]] = {}
        self._heads: dict[str, str] = {}
        replies: dict[str, Callable[[list[Any]], list[Any]]] = {
            "submit": self._submitted,
            "claim": self._claimed,
            "change": self._changed,
        }
        self._replies = {script(name)[1]: reply for name, reply in replies.items()}
        for name in replies:
            client.script_load(script(name)[0])

    def evalsha(self, sha: str, keys: int, *args: Any) -> list[Any]:
        """What the script will reply."""
        self._pipe.evalsha(sha, keys, *args)
        given = list(args[keys:])
        expected = self._replies[sha](given)
        self._expected.append(expected)
        if isinstance(given[-1], bytes) and given[-1]:
            # The entries for the audit trail; a claim has none, and ends with a number.
            audit = json.loads(given[-1])
            self._heads[audit["chain"]] = audit["next"]
        return expected

    def pipeline(self, *, transaction: bool) -> _Look:
        """The reads that come before a change with entries for the audit trail."""
        del transaction
        return _Look(self._head, self._state)

    def flush(self) -> None:
        """Sends what was gathered. Raises `RuntimeError` for a reply that was not expected."""
        replies, expected = self._pipe.execute(), self._expected
        self._expected = []
        self._jobs.clear()
        self._records.clear()
        self._heads.clear()
        for reply, told in zip(replies, expected, strict=True):
            # The record that comes with a claim is not known ahead in every field.
            if reply[:2] != told[:2]:
                raise RuntimeError(f"a script replied {reply[:2]}, and not {told[:2]}")

    @property
    def is_full(self) -> bool:
        """Whether it is time to flush, when no job is half made."""
        return len(self._expected) >= BATCH

    def _submitted(self, args: list[Any]) -> list[Any]:
        self._jobs[args[0]] = "QUEUED", 1
        self._records[args[0]] = [each.encode() if isinstance(each, str) else each for each in args[_fields(args) : -1]]
        return [b"submitted", args[0].encode()]

    def _claimed(self, args: list[Any]) -> list[Any]:
        self._moved(args[1], args[5])
        return [b"claimed", 1, self._records[args[1]], []]

    def _changed(self, args: list[Any]) -> list[Any]:
        return [b"changed", self._moved(args[1], args[5])]

    def _moved(self, job_id: str, to: str) -> int:
        status, version = self._jobs[job_id]
        self._jobs[job_id] = to or status, version + 1
        return version + 1

    def _head(self, chain: str) -> bytes:
        return self._heads.get(chain, "").encode()

    def _state(self, key: str) -> list[bytes]:
        status, version = self._jobs[key.removeprefix(self._job_prefix)]
        return [f'"{status}"'.encode(), str(version).encode()]


def _fields(args: list[Any]) -> int:
    """Where the pairs of field and JSON begin among the arguments of a submission."""
    return args.index(stored_name(next(iter(JobRecord.model_fields))))


class _Look:
    """The two reads of a change that the audit trail notes, answered without asking."""

    def __init__(self, head: Callable[[str], bytes], state: Callable[[str], list[bytes]]) -> None:
        self._head = head
        self._state = state
        self._replies: list[Any] = []

    def hget(self, _heads: str, chain: str) -> None:
        """The head of a chain."""
        self._replies.append(self._head(chain))

    def hmget(self, key: str, _fields: list[str]) -> None:
        """Status and version of a job."""
        self._replies.append(self._state(key))

    def execute(self) -> list[Any]:
        """Both."""
        return self._replies

"""Runs the Lua scripts of `lua/`, each of which is safe to send twice."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import NoPermissionError, NoScriptError, ReadOnlyError, ResponseError

from vardy_worker.contracts.errors import NotConfirmed
from vardy_worker.store.connection import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis

FSYNC_WAIT_MS: Final = 3000
"""Longest wait for the append-only file; above the second between two syncs of `everysec`."""

REPLICAS_WAIT_MS: Final = 1500
"""Longest wait for replicas; together with the wait for the file below the client's socket timeout."""

Arg = str | bytes | int


_INCLUDE: Final = re.compile(r"^-- include: (\w+)$", re.MULTILINE)
"""A line of a script that stands for a file of `lua/include/`: the server knows no modules."""


@cache
def script(name: str) -> tuple[str, str]:
    """Text and SHA-1 of a script, by its file name without `.lua`, with what it includes."""
    folder = files("vardy_worker.store") / "lua"

    def included(line: re.Match[str]) -> str:
        return (folder / "include" / f"{line[1]}.lua").read_text(encoding="utf-8")

    text = _INCLUDE.sub(included, (folder / f"{name}.lua").read_text(encoding="utf-8"))
    return text, hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 - the name EVALSHA asks for


class NotReplicated(NotConfirmed):
    """The script's writes, whose `reply` this is, are made, but too few replicas confirmed them."""

    def __init__(self, reply: Any, confirmed: int, wanted: int) -> None:
        self.reply = reply
        super().__init__(
            f"Only {confirmed} of {wanted} replicas confirmed a write within {REPLICAS_WAIT_MS} ms: "
            "look at the replicas, or lower VARDY_JOURNAL_REPLICAS.",
            details={"confirmed": confirmed, "waited_ms": REPLICAS_WAIT_MS},
        )


class Scripts:
    """Scripts on one client. Raises `StoreUnavailable`.

    `replicas`: how many of the server's replicas must have what `run_safely` wrote.
    """

    def __init__(self, client: Redis, *, replicas: int = 0) -> None:
        self._client = client
        self._replicas = replicas
        self._fsync: bool | None = None

    @property
    def fsync(self) -> bool | None:
        """Whether the server can wait for its append-only file; None until it was asked."""
        return self._fsync

    def run(self, name: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        """The script's reply."""
        text, sha = script(name)
        with translated(), self._leaving_replicas():
            try:
                return self._client.evalsha(sha, len(keys), *keys, *args)
            except NoScriptError:
                return self._client.eval(text, len(keys), *keys, *args)

    def run_safely(self, name: str, keys: Sequence[str], args: Sequence[Arg], *, fsync: bool) -> Any:
        """The script's reply, once the replicas have its writes and, with `fsync`, the append-only file too.

        A server without such a file, or older than `WAITAOF`, is noticed at the first call;
        from then on nothing waits for it (see `fsync`). Raises `StoreUnavailable` when file
        or replicas did not have the writes in time: the change may then be applied.
        """
        fsync = fsync and self._fsync is not False
        if not fsync and not self._replicas:
            return self.run(name, keys, args)
        text, sha = script(name)
        with translated(), self._leaving_replicas():
            reply, waits = self._piped("EVALSHA", sha, keys, args, fsync=fsync)
            if isinstance(reply, NoScriptError):
                reply, waits = self._piped("EVAL", text, keys, args, fsync=fsync)
            for answer in (reply, *waits[int(fsync) :]):
                if isinstance(answer, Exception):
                    # A script that found nothing to write is not refused by a replica; the wait behind it is.
                    raise ReadOnlyError(str(answer)) if "replica instances" in str(answer) else answer
            if fsync:
                self._need_synced(waits[0])
        if self._replicas and waits[-1] < self._replicas:
            raise NotReplicated(reply, waits[-1], self._replicas)
        return reply

    def _need_synced(self, answer: Any) -> None:
        if isinstance(answer, NoPermissionError):
            raise answer
        self._fsync = not isinstance(answer, ResponseError)
        if self._fsync and answer[0] < 1:
            msg = (
                f"Redis did not sync its append-only file within {FSYNC_WAIT_MS} ms: its disk is stuck, "
                "or `appendfsync` is `no`; set it to `always`, or VARDY_JOURNAL_FSYNC to false."
            )
            raise NotConfirmed(msg, details={"waited_ms": FSYNC_WAIT_MS})

    @contextmanager
    def _leaving_replicas(self) -> Iterator[None]:
        """After a failover behind one name, old connections lead to what is a replica now."""
        try:
            yield
        except ReadOnlyError:
            self._client.connection_pool.disconnect(inuse_connections=False)
            raise

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """How many members each sorted set has."""
        with translated():
            pipe = self._client.pipeline(transaction=False)
            for key in keys:
                pipe.zcard(key)
            return dict(zip(keys, pipe.execute(), strict=True))

    def _piped(
        self, command: str, code: str, keys: Sequence[str], args: Sequence[Arg], *, fsync: bool
    ) -> tuple[Any, list[Any]]:
        """The script's reply and those of the waits, which wait for the writes of their own connection alone.

        So a script that finds its change made already, maybe over another connection, writes
        something of it again.
        """
        pipe = self._client.pipeline(transaction=False)
        pipe.execute_command(command, code, len(keys), *keys, *args)  # type: ignore[no-untyped-call] # redis-py has no types here
        if fsync:
            pipe.execute_command("WAITAOF", 1, 0, FSYNC_WAIT_MS)  # type: ignore[no-untyped-call] # the same
        if self._replicas:
            pipe.execute_command("WAIT", self._replicas, REPLICAS_WAIT_MS)  # type: ignore[no-untyped-call] # the same
        reply, *waits = pipe.execute(raise_on_error=False)
        return reply, waits

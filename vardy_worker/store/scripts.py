"""Runs the Lua scripts of `lua/`, each of which is safe to send twice."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import NoScriptError, ReadOnlyError, ResponseError

from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.store.connection import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis import Redis

FSYNC_WAIT_MS: Final = 3000
"""Longest wait for the append-only file; above the second between two syncs of `everysec`."""

Arg = str | bytes | int


@cache
def script(name: str) -> tuple[str, str]:
    """Text and SHA-1 of a script, by its file name without `.lua`."""
    text = (files("vardy_worker.store") / "lua" / f"{name}.lua").read_text(encoding="utf-8")
    return text, hashlib.sha1(text.encode()).hexdigest()  # noqa: S324 - the name EVALSHA asks for


class Scripts:
    """Scripts on one client. Raises `StoreUnavailable`."""

    def __init__(self, client: Redis) -> None:
        self._client = client
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

    def run_durably(self, name: str, keys: Sequence[str], args: Sequence[Arg]) -> Any:
        """The script's reply, once its writes are in the server's append-only file.

        A server without one, or older than `WAITAOF`, is noticed at the first call; from
        then on the script runs as usual (see `fsync`). Raises `StoreUnavailable` when the
        file was not written in time: the change may then be applied.
        """
        if self._fsync is False:
            return self.run(name, keys, args)
        text, sha = script(name)
        with translated(), self._leaving_replicas():
            # WAITAOF waits for the writes of its own connection, so both go in one pipeline.
            reply, synced = self._piped("EVALSHA", sha, keys, args)
            if isinstance(reply, NoScriptError):
                reply, synced = self._piped("EVAL", text, keys, args)
            if isinstance(reply, Exception):
                raise reply
        if isinstance(synced, ResponseError):
            self._fsync = False
            return reply
        self._fsync = True
        if synced[0] < 1:
            msg = (
                f"Redis did not sync its append-only file within {FSYNC_WAIT_MS} ms: its disk is stuck, "
                "or `appendfsync` is `no`; set it to `always`, or VARDY_JOURNAL_FSYNC to false."
            )
            raise StoreUnavailable(msg, details={"waited_ms": FSYNC_WAIT_MS})
        return reply

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

    def _piped(self, command: str, code: str, keys: Sequence[str], args: Sequence[Arg]) -> tuple[Any, Any]:
        pipe = self._client.pipeline(transaction=False)
        pipe.execute_command(command, code, len(keys), *keys, *args)  # type: ignore[no-untyped-call] # redis-py has no types here
        pipe.execute_command("WAITAOF", 1, 0, FSYNC_WAIT_MS)  # type: ignore[no-untyped-call] # the same
        reply, synced = pipe.execute(raise_on_error=False)
        return reply, synced

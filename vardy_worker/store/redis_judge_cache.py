"""Answers of the judge in Redis: one string with a time to live for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vardy_worker.store.codec import dump_json
from vardy_worker.store.connection import translated
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from redis import Redis

    from vardy_worker.contracts.base import JsonValue

KEYS_PER_COMMAND: Final = 500
"""Asked for, or sent, at once: no command holds the server up."""


class RedisJudgeCache:
    """The `JudgeCache` port. Raises `StoreUnavailable`."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client = client
        self._keys = Keys(namespace)

    def get_many(self, keys: Sequence[str]) -> Mapping[str, JsonValue]:
        """See `JudgeCache.get_many`."""
        found: dict[str, JsonValue] = {}
        for part in _parts(list(dict.fromkeys(keys))):
            with translated():
                stored: list[bytes | None] = self._client.mget([self._keys.judged(key) for key in part])  # type: ignore[assignment] # no text decoding is asked for
            for key, text in zip(part, stored, strict=True):
                try:
                    found |= {} if text is None else {key: json.loads(text)}
                except (ValueError, RecursionError):
                    # Damaged, by whomever: as if it were not there.
                    continue
        return found

    def put_many(self, answers: Mapping[str, JsonValue], *, keep_seconds: int) -> None:
        """See `JudgeCache.put_many`."""
        for part in _parts(list(answers)):
            with translated():
                # No transaction: each answer stands for itself.
                pipe = self._client.pipeline(transaction=False)
                for key in part:
                    pipe.set(self._keys.judged(key), dump_json(answers[key]), px=keep_seconds * 1000)
                pipe.execute()


def _parts(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), KEYS_PER_COMMAND):
        yield keys[start : start + KEYS_PER_COMMAND]

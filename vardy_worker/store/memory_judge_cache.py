"""Answers of the judge in memory, for tests."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.ports import Clock


class MemoryJudgeCache:
    """The `JudgeCache` port without a server; the clock stands for the server's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[str, int]] = {}

    def get_many(self, keys: Sequence[str]) -> Mapping[str, JsonValue]:
        """See `JudgeCache.get_many`."""
        with self._lock:
            now_ms = self._clock.now_ms()
            found = {key: kept[0] for key in keys if (kept := self._kept.get(key)) and kept[1] > now_ms}
        return {key: json.loads(text) for key, text in found.items()}

    def put_many(self, answers: Mapping[str, JsonValue], *, keep_seconds: int) -> None:
        """See `JudgeCache.put_many`."""
        until_ms = self._clock.now_ms() + keep_seconds * 1000
        written = {key: (json.dumps(value), until_ms) for key, value in answers.items()}
        with self._lock:
            self._kept |= written

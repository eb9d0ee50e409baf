"""When API keys were used last, in memory, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MemoryKeyUses:
    """The `KeyUses` port without a server."""

    def __init__(self) -> None:
        self._stored: dict[str, int] = {}

    def note(self, key_id: str, hour_ms: int) -> None:
        """See `KeyUses.note`."""
        self._stored[key_id] = hour_ms

    def last(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """See `KeyUses.last`."""
        return {key_id: self._stored[key_id] for key_id in key_ids if key_id in self._stored}

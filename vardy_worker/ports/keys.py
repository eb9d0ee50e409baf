"""When API keys were used last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class KeyUses(Protocol):
    """The hour in which each key was used last: enough to find dead keys, and no trace of people."""

    def note(self, key_id: str, hour_ms: int) -> None:
        """Says that the key was used in the hour that began then."""

    def last(self, key_ids: Sequence[str]) -> Mapping[str, int]:
        """Of these keys, those that were used: key id → the hour that was noted last."""

"""The change feed: a hint at which jobs change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class ChangeFeed(Protocol):
    """Tells which jobs change. A hint only: whoever is told reads the store after it."""

    def follow(self, told: Callable[[str | None], None]) -> None:
        """Calls `told`, in the event loop that runs now, with the id of every job that changes from now on.

        With None it says that changes may have been missed, as before a subscription began.
        There is one follower; a later one takes the place of an earlier one.
        """

    async def aclose(self) -> None:
        """Ends it."""

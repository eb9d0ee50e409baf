"""The change feed: a hint at which jobs change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from vardy_worker.contracts.status import Status

Told: TypeAlias = "Callable[[str | None, Status | None], None]"
"""Hears of a job, and in which status the change left it where that is known."""


class ChangeFeed(Protocol):
    """Tells which jobs change. A hint only: whoever is told reads the store after it."""

    def follow(self, told: Told) -> None:
        """Calls `told`, in the event loop that runs now, with the id of every job that changes from now on.

        With None for the id it says that changes may have been missed, as before a subscription began.
        There is one follower; a later one takes the place of an earlier one.
        """

    async def aclose(self) -> None:
        """Ends it."""

"""Processes that die at a chosen step: each call of a port that may change something is two points to die at.

Nothing names the steps. Whatever of a port is not in `READS` counts, so a write that is
added one day is a point to die at from its first day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

READS: Final = frozenset(
    {
        # stores
        "get",
        "version",
        "versions",
        "all",
        "journal",
        "events",
        "console",
        "counts",
        "list_jobs",
        "submitted_under",
        "used",
        "exceeded",
        "server_now_ms",
        "ping",
        "seen",
        # queue
        "depth",
        "oldest_published_ms",
        # functions and rules
        "catalogue",
        "check",
        "exhausted",
        "current",
        "load",
        "evaluate",
    }
)
"""What only looks. To die before or after a look is to die after the step before it, or before the next."""


class Died(BaseException):
    """The process is gone. No `except Exception` keeps it alive."""


@dataclass
class Doom:
    """Counts the steps of all processes, and ends one of them before or after the chosen step."""

    at: int | None = None
    after: bool = False
    steps: list[str] = field(default_factory=list)
    happened: bool = False
    on_death: Callable[[], None] = lambda: None

    def takes(self, number: int, *, after: bool) -> bool:
        """Whether a process dies here."""
        if number != self.at or after is not self.after:
            return False
        self.happened = True
        self.on_death()
        return True


@dataclass
class Process:
    """What lives and dies together: every port of a process goes through it."""

    doom: Doom
    is_dead: bool = False

    def step(self, name: str, act: Callable[[], Any]) -> Any:
        """One step. After its death, a process takes no more."""
        self._live()
        number = len(self.doom.steps)
        self.doom.steps.append(name)
        self._die_if(number, after=False)
        done = act()
        self._live()
        self._die_if(number, after=True)
        return done

    def _die_if(self, number: int, *, after: bool) -> None:
        if self.doom.takes(number, after=after):
            self.is_dead = True
        self._live()

    def _live(self) -> None:
        if self.is_dead:
            raise Died

    def port(self, real: Any) -> Any:
        """The port as this process has it."""
        return _Port(self, real)


class _Port:
    """A port whose every call is a step, unless it only looks."""

    def __init__(self, process: Process, real: object) -> None:
        self._process = process
        self._real = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name in READS or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            step = f"{type(self._real).__name__}.{name}"
            return self._process.step(step, lambda: found(*args, **kwargs))

        return call

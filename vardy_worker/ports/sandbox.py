"""The sandbox that programs run in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.execution import CallReply, GuestCall, SandboxOutcome, SandboxRun


class Sandbox(Protocol):
    """Runs programs in child processes."""

    def run(
        self,
        run: SandboxRun,
        handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]],
        *,
        started: Callable[[], None] | None = None,
    ) -> SandboxOutcome:
        """Runs one program to its end, never longer than its deadline plus a margin.

        `handle` gets the calls of one tick, in call order, and returns their replies in the
        same order; it runs in the caller's thread. It may raise `StopProgram`. Time spent
        in it counts against the deadline; it is never interrupted, so it must bound itself.
        `started` is called once, when the deadline begins: waiting for a child comes before.
        Raises `SettingsError` when no child can be started on this machine.
        """

    def close(self) -> None:
        """Ends every child."""

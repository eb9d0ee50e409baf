"""What stands for the model, and where the children that run programs come from."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.model import ModelReply
from vardy_worker.sandbox.pool import PoolFailed, build_image
from vardy_worker.testing.one_by_one import OneByOne

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.execution import CallReply, GuestCall, SandboxOutcome, SandboxRun
    from vardy_worker.contracts.model import ModelRequest
    from vardy_worker.sandbox.pool import Image


class ScriptedModel(OneByOne):
    """Gives its answers in order, and the last of them again whenever it is asked once more."""

    def __init__(self, answers: Sequence[str]) -> None:
        """`answers` is not empty."""
        self._answers = tuple(answers)
        self._given = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""
        answer = self._answers[min(self._given, len(self._answers) - 1)]
        self._given += 1
        return ModelReply(text=answer, model=request.model)


@cache
def _compiled() -> Image:
    """The engine, compiled once in a test process: that takes a second of every core."""
    return build_image()


class LazySandbox:
    """The real sandbox, whose child is started by the first program that runs.

    `failure` is why no child could be started on this machine.
    """

    def __init__(self, *, guest_memory_mib_max: int) -> None:
        self._guest_memory_mib_max = guest_memory_mib_max
        self._lock = threading.Lock()
        self._real: ChildSandbox | None = None
        self.failure: SettingsError | None = None

    def run(
        self,
        run: SandboxRun,
        handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]],
        *,
        started: Callable[[], None] | None = None,
    ) -> SandboxOutcome:
        """See `Sandbox.run`."""
        try:
            return self._started().run(run, handle, started=started)
        except SettingsError as error:
            self.failure = error
            raise

    def _started(self) -> ChildSandbox:
        with self._lock:
            if self._real is None:
                try:
                    image = _compiled()
                except PoolFailed as error:
                    raise SettingsError(f"No sandbox can be started on this machine: {error}") from error
                self._real = ChildSandbox(
                    warm=1, children_max=4, guest_memory_mib_max=self._guest_memory_mib_max, image=image
                )
            return self._real

    def close(self) -> None:
        """See `Sandbox.close`."""
        with self._lock:
            real, self._real = self._real, None
        if real is not None:
            real.close()

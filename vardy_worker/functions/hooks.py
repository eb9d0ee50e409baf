"""Running the hooks with which a company opens and closes what its functions need."""

from __future__ import annotations

import contextvars
import inspect
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.functions.loop import LoopThread


def run_hook(hook: Callable[[], Any], loop: LoopThread, *, seconds_max: float) -> None:
    """Runs one hook to its end: async ones on the functions' event loop, others on a thread.

    Raises what the hook raises, or `TimeoutError`.
    """
    done: Future[None] = Future()
    if inspect.iscoroutinefunction(hook):

        async def run_async() -> bool:
            try:
                await hook()
            except BaseException as error:  # noqa: BLE001 - handed to the waiting thread
                done.set_exception(error)
            else:
                done.set_result(None)
            return True

        loop.submit(run_async, contextvars.copy_context())
    else:

        def run() -> None:
            try:
                hook()
            except BaseException as error:  # noqa: BLE001 - handed to the waiting thread
                done.set_exception(error)
            else:
                done.set_result(None)

        threading.Thread(target=run, name="vardy-hook", daemon=True).start()
    done.result(seconds_max)

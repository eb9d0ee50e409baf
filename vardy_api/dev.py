"""`vardy dev`: everything in one terminal, on loopback, with data that outlives it."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

from vardy_api.http.loopback import is_loopback
from vardy_api.stack import Stack
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.store.address import redis_access

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

PORT = 8000
WATCH_SECONDS = 0.5


def run_dev(*, data_dir: Path, port: int = PORT, redis_url: str = "") -> int:
    """Runs until Ctrl-C or SIGTERM; returns the exit code. Raises `SettingsError` when it cannot start."""
    stopping = threading.Event()
    serving = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()
        if not serving:
            # Nothing looks at the event yet, and starting may take a while.
            raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with Stack(data_dir=data_dir, port=port, redis_url=redis_url, show=_show) as stack:
            serving = True
            _welcome(stack)
            _watch(stack, stopping)
            _say("Stopping; running jobs are finished first.")
    except KeyboardInterrupt:
        _say("Stopped while starting.")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    _say(f"The data is kept in {data_dir}.")
    return 0


def _watch(stack: Stack, stopping: threading.Event) -> None:
    """Until it is time to stop. Raises `SettingsError` when a process ended by itself."""
    while not stopping.wait(WATCH_SECONDS):
        ended = stack.ended_child()
        if ended is None:
            continue
        if ended.name != "worker" or ended.process.returncode != 0:
            raise SettingsError(
                f"The {ended.name} ended (exit code {ended.process.returncode}); everything is stopped.",
                details={"process": ended.name},
            )
        # A worker ends by itself when too many of its functions hang.
        _say("The worker ended to be replaced; starting a new one.")
        stack.restart_worker()


def _welcome(stack: Stack) -> None:
    _say("Vardy is running, for development only: it listens on this machine alone.")
    _say("")
    _say(f"  API      {stack.url}        (documentation: {stack.url}/docs)")
    _say(f"  Key      {stack.api_key}")
    _say(f"  Data     {stack.data_dir}")
    far = [host for host in redis_access(stack.redis_url).hosts if not is_loopback(host)]
    if far:
        _say(f"  Redis    {', '.join(far)}, not this machine: whoever has the key may do anything with what is there")
    if stack.scripted is not None:
        _say("  Model    scripted: it knows a few phrases, and lists them for any other; VARDY_MODEL sets a real one")
    elif not stack.has_model:
        _say("  Model    none: the scripted one knows only the demo shop; set VARDY_MODEL, or run recipes")
    _say("")
    _say("In another terminal:")
    _say("")
    _say(f"  export VARDY_URL={stack.url} VARDY_API_KEY={stack.api_key}")
    if stack.has_model:
        example = "how much does customer 3 owe?" if stack.uses_demo_shop else "…"
        _say(f'  vardy run "{example}" --user ana')
    else:
        _say("  vardy functions list")
    if stack.uses_demo_shop or not stack.has_model:
        _say("  vardy recipes list")
    _say("")
    _say("Ctrl-C stops everything.")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _show(name: str, line: str) -> None:
    sys.stderr.write(f"{name:<7}| {line}\n")
    sys.stderr.flush()

"""Takes away from the child what it does not need, before it meets a program."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when its parent ends (Linux). Exits if it ended already.

    The signal is bound to the parent's thread that started us: that thread must live on.
    """
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def give_up_privileges() -> None:
    """No program started from here, set-uid or not, gains any privilege (Linux)."""
    if sys.platform == "linux":
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def limit_resources(data_bytes_max: int) -> None:
    """From here on no file can be opened, no core written and no file grown.

    For users other than root no process or thread can be started either. Memory that the
    process may write is capped where the system counts it (Linux).
    """
    if sys.platform == "linux":
        _limit(resource.RLIMIT_DATA, data_bytes_max)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_NOFILE, 0)


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(what, (value, value))


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")

"""A seccomp filter that leaves a child only the system calls that it needs (Linux).

Calls that are not listed fail with EPERM. None of the listed ones opens, connects, starts,
signals or inspects anything: an attacker who escaped from the guest and from wasmtime
still holds one socket to the worker and the memory of a process without secrets.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALLOWED: Final[dict[str, tuple[int, int]]] = {
    # name: (x86_64, aarch64); -1 where the architecture has no such call
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "poll": (7, -1),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "exit_group": (231, 94),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}

_CLOCK_GETTIME: Final = (228, 113)
"""For the clocks that are named only: other ids tell the CPU time of any process."""

_ARCHITECTURES: Final[dict[str, tuple[int, int, int]]] = {
    # machine: (column above, AUDIT_ARCH_*, number of the call `seccomp`)
    "x86_64": (0, 0xC000003E, 317),
    "aarch64": (1, 0xC00000B7, 277),
}

_LOAD_WORD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_RET_ALLOW: Final = 0x7FFF0000
_RET_ERRNO: Final = 0x00050000
_SET_MODE_FILTER: Final = 1
_FLAG_TSYNC: Final = 1
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)


def program(machine: str, clocks: Sequence[int]) -> bytes:
    """The filter for a machine, as classic BPF, which lets read these clocks.

    Raises `KeyError` for an unknown machine.
    """
    column, architecture, _ = _ARCHITECTURES[machine]
    numbers = [call[column] for call in _ALLOWED.values() if call[column] >= 0]
    # A match jumps over the remaining comparisons, those of clocks with what leads to them, and the refusal.
    rest = len(clocks) + 2
    code = [
        _instruction(_LOAD_WORD, _ARCHITECTURE_OFFSET),
        _instruction(_JUMP_EQUAL, architecture, otherwise=len(numbers) + 1 + rest),
        _instruction(_LOAD_WORD, _NUMBER_OFFSET),
    ]
    code += [
        _instruction(_JUMP_EQUAL, number, then=len(numbers) - index + rest) for index, number in enumerate(numbers)
    ]
    # The kernel takes the lower half of the argument only.
    code += [
        _instruction(_JUMP_EQUAL, _CLOCK_GETTIME[column], otherwise=len(clocks) + 1),
        _instruction(_LOAD_WORD, _FIRST_ARGUMENT_OFFSET),
    ]
    code += [
        _instruction(_JUMP_EQUAL, clock & 0xFFFFFFFF, then=len(clocks) - index) for index, clock in enumerate(clocks)
    ]
    code += [_instruction(_RETURN, _RET_ERRNO | errno.EPERM), _instruction(_RETURN, _RET_ALLOW)]
    return b"".join(code)


def confine() -> bool:
    """Installs the filter for every thread of this process; False where the system cannot.

    Of CPU times, only the process's own and the calling thread's can be read from then on.
    Needs `PR_SET_NO_NEW_PRIVS`. There is no way back.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _ARCHITECTURES:
        return False
    thread = time.pthread_getcpuclockid(threading.get_ident())
    own = (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID, thread)
    code = program(machine, (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, *own))
    filter_program = _Program(len(code) // 8, code)
    call = ctypes.CDLL(None, use_errno=True).syscall
    return bool(call(_ARCHITECTURES[machine][2], _SET_MODE_FILTER, _FLAG_TSYNC, ctypes.byref(filter_program)) == 0)

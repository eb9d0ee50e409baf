"""The protocol between the parent and a child: frames over one socket, in one place.

A frame is its length (4 bytes, big-endian, of what follows), one byte of kind, and a body.

    parent                                child
      │ ◀──────────────────────── READY     │  once, when the image is loaded
      │ START ─────────────────────────▶    │  limits and the guest's job
      │ ◀──────────────────────── CALLS     │  the calls of one tick    ┐ any number
      │ REPLIES ───────────────────────▶    │  their replies, in order  ┘ of times
      │ ◀──────────────── END or LIMIT      │  the program is over; the child is free
      │ ABANDON ───────────────────────▶    │  instead of REPLIES: drop the program; answered by LIMIT

START and REPLIES carry JSON that only the guest parses, after the header below. CALLS and
END carry text that only the guest wrote and the parent must distrust. When the socket
closes, the child exits.
"""

from __future__ import annotations

import struct
from typing import Final

FRAME: Final = struct.Struct("!IB")
"""Length of the body plus one, and the kind."""

START: Final = 1
REPLIES: Final = 2
ABANDON: Final = 3
READY: Final = 16
CALLS: Final = 17
END: Final = 18
LIMIT: Final = 19
FAILED: Final = 20
"""The child could not start; the body is a sentence."""

CONFINED: Final = b"confined"
"""The body of READY where the system-call filter is in place; empty where the system has none."""

START_HEADER: Final = struct.Struct("!ddQq")
"""Of START: wall clock left (seconds), CPU time (seconds), guest memory (bytes), now (ms)."""

END_HEADER: Final = struct.Struct("!d?I")
"""Of END and LIMIT: CPU time used (seconds), whether console was cut, the bytes of console that follow."""

TIMEOUT: Final = b"timeout"
CPU: Final = b"cpu"
MEMORY: Final = b"memory"
STACK: Final = b"stack"
ABANDONED: Final = b"abandoned"
BROKEN: Final = b"broken"
"""The ends that LIMIT names after the console. BROKEN: the engine failed in an unforeseen way."""

CONSOLE_HEADER: Final = struct.Struct("<II")
"""Of the guest's console buffer: the bytes used, and whether anything was cut."""

CONSOLE_RECORD: Final = struct.Struct("<BI")
"""Of each console line: its level, and the bytes of UTF-8 that follow."""

CONSOLE_LEVELS: Final = ("log", "info", "warn", "error", "debug")

CONSOLE_BYTES_MAX: Final = 256 * 1024
"""The room that every guest has for console records; a larger limit counts as this."""

FRAME_SLACK_BYTES: Final = 1024 * 1024
"""A child's frame may be as large as the guest's memory and this."""

FRAME_ERROR: Final = struct.error
"""What the structs above raise for a body that is too short."""

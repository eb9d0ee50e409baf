"""A sandbox child whose programs are native code: what somebody holds who escaped from the guest and from wasmtime.

The worker's own pool starts it in place of `entry.py`, with the same arguments. Descriptors,
environment, limits and the filter are what the product makes them: only where a program would
be handed to QuickJS it is handed to Python, which calls into the system as it likes.
"""

from __future__ import annotations

# Whatever attempts use must be loaded before the lockdown, as nothing can be opened after it.
import ctypes
import errno
import importlib.util
import json
import mmap
import os
import resource
import socket
import sys
import time
from pathlib import Path
from typing import Any

ENTRY = Path(__file__).resolve().parents[2] / "vardy_worker" / "sandbox" / "entry.py"
MODULES = (ctypes, errno, json, mmap, os, resource, socket, sys, time)


def main() -> None:
    spec = importlib.util.spec_from_file_location("entry", ENTRY)
    assert spec is not None
    assert spec.loader is not None
    entry = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(entry)
    if sys.argv[1] == "child":
        entry._only_sandbox(sys.argv[2].split("\n"))
        from vardy_worker.sandbox.engine import Guest  # noqa: PLC0415 - only now can it be found

        # The escape.
        setattr(Guest, "start", start)  # noqa: B010 - an assignment would be no method of that type
        setattr(Guest, "collect", collect)  # noqa: B010 - the same
    entry._main(sys.argv[1:])


def start(guest: Any, at: int, count: int) -> None:
    """Runs the source of the job as Python; `found` is its output."""
    job = json.loads(bytes(guest.view(at, count)))
    found: dict[str, Any] = {}
    names = {module.__name__: module for module in MODULES}
    try:
        exec(job["source"], {**names, "params": job["params"], "found": found})  # noqa: S102 - that is the point
    except Exception as error:  # noqa: BLE001 - a test must see a fault of its own
        found["raised"] = repr(error)
    guest.found = found


def collect(guest: Any) -> bytes:
    """What the prelude would say of a program that returned `found`."""
    return b'E{"k":"returned","refs":[],"warnings":[]}\n' + json.dumps(guest.found).encode()


if __name__ == "__main__":
    main()

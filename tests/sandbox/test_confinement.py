"""Native code in a child, as somebody would run it who escaped from the guest and from wasmtime."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from vardy_worker.sandbox import seccomp

ATTEMPTS = """
import ctypes, errno, json, os, platform, socket, sys, types
package = types.ModuleType("vardy_worker")
package.__path__ = [sys.argv[1]]
sys.modules["vardy_worker"] = package
from vardy_worker.sandbox import lockdown, seccomp
libc = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
lockdown.give_up_privileges()
lockdown.limit_resources(1 << 30)
confined = seccomp.confine()
found = {"confined": confined}

def attempt(name, act):
    try:
        act()
        found[name] = "possible"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]

def native(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)

attempt("open", lambda: os.open("/etc/passwd", os.O_RDONLY))
attempt("create", lambda: os.open("/tmp/escaped", os.O_CREAT | os.O_WRONLY))
attempt("list", lambda: os.listdir("/"))
attempt("environment of the parent", lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY))
attempt("socket", lambda: socket.socket())
attempt("socketpair", lambda: socket.socketpair())
attempt("fork", lambda: os.fork())
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("kill", lambda: os.kill(parent, 0))
attempt("trace", lambda: native("ptrace", 16, parent, 0, 0))
attempt("read memory", lambda: native("process_vm_readv", parent, 0, 0, 0, 0, 0))
attempt("raise limits", lambda: native("setrlimit", 7, (ctypes.c_ulong * 2)(100, 100)))
attempt("unlink", lambda: os.unlink("/tmp/nothing"))
attempt("connect", lambda: native("connect", 1, 0, 0))
os.write(1, json.dumps(found).encode())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}, reason="the filter is Linux's"
)
def test_native_code_in_a_child_reaches_no_file_no_socket_and_no_process() -> None:
    root = Path(seccomp.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ATTEMPTS, str(root)], env={}, capture_output=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert found.pop("confined") is True
    assert found
    assert set(found.values()) == {"EPERM"}, found
    assert not Path("/tmp/escaped").exists()  # noqa: S108 - the file that must not have come to be
    assert os.getpid() > 0


def test_the_filter_fits_the_jumps_that_it_makes() -> None:
    for machine in ("x86_64", "aarch64"):
        assert len(seccomp.program(machine)) // 8 < 256

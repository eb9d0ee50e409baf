"""Native code in a child of the worker's own pool: what somebody can do who escaped from guest and wasmtime."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import eventually
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.base import JsonValue
from vardy_worker.contracts.execution import LimitHit, Returned, SandboxOutcome, SandboxRun
from vardy_worker.contracts.limits import Limits
from vardy_worker.sandbox import pool, seccomp

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}, reason="the filter is Linux's"
)

ESCAPED = Path(__file__).with_name("escaped_child.py")

PRELUDE = """
libc = ctypes.CDLL(None, use_errno=True)
parent = params.get("parent") if isinstance(params, dict) else None

def attempt(name, act):
    try:
        act()
        found[name] = "possible"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]

def native(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)
"""

# Each does little harm where it succeeds: a test that fails must not break the machine.
ATTEMPTS = {
    "files": """
attempt("open", lambda: os.open("/etc/passwd", os.O_RDONLY))
attempt("open itself", lambda: os.open(sys.executable, os.O_RDONLY))
attempt("create", lambda: os.open(params["file"], os.O_CREAT | os.O_WRONLY))
attempt("list", lambda: os.listdir("/"))
attempt("stat", lambda: os.stat("/"))
attempt("unlink", lambda: os.unlink(params["file"]))
attempt("rename", lambda: os.rename(params["file"], params["file"] + "2"))
attempt("link", lambda: os.symlink("/", params["file"]))
attempt("directory", lambda: os.mkdir(params["file"]))
attempt("mode", lambda: os.chmod(params["file"], 0o777))
attempt("change directory", lambda: os.chdir("/"))
attempt("root", lambda: os.chroot("/"))
attempt("handle", lambda: native("open_by_handle_at", -100, 0, 0))
attempt("mount", lambda: native("mount", b"none", params["file"].encode(), b"tmpfs", 0, None))
attempt("namespace", lambda: native("unshare", 0x10000000))
""",
    "sockets": """
for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt(f"{family} {int(kind)}", lambda: socket.socket(getattr(socket, family), kind))
attempt("pair", lambda: socket.socketpair())
for name in ("connect", "bind", "listen", "accept", "getsockname", "getpeername", "sendmsg", "recvmsg", "shutdown"):
    attempt(name, lambda: native(name, params["socket"], 0, 0, 0))
""",
    "processes": """
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("thread", lambda: native("syscall", params["clone3"], 0, 0))
attempt("signal the parent", lambda: os.kill(parent, 0))
attempt("signal the group of the parent", lambda: os.killpg(parent, 0))
attempt("queue a signal", lambda: native("sigqueue", parent, 0, 0))
attempt("process descriptor", lambda: os.pidfd_open(parent))
attempt("trace the parent", lambda: native("ptrace", 0x4206, parent, 0, 0))
attempt("trace itself", lambda: native("ptrace", 0, 0, 0, 0))
attempt("read memory", lambda: native("process_vm_readv", parent, 0, 0, 0, 0, 0))
attempt("write memory", lambda: native("process_vm_writev", parent, 0, 0, 0, 0, 0))
attempt("environment of the parent", lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY))
attempt("memory of the parent", lambda: os.open(f"/proc/{parent}/mem", os.O_RDWR))
attempt("list processes", lambda: os.listdir("/proc"))
attempt("priority of the parent", lambda: os.setpriority(os.PRIO_PROCESS, parent, 0))
attempt("processors of the parent", lambda: os.sched_getaffinity(parent))
attempt("limits of the parent", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE))
attempt("CPU time of the parent", lambda: time.clock_gettime((~parent << 3) | 2))
attempt("shared memory", lambda: native("shmget", 1, 4096, 0))
attempt("message queue", lambda: native("msgget", 1, 0))
attempt("semaphore", lambda: native("semget", 1, 1, 0))
""",
    "the way back": """
attempt("limits", lambda: native("setrlimit", 7, (ctypes.c_ulong * 2)(100, 100)))
attempt("no new privileges", lambda: native("prctl", 38, 0, 0, 0, 0))
attempt("life after the parent", lambda: native("prctl", 1, 0, 0, 0, 0))
attempt("filter", lambda: native("prctl", 22, 0, 0, 0, 0))
attempt("user", lambda: os.setuid(0))
attempt("group", lambda: os.setgid(0))
attempt("capabilities", lambda: native("capset", 0, 0))
attempt("session", lambda: os.setsid())
attempt("personality", lambda: native("personality", 0))
""",
    "the kernel": """
attempt("memory file", lambda: os.memfd_create("x"))
attempt("pipe", lambda: os.pipe())
attempt("event", lambda: os.eventfd(0))
attempt("duplicate", lambda: os.dup(0))
attempt("control", lambda: native("ioctl", params["socket"], 0x5421, 0))
attempt("owner of signals", lambda: native("fcntl", params["socket"], 8, parent))
for name, number in params["calls"].items():
    attempt(name, lambda: native("syscall", number, 0, 0, 0, 0, 0, 0))
""",
}

# Numbers on x86-64 and on ARM64.
KERNEL_CALLS = {
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "seccomp": (317, 277),
    "clone3": (435, 435),
    "execveat": (322, 281),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "landlock_create_ruleset": (444, 444),
}
COLUMN = 0 if platform.machine() == "x86_64" else 1


@pytest.fixture(scope="module")
def escaped(image: pool.Image) -> Iterator[ChildSandbox]:
    """A sandbox of the worker's own kind whose children run native code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_ENTRY", str(ESCAPED))
        sandbox = ChildSandbox(warm=1, children_max=1, image=image)
        assert sandbox.wait_warm(60)
        yield sandbox
        sandbox.close()


def run_natively(sandbox: ChildSandbox, source: str, params: JsonValue = None) -> SandboxOutcome:
    job = SandboxRun(source=source, functions=(), params=params or {}, now_ms=0, seed="", limits=Limits())
    return sandbox.run(job, lambda _: [])


def found_by(sandbox: ChildSandbox, source: str, params: JsonValue = None) -> dict[str, Any]:
    outcome = run_natively(sandbox, PRELUDE + source, params)
    assert isinstance(outcome, Returned), outcome
    assert isinstance(outcome.output, dict)
    assert "raised" not in outcome.output, outcome.output
    return outcome.output


def socket_of(sandbox: ChildSandbox) -> int:
    (pid,) = sandbox.child_pids()
    return next(int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir() if "socket" in str(fd.readlink()))


@pytest.mark.parametrize("kind", ATTEMPTS)
def test_native_code_in_a_child_reaches_no_file_no_socket_and_no_process(
    escaped: ChildSandbox, tmp_path: Path, kind: str
) -> None:
    params = {
        "parent": os.getpid(),
        "file": str(tmp_path / "escaped"),
        "socket": socket_of(escaped),
        "clone3": KERNEL_CALLS["clone3"][COLUMN],
        "calls": {name: numbers[COLUMN] for name, numbers in KERNEL_CALLS.items()},
    }
    found = found_by(escaped, ATTEMPTS[kind], params)
    assert found
    assert {name: end for name, end in found.items() if end != "EPERM"} == {}
    assert list(tmp_path.iterdir()) == []


def test_every_system_call_that_is_not_listed_is_refused_to_native_code(escaped: ChildSandbox) -> None:
    listed = [numbers[COLUMN] for numbers in seccomp._ALLOWED.values()]
    # 335 and 336 are how the kernel's own probes return, which no filter sees.
    others = [number for number in range(512) if number not in {*listed, 335, 336}]
    # The numbers of the x32 interface, which share the architecture.
    others += [number | 0x40000000 for number in range(512)]
    # `clock_gettime` is among them: its first argument here is no clock that it may read.
    source = """
for number in params:
    if libc.syscall(number, 99, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
        found[str(number)] = ctypes.get_errno()
"""
    assert found_by(escaped, source, others) == {}


def test_native_code_finds_no_variable_and_can_change_nothing_through_what_it_inherited(escaped: ChildSandbox) -> None:
    source = """
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
found["variables"] = []
while environ and environ[len(found["variables"])]:
    found["variables"].append(environ[len(found["variables"])].decode())
libc.mmap.restype = ctypes.c_void_p
fd = params["image"]
attempt("write to the image", lambda: os.write(fd, b"x"))
attempt("write at its end", lambda: (os.lseek(fd, 0, 2), os.write(fd, b"x")))
attempt("cut it", lambda: os.ftruncate(fd, 0))
if libc.mmap(None, ctypes.c_size_t(4096), 3, 1, fd, ctypes.c_long(0)) != ctypes.c_void_p(-1).value:
    found["map it"] = "possible"
"""
    (pid,) = escaped.child_pids()
    opened = {int(fd.name): str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    image = next(fd for fd, target in opened.items() if target.startswith("/memfd:"))
    found = found_by(escaped, source, {"image": image})
    assert [variable for variable in found.pop("variables") if not variable.startswith("LC_CTYPE=")] == []
    assert sorted(target.split(":")[0] for target in opened.values()) == ["/dev/null"] * 3 + ["/memfd", "socket"]
    assert set(found) == {"write to the image", "write at its end", "cut it"}
    assert set(found.values()) <= {"EPERM", "EBADF", "EFBIG"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the older way into the kernel of x86")
def test_machine_code_of_the_older_kind_gets_no_further(escaped: ChildSandbox) -> None:
    source = """
# mov eax, 20 (getpid of the 32-bit interface); int 0x80; ret
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))
found["getpid"] = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    outcome = run_natively(escaped, source)
    if isinstance(outcome, LimitHit):
        # The kernel does not have that way at all, so the child died of it.
        assert outcome.code == "execution.sandbox_lost"
    else:
        assert isinstance(outcome, Returned)
        assert outcome.output == {"getpid": -1}


# `FDSize` is how large the table of descriptors was when the parent forked, not what is in it.
DIFFERING = (
    "Pid",
    "Tgid",
    "FDSize",
    "SigQ",
    "NS",
    "Ngid",
    "Vm",
    "Rss",
    "Hugetlb",
    "voluntary",
    "nonvoluntary",
    "State",
)


def traits(pid: int) -> dict[str, object]:
    """All that the kernel says of a process, but what differs between any two."""
    folder = Path(f"/proc/{pid}")
    status = {}
    for line in (folder / "status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if not name.startswith(DIFFERING):
            status[name] = value.split()
    return {
        "status": status,
        "limits": (folder / "limits").read_text(encoding="ascii"),
        "environ": (folder / "environ").read_bytes(),
        "descriptors": sorted(str(fd.readlink()).split(":")[0] for fd in (folder / "fd").iterdir()),
        "arguments": len((folder / "cmdline").read_bytes().split(b"\0")),
        "program": (folder / "exe").readlink(),
        "folder": (folder / "cwd").readlink(),
        "root": (folder / "root").readlink(),
        "namespaces": sorted(str(entry.readlink()) for entry in (folder / "ns").iterdir()),
        "cgroup": (folder / "cgroup").read_text(encoding="ascii"),
    }


def test_the_child_of_these_tests_holds_exactly_what_any_other_child_holds(
    escaped: ChildSandbox, sandbox: ChildSandbox
) -> None:
    assert escaped.wait_warm(60)
    assert sandbox.wait_warm(60)

    def are_alike() -> bool:
        ours, theirs = ([traits(pid) for pid in each.child_pids()] for each in (escaped, sandbox))
        return bool(ours) and all(found == theirs[0] for found in [*ours, *theirs])

    # A child that replaces another is not yet locked down while it starts.
    assert eventually(are_alike, seconds=30)
    assert escaped.confined() is True


def test_the_filter_fits_the_jumps_that_it_makes() -> None:
    for machine in ("x86_64", "aarch64"):
        assert len(seccomp.program(machine, range(8))) // 8 < 256

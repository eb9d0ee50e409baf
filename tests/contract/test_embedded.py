from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from redis.exceptions import AuthenticationError

from tests.support.waiting import eventually
from vardy_api import embedded
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_api.stack import Stack
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.store.connection import connect


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


def test_it_serves_when_constructed_and_is_gone_when_stopped(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        client = connect(server.url)
        assert client.ping()
        assert server.is_running()
        pid = server.pid
    assert not server.is_running()
    assert not alive(pid)
    server.stop()


def test_its_data_is_there_at_the_next_start(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "new" / "folder") as server:
        connect(server.url).set("key", "value")
    with EmbeddedServer(tmp_path / "new" / "folder") as server:
        assert connect(server.url).get("key") == b"value"


def test_what_was_answered_survives_a_crash(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    connect(server.url).set("key", "value")
    server.kill()
    assert not server.is_running()
    with EmbeddedServer(tmp_path) as server:
        assert connect(server.url).get("key") == b"value"


def test_it_never_evicts_and_writes_before_it_answers(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        config = connect(server.url).config_get("appendonly", "appendfsync", "maxmemory-policy", "bind", "save")
    assert config == {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory-policy": "noeviction",
        "bind": "127.0.0.1",
        "save": "",
    }


def test_nobody_else_on_the_machine_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with EmbeddedServer(folder) as server:
        without_password = connect(f"redis://127.0.0.1:{server.url.rpartition(':')[2]}")
        with pytest.raises(AuthenticationError):
            without_password.ping()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "valkey.conf").stat().st_mode) == 0o600


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "FOLDER_SECONDS_MAX", 0.05)
    with EmbeddedServer(tmp_path) as server:
        with pytest.raises(SettingsError, match="already uses the folder"):
            EmbeddedServer(tmp_path)
        assert server.is_running()


def test_a_port_that_is_in_use_is_refused_by_number(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "one", port=free_port()) as server:
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(SettingsError, match=f"Port {port} is in use"):
            EmbeddedServer(tmp_path / "two", port=port)


def test_a_stack_whose_judge_alone_is_real_is_refused_before_anything_starts(tmp_path: Path) -> None:
    environment = {"VARDY_FUNCTIONS": "", "VARDY_MODEL": "", "VARDY_JUDGE_MODEL": "anthropic/small"}
    with pytest.raises(SettingsError, match="set both, or neither"):
        Stack(data_dir=tmp_path / "data", show=lambda *_: None, environment=environment).__enter__()
    assert not (tmp_path / "data").exists()


def test_a_chosen_key_that_is_too_short_is_refused_before_anything_starts(tmp_path: Path) -> None:
    environment = {"VARDY_JUDGE_MODEL": "", "VARDY_DEV_API_KEY": "fifteen-letters"}
    with pytest.raises(SettingsError, match="VARDY_DEV_API_KEY has fewer than 16 characters"):
        Stack(data_dir=tmp_path / "data", show=lambda *_: None, environment=environment).__enter__()
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("folder", ["file", "file/data"])
def test_a_folder_that_can_keep_no_data_is_named_before_anything_starts(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="choose another folder with --data-dir") as refused:
        Stack(data_dir=tmp_path / folder, show=lambda *_: None, environment={"VARDY_JUDGE_MODEL": ""}).__enter__()
    assert str(tmp_path / folder) in refused.value.message


def test_a_server_that_cannot_start_names_its_log(tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").write_text("not a folder", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"valkey\.log") as refused:
        EmbeddedServer(tmp_path)
    assert Path(str(refused.value.details["log"])).exists()


def test_a_folder_name_with_spaces_and_quotes_is_no_trouble(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "my \"data\" 'ü' #1") as server:
        assert connect(server.url).ping()


def test_windows_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SettingsError, match="VARDY_REDIS_URL"):
        EmbeddedServer(tmp_path)


def test_a_platform_without_a_build_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(SettingsError, match="VARDY_REDIS_URL"):
        EmbeddedServer(tmp_path)


PARENT = """
import sys
from pathlib import Path
from vardy_api.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(server.pid, server.url, flush=True)
sys.stdin.read()
"""


def start_parent(folder: Path) -> tuple[subprocess.Popen[str], int, str]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid, url = parent.stdout.readline().split()
    return parent, int(pid), url


def end(parent: subprocess.Popen[str]) -> None:
    parent.wait(10)
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.close()
    parent.stdout.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_does_not_outlive_a_parent_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    parent, pid, url = start_parent(tmp_path)
    connect(url).set("key", "value")
    parent.send_signal(how)
    end(parent)
    assert eventually(lambda: not alive(pid))
    with EmbeddedServer(tmp_path) as server:
        assert connect(server.url).get("key") == b"value"


def test_it_ends_with_a_parent_that_forgets_to_stop_it(tmp_path: Path) -> None:
    parent, pid, _ = start_parent(tmp_path)
    assert parent.stdin is not None
    parent.stdin.close()
    end(parent)
    assert eventually(lambda: not alive(pid))


def test_ctrl_c_in_the_terminal_leaves_it_to_the_parent(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        assert os.getpgid(server.pid) != os.getpgid(0)

"""`vardy dev`, as a person uses it: started in a terminal, ended by Ctrl-C or worse, started again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.deployment import VARDY, clean_environment
from tests.support.process_table import LOOPBACK, descendants, listening, naming, needs_proc
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.contracts.status import Status
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_proc

SECONDS = 60.0
STOP_SECONDS = 20.0
KILL_SECONDS = 10.0
FUNCTIONS = '''
from vardy_worker import Functions

functions = Functions()


@functions.read
def count_parcels() -> int:
    """How many parcels there are."""
    return 41


@functions.write
def send_parcel(to: str) -> int:
    """Sends a parcel."""
    return 42
'''
RULES = "default: block\n"


@dataclass
class Dev:
    """One start of `vardy dev`, in a process group of its own as a terminal makes it."""

    process: subprocess.Popen[bytes]
    output: Path
    errors: Path

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def printed(self, label: str) -> str:
        found = re.search(rf"^  {label} +(\S+)", self.said(), re.MULTILINE)
        assert found, self.said() + self.errors.read_text(encoding="utf-8")
        return found[1]

    def client(self) -> Vardy:
        return Vardy(self.printed("API"), api_key=self.printed("Key"))

    def press_ctrl_c(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(STOP_SECONDS)


@contextmanager
def dev(data_dir: Path, **environment: str) -> Iterator[Dev]:
    """Starts `vardy dev` and waits for its welcome. Kills what a failing test leaves."""
    folder = data_dir.parent
    output, errors = folder / "output", folder / "errors"
    command = [VARDY, "dev", "--data-dir", str(data_dir), "--port", str(free_port())]
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            command,
            env=clean_environment(**environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    started = Dev(process, output, errors)
    everybody = []
    try:
        welcomed = eventually(
            lambda: "Ctrl-C stops everything." in started.said() or process.poll() is not None, seconds=SECONDS
        )
        assert welcomed
        assert process.poll() is None, errors.read_text(encoding="utf-8")
        everybody = descendants(process.pid)
        yield started
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert eventually(lambda: not any(one.is_alive() for one in everybody), seconds=KILL_SECONDS), everybody


def nobody_is_left(data_dir: Path) -> bool:
    return eventually(lambda: naming(str(data_dir)) == [], seconds=KILL_SECONDS)


def test_a_day_with_vardy_dev(tmp_path: Path) -> None:
    """One test, because each start takes seconds: Ctrl-C, a second start with settings, `kill -9`."""
    data = tmp_path / "data"
    with dev(data) as first:
        everybody = descendants(first.process.pid)
        assert len(everybody) >= 4, "server, worker, API and sandbox children"
        addresses = listening([first.process.pid, *(one.pid for one in everybody)])
        assert addresses == {LOOPBACK}
        assert "it listens on this machine alone" in first.said()
        for private in (data, data / "api-key", data / "redis", data / "redis" / "valkey.conf"):
            assert private.stat().st_mode & 0o077 == 0, private
        with first.client() as vardy:
            job = vardy.run("Which customers have overdue invoices?", user="ana", timeout_seconds=SECONDS)
            assert job.status is Status.SUCCESS
            balance = vardy.run(recipe="customer-balance", params={"customer_id": 3}, user="ana")
            assert balance.status is Status.SUCCESS
            unknown = vardy.run("Make me a sandwich", user="ana", timeout_seconds=SECONDS)
            assert unknown.status is Status.GENERATION_ERROR
            assert unknown.error is not None
            assert "Which customers have overdue invoices?" in unknown.error.model_dump_json()
        key = first.printed("Key")
        assert first.press_ctrl_c() == 0
        assert not any(one.is_alive() for one in everybody)
        logged = first.errors.read_text(encoding="utf-8")
        assert "Traceback" not in logged
        assert key not in logged
    assert naming(str(data)) == []

    (tmp_path / "parcels.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    mine = {
        "VARDY_DEV_API_KEY": "vk_my_own_key_for_development",
        "VARDY_FUNCTIONS": "parcels:functions",
        "VARDY_RULES": "rules.yaml",
        # As the image of containers sets it; nothing widens where `vardy dev` listens.
        "VARDY_API_HOST": "0.0.0.0",  # noqa: S104 - what must be without effect
    }
    with dev(data, **mine) as second:
        everybody = descendants(second.process.pid)
        assert listening([second.process.pid, *(one.pid for one in everybody)]) == {LOOPBACK}
        assert second.printed("Key") == mine["VARDY_DEV_API_KEY"] != key
        with second.client() as vardy:
            assert vardy.get(job.id).output == job.output
            assert {spec.name for spec in vardy.functions().functions} == {"count_parcels", "send_parcel"}
            assert vardy.rules().text == RULES
            source = 'async function run(params) { await send_parcel({to: "lea"}); return await count_parcels(); }'
            assert {recipe.name for recipe in vardy.recipes() if recipe.needs_review} == {
                "customer-balance",
                "damaged-goods",
            }
            vardy.save_recipe("parcels", source=source, reviewed_by="rita")
            last = vardy.run(recipe="parcels", user="ana", timeout_seconds=SECONDS)
            assert last.status is Status.POLICY_BLOCKED
            assert "Model    none" in second.said()
            unasked = vardy.run("How many parcels are there?", user="ana", timeout_seconds=SECONDS)
            assert unasked.error is not None
            assert unasked.error.code == "generation.not_configured"
        second.process.kill()
        second.process.wait()
        assert nobody_is_left(data)
    assert stored_statuses(data, job.id, last.id) == [Status.SUCCESS, Status.POLICY_BLOCKED]


def stored_statuses(data: Path, *job_ids: str) -> list[Status]:
    """What the server's folder still knows after everything was killed."""
    with EmbeddedServer(data / "redis") as server:
        client = connect(server.url)
        jobs = [RedisJobStore(client, "vardy").get(job_id) for job_id in job_ids]
        client.close()
    return [job.status for job in jobs if job is not None]


def test_a_port_in_use_is_one_clear_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [VARDY, "dev", "--data-dir", str(data), "--port", str(port)],
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert str(port) in errors[0]
    assert "--port" in errors[0]
    assert "Traceback" not in done.stderr
    assert naming(str(data)) == []
    assert not data.exists(), "found out before anything was started"

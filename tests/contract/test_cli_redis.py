"""The commands that use Redis themselves: `doctor`, the first key, and the processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import CATALOGUE
from tests.support.waiting import eventually
from vardy_api.cli.checkup import Checkup
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import RECIPES, publish_catalogue
from vardy_worker.ports import WorkerSeen
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_presence import RedisPresence

if TYPE_CHECKING:
    from redis import Redis

VARDY = (sys.executable, "-m", "vardy_api.cli")


@pytest.fixture
def environment(redis_url: str, namespace: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VARDY_")}
    return kept | {"VARDY_REDIS_URL": redis_url, "VARDY_NAMESPACE": namespace}


def vardy(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*VARDY, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def checkup(environment: dict[str, str]) -> Checkup:
    return Checkup.model_validate_json(vardy(environment, "doctor", "--json").stdout)


def levels(found: Checkup) -> dict[str, str]:
    return {check.name: check.level.value for check in found.checks}


def everything(client: Redis, namespace: str) -> dict[bytes, Any]:
    return {key: client.dump(key) for key in client.scan_iter(f"{namespace}:*")}


def test_doctor_sees_a_real_server_and_an_empty_deployment(environment: dict[str, str]) -> None:
    ran = vardy(environment, "doctor", "--json")
    assert ran.returncode == 1
    assert levels(Checkup.model_validate_json(ran.stdout)) == {
        "settings": "warning",
        "redis": "ok",
        "redis role": "ok",
        "redis persistence": "ok",
        "redis eviction": "ok",
        "redis memory": "ok",
        "clocks": "ok",
        "workers": "failure",
        "queues": "ok",
        "catalogue": "failure",
        "rules": "warning",
        "keys": "warning",
        "jobs": "ok",
        "api": "warning",
    }


def test_doctor_is_content_with_a_deployment_that_works(
    environment: dict[str, str], redis_client: Redis, namespace: str
) -> None:
    now_ms = time.time_ns() // 1_000_000
    worker = WorkerSeen("w1", ("run", "commit"), now_ms, now_ms, confined=True)
    RedisPresence(redis_client, namespace).beat(worker, ttl_seconds=60)
    publish_catalogue(RedisDocuments(redis_client, namespace), CATALOGUE)
    made = vardy(environment, "keys", "create", "--bootstrap", "--scope", "admin", "--expires-in", "90d")
    assert made.returncode == 0, made.stderr
    found = checkup(environment | {"VARDY_FUNCTIONS": "shop:functions", "VARDY_MODEL": "openai/none"})
    assert found.ok
    assert [name for name, level in levels(found).items() if level != "ok"] == ["rules", "api"]


def test_doctor_names_keys_that_never_expire_and_the_one_of_dev(
    environment: dict[str, str], redis_client: Redis, namespace: str
) -> None:
    keys = KeyOperations(RedisDocuments(redis_client, namespace), SystemClock())
    keys.install("the key that vardy dev made", KeyCreate(name="dev", scopes=tuple(Scope)))
    found = {check.name: check.message for check in checkup(environment).checks}
    assert found["key expiry"].startswith("1 key never expires: dev (")
    assert found["key secret"].startswith("1 key with a secret that somebody chose, as `vardy dev` does: dev (")
    assert found["key reach"].startswith("1 key with the scope admin may also act, and in anybody's name: dev (")


def test_doctor_names_the_recipes_that_lack_a_judge(
    environment: dict[str, str], redis_client: Redis, namespace: str
) -> None:
    documents = RedisDocuments(redis_client, namespace)
    for name, judge in (("plain", False), ("sorted", True)):
        source = "async function run() { return 1; }"
        saved = Recipe(name=name, source=source, judge=judge, reviewed_by="lea", reviewed_at_ms=0)
        documents.put(RECIPES, name, saved.model_dump(mode="json", exclude={"version"}))
    (found,) = [check for check in checkup(environment).checks if check.name == "judge"]
    assert "1 recipe (sorted) has texts judged" in found.message
    with_judge = checkup(environment | {"VARDY_JUDGE_MODEL": "openai/none"})
    assert "judge" not in levels(with_judge)


def test_doctor_writes_nothing(environment: dict[str, str], redis_client: Redis, namespace: str) -> None:
    presence = RedisPresence(redis_client, namespace)
    presence.beat(WorkerSeen("gone", ("run",), 0, 0), ttl_seconds=60)
    redis_client.delete(f"{namespace}:worker:gone")
    before = everything(redis_client, namespace)
    assert before
    assert levels(checkup(environment))["workers"] == "failure"
    assert everything(redis_client, namespace) == before


def test_doctor_names_a_server_that_is_not_there(environment: dict[str, str]) -> None:
    ran = vardy(environment | {"VARDY_REDIS_URL": "redis://:hush@127.0.0.1:1/0"}, "doctor")
    assert ran.returncode == 1
    assert "Redis cannot be reached" in ran.stdout
    assert "hush" not in ran.stdout + ran.stderr


def test_the_first_key_is_made_once_and_works(environment: dict[str, str]) -> None:
    first = vardy(environment, "keys", "create", "--bootstrap", "--scope", "admin", "--name", "operations", "--json")
    assert first.returncode == 0
    assert json.loads(first.stdout)["key"].startswith("vk_")
    assert first.stderr == ""
    second = vardy(environment, "keys", "create", "--bootstrap", "--scope", "admin")
    assert second.returncode == 4
    assert "operations" in second.stderr


def test_the_first_key_says_when_redis_is_not_there(environment: dict[str, str]) -> None:
    ran = vardy(
        environment | {"VARDY_REDIS_URL": "redis://127.0.0.1:1/0"}, "keys", "create", "--bootstrap", "--scope=admin"
    )
    assert ran.returncode == 7
    assert ran.stderr.startswith("Error: Redis cannot be reached")


@pytest.mark.parametrize(("process", "missing"), [("api", "VARDY_REDIS_URL"), ("worker", "VARDY_REDIS_URL")])
def test_a_process_without_its_settings_says_which(environment: dict[str, str], process: str, missing: str) -> None:
    environment.pop(missing)
    ran = vardy(environment, process)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"Error: {missing} is not set")
    assert len(ran.stderr.splitlines()) == 1


def test_a_worker_needs_functions(environment: dict[str, str]) -> None:
    ran = vardy(environment, "worker", "--json")
    assert ran.returncode == 1
    assert "VARDY_FUNCTIONS" in ran.stderr


def test_an_address_that_is_taken_is_named(environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = vardy(environment, "api", "--host", "127.0.0.1", "--port", str(port))
    assert ran.returncode == 1
    assert f"Error: The API cannot listen on 127.0.0.1:{port}" in ran.stderr


def test_the_api_is_served_until_it_is_told_to_stop(environment: dict[str, str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]

    def is_live() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/livez").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    command = [*VARDY, "api", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert eventually(is_live, seconds=30)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert "Traceback" not in err
    assert process.returncode in {0, -signal.SIGTERM}

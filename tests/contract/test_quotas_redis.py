"""Rates and ceilings over real HTTP: processes that share a count, many requests at once, a store that restarts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import run_body
from tests.support.serving import served
from tests.support.waiting import eventually
from vardy_api.bootstrap import build_api
from vardy_api.embedded import EmbeddedServer
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.quota import KeyQuota, QuotaOf
from vardy_worker.contracts.user import Scope
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis

SERVE = "from vardy_api.app import serve; from vardy_worker.settings import load_settings; serve(load_settings())"
NAMESPACE = "quotas"
PEOPLE_PER_MINUTE = 30
AT_ONCE = 24


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def two(redis_url: str) -> Iterator[list[str]]:
    """The addresses of two API processes."""
    ports = [free_port() for _ in range(2)]
    environment = {
        **os.environ,
        "VARDY_REDIS_URL": redis_url,
        "VARDY_NAMESPACE": NAMESPACE,
        "VARDY_USER_REQUESTS_PER_MINUTE": str(PEOPLE_PER_MINUTE),
    }
    processes = [
        subprocess.Popen([sys.executable, "-c", SERVE], env={**environment, "VARDY_API_PORT": str(port)})
        for port in ports
    ]
    try:
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        for url in urls:
            assert eventually(lambda url=url: answers(url), seconds=30)  # type: ignore[misc] # bound at once
        yield urls
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)


def new_token(client: Redis, namespace: str, **quota: float) -> tuple[str, str]:
    """The id and the token of a new key with these ceilings."""
    keys = KeyOperations(RedisDocuments(client, namespace), SystemClock())
    key, token = keys.create(KeyCreate(owner="desk", scopes=(Scope.SUBMIT,), quota=KeyQuota.model_validate(quota)))
    return key.id, token


def send(urls: list[str], token: str, times: int, user: str = "") -> list[httpx.Response]:
    """So many requests at once, to each address in turn: submissions for a user, or reads without one."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, timeout=60) as http, ThreadPoolExecutor(AT_ONCE) as pool:

        def one(number: int) -> httpx.Response:
            url = urls[number % len(urls)]
            if not user:
                return http.get(f"{url}/v1/functions")
            return http.post(f"{url}/v1/run", json=run_body(user={"id": user}))

        return list(pool.map(one, range(times)))


def statuses(responses: list[httpx.Response]) -> dict[int, int]:
    codes = [response.status_code for response in responses]
    return {code: codes.count(code) for code in sorted(set(codes))}


def test_two_processes_share_the_rate_of_a_key(two: list[str], redis_client: Redis) -> None:
    _, token = new_token(redis_client, NAMESPACE, requests_per_minute=50)
    began = time.monotonic()
    found = statuses(send(two, token, 120))
    refilled = int((time.monotonic() - began) * 50 / 60) + 1
    assert 50 <= found[200] <= 50 + refilled
    assert found == {200: found[200], 429: 120 - found[200]}


def test_two_processes_share_the_rate_of_a_person(two: list[str], redis_client: Redis) -> None:
    tokens = [new_token(redis_client, NAMESPACE)[1] for _ in range(2)]
    began = time.monotonic()
    taken = sum(statuses(send(two, token, 40, user="rosa")).get(202, 0) for token in tokens)
    refilled = int((time.monotonic() - began) * PEOPLE_PER_MINUTE / 60) + 1
    assert PEOPLE_PER_MINUTE <= taken <= PEOPLE_PER_MINUTE + refilled


def test_submissions_at_once_never_pass_the_ceiling_of_jobs(two: list[str], redis_client: Redis) -> None:
    key_id, token = new_token(redis_client, NAMESPACE, jobs_max=7)
    assert statuses(send(two, token, PEOPLE_PER_MINUTE, user="zoe")) == {202: 7, 429: PEOPLE_PER_MINUTE - 7}
    assert RedisJobStore(redis_client, NAMESPACE).used(QuotaOf.KEY, key_id).jobs == 7


def test_a_held_long_poll_counts_once(two: list[str], redis_client: Redis) -> None:
    _, token = new_token(redis_client, NAMESPACE, requests_per_minute=3)
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        job = http.post(f"{two[0]}/v1/run", json=run_body(user={"id": "pia"})).json()
        assert http.get(f"{two[1]}/v1/jobs/{job['id']}", params={"wait": 0.5}).status_code == 200
        assert http.get(f"{two[0]}/v1/jobs/{job['id']}").status_code == 200
        assert http.get(f"{two[1]}/v1/jobs/{job['id']}").status_code == 429


def test_ceilings_outlive_the_store_s_restart_and_rates_begin_anew(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "redis") as server:
        url, password = server.url, httpx.URL(server.url).password
        with closing(connect(url)) as client:
            _, token = new_token(client, NAMESPACE, jobs_max=1, requests_per_minute=3)
        with served(build_api(load_settings(redis_url=url, namespace=NAMESPACE))) as api:
            assert statuses(send([api.url], token, 4, user="ana")) == {202: 1, 429: 3}
            server.kill()
            assert send([api.url], token, 1)[0].status_code == 503
            with EmbeddedServer(tmp_path / "redis", port=httpx.URL(url).port, password=password):
                assert eventually(lambda: answers(api.url), seconds=30)
                refused: dict[str, Any] = send([api.url], token, 1, user="ana")[0].json()
                assert (refused["code"], refused["details"]["limit"]) == ("quota.exceeded", "jobs_max")

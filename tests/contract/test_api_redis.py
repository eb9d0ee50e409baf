"""The API as it is deployed: uvicorn, Redis and Celery's producer, over real connections."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx
import pytest
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from tests.support.api import approve, run_body
from tests.support.factories import LEO, effect, plan, policy
from tests.support.serving import Served, served
from tests.support.waiting import eventually
from vardy_api.bootstrap import build_api
from vardy_api.client import Vardy
from vardy_api.embedded import EmbeddedServer
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.job import JobFilter
from vardy_worker.contracts.policy import ApprovalNeed, PlanChange, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Change, Changed
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.settings import Settings

WAITERS = 100
Connect: TypeAlias = Callable[[str, str], httpx.Client]


def new_key(redis_url: str, namespace: str, *scopes: Scope) -> str:
    client = connect(redis_url)
    try:
        keys = KeyOperations(RedisDocuments(client, namespace), SystemClock())
        return keys.create(KeyCreate(owner="shop", scopes=scopes or tuple(Scope)))[1]
    finally:
        client.close()


@pytest.fixture
def http() -> Iterator[Connect]:
    """Makes clients, and closes them after the test."""
    with ExitStack() as stack:
        yield lambda url, key: stack.enter_context(
            httpx.Client(
                base_url=url,
                headers={"Authorization": f"Bearer {key}"},
                timeout=60,
                limits=httpx.Limits(max_connections=WAITERS + 1),
            )
        )


@pytest.fixture
def queue(settings: Settings) -> Iterator[CeleryQueue]:
    queue = CeleryQueue(make_celery(settings), settings)
    yield queue
    queue.close()


@pytest.fixture
def settings(redis_url: str, namespace: str) -> Settings:
    return load_settings(redis_url=redis_url, namespace=namespace)


@pytest.fixture
def api(settings: Settings) -> Iterator[Served]:
    with served(build_api(settings)) as server:
        yield server


@pytest.fixture
def key(redis_url: str, namespace: str) -> str:
    return new_key(redis_url, namespace)


@pytest.fixture
def store(redis_client: Redis, namespace: str) -> RedisJobStore:
    return RedisJobStore(redis_client, namespace)


def move(store: RedisJobStore, job_id: str, before: Status, after: Status, **fields: Any) -> None:
    assert isinstance(store.change(Change(job_id, frozenset({before}), after, set=fields)), Changed)


def park(store: RedisJobStore, job_id: str, quorum: int = 1) -> JobRecord:
    """Leads a queued job to `PENDING_APPROVAL`, as a worker does."""
    move(store, job_id, Status.QUEUED, Status.RUNNING)
    needs = ApprovalNeed(rule="r", quorum=quorum)
    fields = {"plan": plan(job_id, effect()), "policy": policy(Verdict.APPROVE, 1, needs), "revision": 1}
    move(store, job_id, Status.RUNNING, Status.PENDING_APPROVAL, **fields)
    found = store.get(job_id)
    assert found is not None
    return found


def submit(client: httpx.Client) -> str:
    job_id: str = client.post("/v1/run", json=run_body()).json()["id"]
    return job_id


def test_a_job_goes_through_the_api_from_submission_to_commit(
    api: Served, key: str, store: RedisJobStore, queue: CeleryQueue
) -> None:
    with Vardy(api.url, api_key=key) as vardy:
        job = vardy.run("refund it", user="ana", wait=False)
        assert (queue.depth("run"), queue.depth("commit")) == (1, 0)
        park(store, job.id)
        waiting = vardy.wait(job, timeout_seconds=10)
        assert waiting.status is Status.PENDING_APPROVAL
        assert vardy.plan(waiting).digest == (waiting.plan and waiting.plan.digest)
        assert vardy.approve(waiting, user=LEO, wait=False).status is Status.COMMITTING
        assert queue.depth("commit") == 1
        move(store, job.id, Status.COMMITTING, Status.SUCCESS)
        assert vardy.wait(job, timeout_seconds=10).status is Status.SUCCESS
        assert vardy.queues().queues[1].depth == 1
        assert vardy.health().ok


def test_the_client_of_the_documentation_runs(
    api: Served,
    key: str,
    store: RedisJobStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    monkeypatch.setenv("VARDY_URL", api.url)
    monkeypatch.setenv("VARDY_API_KEY", key)

    def work() -> None:
        """Stands for a worker: parks the job, and executes the plan once it is approved."""
        assert eventually(lambda: bool(store.list_jobs(JobFilter(), cursor=None, limit=1).items))
        job_id = store.list_jobs(JobFilter(), cursor=None, limit=1).items[0].id
        park(store, job_id)
        assert eventually(lambda: (store.version(job_id) or (0, None))[1] is Status.COMMITTING)
        move(store, job_id, Status.COMMITTING, Status.SUCCESS, output={"owed_cents": 3})

    with ThreadPoolExecutor(1) as pool:
        worked = pool.submit(work)
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 - the documentation's own code
        worked.result()
    assert (names["job"].status, names["job"].output) == ("SUCCESS", {"owed_cents": 3})
    assert "PENDING_APPROVAL" in (shown := capsys.readouterr().out)
    assert "job.not_found" in shown


def test_many_waiting_requests_hold_no_thread_and_wake_together(
    api: Served, key: str, store: RedisJobStore, http: Connect
) -> None:
    client = http(api.url, key)
    job_id = submit(client)
    threads_before = threading.active_count()
    with ThreadPoolExecutor(WAITERS) as pool:
        waits = [pool.submit(client.get, f"/v1/jobs/{job_id}?wait=30") for _ in range(WAITERS)]
        held = api.api.state.operations.held
        assert eventually(lambda: held.polls == WAITERS)
        # The clients' own threads, and the few of the server's pool.
        assert threading.active_count() <= threads_before + WAITERS + 45
        assert client.get(f"/v1/jobs/{job_id}").status_code == 200
        began = time.monotonic()
        move(store, job_id, Status.QUEUED, Status.CANCELLED)
        assert {wait.result().json()["status"] for wait in waits} == {"CANCELLED"}
        assert time.monotonic() - began < 10


def test_one_idempotency_key_makes_one_job_however_many_processes_race(
    api: Served, key: str, settings: Settings, queue: CeleryQueue, http: Connect
) -> None:
    headers = {"Idempotency-Key": "race"}
    with served(build_api(settings)) as other, ThreadPoolExecutor(16) as pool:
        clients = [http(api.url, key), http(other.url, key)]
        sent = [pool.submit(clients[n % 2].post, "/v1/run", json=run_body(), headers=headers) for n in range(32)]
        answers = [future.result() for future in sent]
        made = [answer for answer in answers if answer.status_code == 202]
        assert {answer.status_code for answer in answers} <= {202, 409}
        assert len({answer.json()["id"] for answer in made}) == 1
        assert sum("idempotent-replayed" not in answer.headers for answer in made) == 1
        assert clients[0].post("/v1/run", json=run_body(), headers=headers).json()["id"] == made[0].json()["id"]
        assert queue.depth("run") == 1


def test_of_many_approvals_at_once_exactly_one_starts_the_commit(
    api: Served, key: str, store: RedisJobStore, queue: CeleryQueue, http: Connect
) -> None:
    client = http(api.url, key)
    job = park(store, submit(client))
    headers = {"If-Match": f'"{job.digest}"'}
    url = f"/v1/jobs/{job.id}/decisions"
    people = [LEO.model_copy(update={"id": f"lead-{n}"}) for n in range(16)]
    with ThreadPoolExecutor(16) as pool:
        sent = [pool.submit(client.post, url, json=approve(person), headers=headers) for person in people]
        answers = [future.result() for future in sent]
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
    assert queue.depth("commit") == 1


def test_a_body_without_a_length_is_cut_off_at_the_limit(api: Served, key: str, http: Connect) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 65_536
            yield b" " * 65_536

    client = http(api.url, key)
    try:
        answer = client.post("/v1/run", content=endless(), headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (413, "request.too_large")
    except (httpx.WriteError, httpx.ReadError):
        # The server answers and closes while the client is still sending: it may see either.
        assert sent < 64 * 65_536


def test_without_its_store_the_api_answers_503_within_seconds_and_recovers(
    tmp_path: Path, namespace: str, http: Connect
) -> None:
    with EmbeddedServer(tmp_path) as server:
        port, password = httpx.URL(server.url).port, httpx.URL(server.url).password
        key = new_key(server.url, namespace)
        with served(build_api(load_settings(redis_url=server.url, namespace=namespace))) as api:
            client = http(api.url, key)
            job_id = submit(client)
            server.kill()
            asks: list[Callable[[], httpx.Response]] = [
                lambda: client.get(f"/v1/jobs/{job_id}"),
                lambda: client.post("/v1/run", json=run_body()),
                lambda: client.get("/readyz"),
            ]
            for ask in asks:
                began = time.monotonic()
                answer = ask()
                assert time.monotonic() - began < 8
                assert (answer.status_code, answer.json()["code"]) == (503, "service.unavailable")
                assert answer.headers["retry-after"]
            assert client.get("/livez").status_code == 200
            assert password not in client.get("/readyz").text
            with EmbeddedServer(tmp_path, port=port, password=password):
                assert eventually(lambda: client.get("/readyz").status_code == 200)
                assert client.get(f"/v1/jobs/{job_id}").json()["status"] == "QUEUED"
                assert client.post("/v1/run", json=run_body()).status_code == 202


def test_without_redis_the_api_starts_and_is_not_ready(namespace: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{taken.getsockname()[1]}/0"
        with (
            served(build_api(load_settings(redis_url=url, namespace=namespace))) as api,
            httpx.Client(base_url=api.url) as client,
        ):
            assert client.get("/readyz").status_code == 503
            assert client.get("/livez").status_code == 200


# --- starting and stopping ------------------------------------------------------------------------------------


def test_a_rules_file_is_applied_at_the_start_if_it_differs(
    settings: Settings, key: str, tmp_path: Path, http: Connect
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("default: block\n", encoding="utf-8")
    named = settings.model_copy(update={"rules": str(file)})
    for version in (1, 1):
        with served(build_api(named)) as api:
            rules = http(api.url, key).get("/v1/rules").json()
            assert (rules["version"], rules["applied_by"], rules["text"]) == (
                version,
                "VARDY_RULES",
                "default: block\n",
            )


def test_rules_of_the_file_that_do_nothing_are_logged_at_the_start(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("default: allow\nrules:\n- {name: spare, then: allow}\n", encoding="utf-8")
    with capture_logs() as logged:
        build_api(settings.model_copy(update={"rules": str(file)}))
    event = next(line for line in logged if line["event"] == "rules.idle")
    assert (event["log_level"], event["rule"], event["line"]) == ("warning", "spare", 3)


def test_rules_are_tried_over_the_stored_plans_page_by_page(api: Served, key: str, store: RedisJobStore) -> None:
    with Vardy(api.url, api_key=key) as vardy:
        jobs = [vardy.run("refund it", user="ana", wait=False).id for _ in range(5)]
        for job_id in jobs[:4]:
            park(store, job_id)
        records = {job_id: store.get(job_id) for job_id in jobs}
        first = vardy.test_rules("default: allow\n", limit=3)
        second = vardy.test_rules("default: allow\n", limit=3, cursor=first.next)
        items = (*first.items, *second.items)
        assert sorted(item.job for item in items) == sorted(jobs[:4])
        assert {item.change for item in items} == {PlanChange.LAXER}
        assert second.next is None
        assert {job_id: store.get(job_id) for job_id in jobs} == records


@pytest.mark.parametrize(
    ("text", "said"),
    [("default: perhaps\n", "Line 1"), (None, "cannot be read")],
)
def test_a_bad_rules_file_stops_the_start_with_one_sentence(
    settings: Settings, tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "rules.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        build_api(settings.model_copy(update={"rules": str(file)}))
    assert "VARDY_RULES" in raised.value.message
    assert said in raised.value.message
    assert "\n" not in raised.value.message


def test_rules_that_cannot_be_stored_stop_the_start(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("default: block\n", encoding="utf-8")
    away = settings.model_copy(update={"rules": str(file), "redis_url": "redis://127.0.0.1:1/0"})
    with pytest.raises(SettingsError, match="VARDY_RULES cannot be applied"):
        build_api(away)


def test_a_start_without_redis_says_why_it_is_not_ready(settings: Settings) -> None:
    away = settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    with capture_logs() as logged, TestClient(build_api(away)) as client:
        assert client.get("/readyz").status_code == httpx.codes.SERVICE_UNAVAILABLE
    event = next(line for line in logged if line["event"] == "api.not_ready")
    assert (event["log_level"], "VARDY_REDIS_URL" in event["reason"]) == ("warning", True)


def test_a_missing_setting_stops_the_start() -> None:
    with pytest.raises(SettingsError, match="VARDY_REDIS_URL"):
        build_api(load_settings(redis_url=""))


SERVE = "from vardy_api.app import serve; from vardy_worker.settings import load_settings; serve(load_settings())"


def test_a_stop_answers_waiting_requests_at_once_and_ends_the_process(
    redis_url: str, namespace: str, key: str, store: RedisJobStore, http: Connect
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {
        **os.environ,
        "VARDY_REDIS_URL": redis_url,
        "VARDY_NAMESPACE": namespace,
        "VARDY_API_PORT": port,
    }
    process = subprocess.Popen([sys.executable, "-c", SERVE], env=environment)
    try:
        client = http(f"http://127.0.0.1:{port}", key)
        assert eventually(lambda: answers(client), seconds=20)
        job_id = submit(client)
        assert store.get(job_id) is not None
        with ThreadPoolExecutor(1) as pool:
            wait = pool.submit(client.get, f"/v1/jobs/{job_id}?wait=60")
            assert eventually(lambda: "vardy_waiting_requests 1.0" in client.get("/metrics").text)
            process.send_signal(signal.SIGTERM)
            assert wait.result(timeout=10).json()["status"] == "QUEUED"
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/livez").status_code == 200
    except httpx.TransportError:
        return False


def test_what_a_job_held_is_erased_and_its_plan_is_gone(
    api: Served, key: str, store: RedisJobStore, http: Connect, redis_client: Redis, namespace: str
) -> None:
    client = http(api.url, key)
    body = run_body(request="pay back mk7q", metadata={"note": "mk7q"})
    job_id = client.post("/v1/run", json=body, headers={"Idempotency-Key": "k1"}).json()["id"]
    assert client.delete(f"/v1/jobs/{job_id}").status_code == 409
    assert isinstance(store.change(Change(job_id, frozenset({Status.QUEUED}), Status.RUNNING)), Changed)
    fields = {"output": "mk7q", "plan": plan(job_id, effect(args={"to": "mk7q"})), "policy": policy(Verdict.ALLOW)}
    assert isinstance(store.change(Change(job_id, frozenset({Status.RUNNING}), Status.SUCCESS, set=fields)), Changed)
    first, second = client.delete(f"/v1/jobs/{job_id}"), client.delete(f"/v1/jobs/{job_id}")
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json() == client.get(f"/v1/jobs/{job_id}").json()
    assert "mk7q" not in first.text
    assert client.get(f"/v1/jobs/{job_id}/plan").status_code == 410
    assert client.get("/v1/jobs?user=ana").json()["items"] == []
    again = client.post("/v1/run", json=body, headers={"Idempotency-Key": "k1"})
    assert (again.json()["id"], again.headers["Idempotent-Replayed"]) == (job_id, "true")
    checked = client.get("/v1/audit/verify", params={"chain": job_id}).json()["items"]
    assert [chain["ok"] for chain in checked] == [True]
    actions = [entry["action"] for entry in client.get("/v1/audit", params={"job": job_id}).json()["items"]]
    assert actions == ["job.erased", "job.submitted"]
    texts = [key for key in redis_client.scan_iter(f"{namespace}:*", _type="hash") if b":job:" in key]
    assert all(b"mk7q" not in repr(redis_client.hgetall(key)).encode() for key in texts)

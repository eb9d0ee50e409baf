"""A thousand stopped commits started again: over Redis, the API and Celery's producer, in a terminal and a pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.api import CATALOGUE
from tests.support.factories import effect, plan, policy, queued_job, submission
from tests.support.serving import served
from tests.support.terminal import Terminal
from tests.support.waiting import eventually
from vardy_api.bootstrap import build_api
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User
from vardy_worker.documents import publish_catalogue
from vardy_worker.ports import Change, Changed
from vardy_worker.queue import CeleryQueue, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

JOBS = 1000
REQUEUE_ALL = (sys.executable, "-m", "vardy_api.cli", "commits", "requeue", "--all", "--user", "olga", "--no-wait")
FAILED = ErrorInfo(code="commit.failed", message="The bank was closed.")


def stopped(store: RedisJobStore, *, user: str = "ana", state: EffectState = EffectState.FAILED) -> str:
    """A `PARTIAL` job: its first effect was applied, its second was not, or nobody knows."""
    now_ms = store.server_now_ms()
    job = queued_job(submission=submission(user=User(id=user)), created_at_ms=now_ms)
    store.submit(job, None, due_at_ms=now_ms)
    fields = {"plan": plan(job.id, effect(), effect(1)), "revision": 1, "policy": policy(Verdict.ALLOW, 2)}
    records = (EffectRecord(seq=0, state=EffectState.SUCCEEDED, attempts=1), EffectRecord(seq=1, state=state))
    for change in (
        Change(job.id, frozenset({Status.QUEUED}), Status.RUNNING),
        Change(job.id, frozenset({Status.RUNNING}), Status.COMMITTING, set=fields),
        Change(
            job.id,
            frozenset({Status.COMMITTING}),
            Status.PARTIAL,
            set={"error": FAILED, "settled_at_ms": now_ms},
            effects=records,
            due_at_ms=None,
        ),
    ):
        assert isinstance(store.change(change), Changed)
    return job.id


@pytest.fixture
def store(redis_client: Redis, namespace: str) -> RedisJobStore:
    return RedisJobStore(redis_client, namespace)


@pytest.fixture
def queue(redis_url: str, namespace: str) -> Iterator[CeleryQueue]:
    settings = load_settings(redis_url=redis_url, namespace=namespace)
    queue = CeleryQueue(make_celery(settings), settings)
    yield queue
    queue.close()


@pytest.fixture
def environment(redis_url: str, redis_client: Redis, namespace: str) -> Iterator[dict[str, str]]:
    documents = RedisDocuments(redis_client, namespace)
    publish_catalogue(documents, CATALOGUE)
    scopes = (Scope.OPERATE, Scope.READ)
    _, key = KeyOperations(documents, SystemClock()).create(KeyCreate(owner="operations", scopes=scopes))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VARDY_")}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CI"):
        kept.pop(name, None)
    with served(build_api(load_settings(redis_url=redis_url, namespace=namespace))) as api:
        yield kept | {"TERM": "xterm-256color", "VARDY_URL": api.url, "VARDY_API_KEY": key}


def piped(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*REQUEUE_ALL, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_thousand_are_requeued_with_progress_over_an_interruption_and_a_repetition(
    store: RedisJobStore, queue: CeleryQueue, environment: dict[str, str]
) -> None:
    for _ in range(JOBS):
        stopped(store)
    with Terminal(REQUEUE_ALL, environment) as terminal:
        terminal.wait_for(f"Requeue {JOBS} jobs")
        terminal.type("y")
        terminal.wait_for(f"/{JOBS}")
        assert eventually(partial(at_least_begun, store, 20), seconds=30)
        terminal.interrupt()
        assert terminal.end(seconds=60) == 130
        said = re.search(r"begun for (\d+) of 1000 jobs", terminal.plain)
        assert said, terminal.plain
        assert "the same command again" in terminal.plain
        assert "Traceback" not in terminal.plain
    begun = int(said[1])
    assert 20 <= begun < JOBS
    # Nothing is half-done: each is either as it was, or on its way with a message.
    counts = store.counts()
    assert (counts[Status.COMMITTING], counts[Status.PARTIAL]) == (begun, JOBS - begun)
    assert queue.depth("commit") == begun

    again = piped(environment, "--yes", "--json")
    assert again.returncode == 0, again.stderr
    result = json.loads(again.stdout)
    assert (result["total"], result["succeeded"], result["failed"]) == (JOBS - begun, JOBS - begun, 0)
    counts = store.counts()
    assert (counts[Status.COMMITTING], counts[Status.PARTIAL]) == (JOBS, 0)
    assert queue.depth("commit") == JOBS, "one message for each job"

    nothing = piped(environment, "--yes")
    assert (nothing.returncode, nothing.stderr) == (0, "No job matches.\n")
    assert queue.depth("commit") == JOBS


def at_least_begun(store: RedisJobStore, number: int) -> bool:
    return store.counts()[Status.COMMITTING] >= number


def test_a_dry_run_says_how_many_must_be_resolved_first(store: RedisJobStore, environment: dict[str, str]) -> None:
    ready = [stopped(store) for _ in range(3)]
    unclear = stopped(store, state=EffectState.UNKNOWN)
    other = stopped(store, user="ben")
    tried = piped(environment, "--of-user", "ana", "--dry-run", "--json")
    assert tried.returncode == 0
    items = {item["target"]: item for item in json.loads(tried.stdout)["items"]}
    assert items.keys() == {*ready, unclear}
    assert [items[job]["note"] for job in ready] == ["1 effect would run, from 1"] * 3
    assert items[unclear] | {"status": None} == {
        "target": unclear,
        "status": None,
        "allowed": False,
        "note": "resolve effect 1 first: outcome unknown, and not safe to repeat",
    }
    assert store.counts()[Status.PARTIAL] == 5
    ran = piped(environment, "--of-user", "ana", "--yes")
    assert ran.returncode == 5
    assert "1 of 4 jobs failed" in ran.stderr
    assert store.version(other) == (4, Status.PARTIAL)

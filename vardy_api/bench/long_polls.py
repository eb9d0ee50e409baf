"""`long_polls`: what a thousand waiting clients cost one API process, and how soon they hear that a job settled."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from vardy_api.bench import poller
from vardy_api.bench.floors import until_true
from vardy_api.bench.measuring import Measurement, cpu_seconds, needs_proc, percentile, rss_mib
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_api.operations.keys import KeyOperations
from vardy_api.processes import start_child
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User
from vardy_worker.ports import Change, Changed
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.processes import Child

POLLS = 1000
NAMESPACE = "vardy"
WAIT_SECONDS = 60
READY_SECONDS_MAX = 30.0
SAMPLES = 30
"""Jobs of a thousand that settle each for itself."""
JOBS_PER_SECOND = 100
"""At which jobs settle one after another: about what one worker does."""
GROWTH_MIB_MAX = 150.0
WOKEN_MS_MAX = 100.0


@dataclass(slots=True)
class Service:
    """One API process on a server that does not wait for its disk: the disk is not what is measured."""

    child: Child
    url: str
    port: int
    token: str
    store: RedisJobStore

    @classmethod
    def opened(cls, opened: ExitStack) -> Service:
        """With a key that may see every job."""
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="vardy-bench-"))
        server = opened.enter_context(EmbeddedServer(Path(folder)))
        client = connect(server.url)
        opened.callback(client.close)
        client.config_set("appendfsync", "no")
        keys = KeyOperations(RedisDocuments(client, NAMESPACE), SystemClock())
        _, token = keys.create(KeyCreate(name="bench", scopes=tuple(Scope)))
        port = free_port()
        child = start_child(
            "api",
            ["api", "--host", "127.0.0.1", "--port", str(port)],
            environment={
                "VARDY_REDIS_URL": server.url,
                "VARDY_NAMESPACE": NAMESPACE,
                "VARDY_LOG_LEVEL": "warning",
                "VARDY_KEY_REQUESTS_PER_MINUTE": "0",
            },
            show=lambda _name, _line: None,
        )
        opened.callback(child.stop)
        service = cls(child, f"http://127.0.0.1:{port}", port, token, RedisJobStore(client, NAMESPACE))
        until_true(service.is_ready, seconds=READY_SECONDS_MAX)
        return service

    def is_ready(self) -> bool:
        """Whether it serves."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def waiting(self) -> int:
        """How many requests it holds."""
        text = httpx.get(f"{self.url}/metrics", timeout=10).text
        return next(int(float(line.split()[1])) for line in text.splitlines() if line.startswith("vardy_waiting_req"))

    def running_jobs(self, count: int) -> list[str]:
        """New jobs, each in the hands of a worker that is not there."""
        return [self._running_job() for _ in range(count)]

    def _running_job(self) -> str:
        now_ms = self.store.server_now_ms()
        submission = Submission(request="refund what was charged twice", user=User(id="bench"))
        job = JobRecord(id=new_job_id(), owner="bench", submission=submission, created_at_ms=now_ms)
        self.store.submit(job, None, due_at_ms=now_ms + 3_600_000)
        self._move(job.id, Status.QUEUED, Status.RUNNING)
        return job.id

    def settle(self, job_id: str) -> int:
        """Settles a job; returns when that began, by the monotonic clock in nanoseconds."""
        began = time.monotonic_ns()
        self._move(job_id, Status.RUNNING, Status.SUCCESS)
        return began

    def _move(self, job_id: str, before: Status, after: Status) -> None:
        changed = self.store.change(Change(job_id, frozenset({before}), after))
        if not isinstance(changed, Changed):
            raise RuntimeError(f"a job could not be moved: {changed}")  # noqa: TRY004 - no type is at fault


class Polls:
    """Long polls of another process, one for each of the jobs; all are held when this is made."""

    def __init__(self, service: Service, jobs: Sequence[str]) -> None:
        # As a file, since its package loads every benchmark.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", poller.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        paths = [f"/v1/jobs/{job_id}?wait={WAIT_SECONDS}" for job_id in jobs]
        self._say(json.dumps({"port": service.port, "token": service.token, "paths": paths}))
        until_true(lambda: service.waiting() == len(jobs), seconds=READY_SECONDS_MAX)

    def _say(self, line: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def answers(self) -> list[int]:
        """When each was answered (ns). Raises `RuntimeError` where one was not."""
        told, _ = self._process.communicate(timeout=2 * WAIT_SECONDS)
        answers = json.loads(told)
        refused = {status for _, status in answers} - {200}
        if refused:
            raise RuntimeError(f"a poll was answered with {refused}")
        return [at for at, _ in answers]


def long_polls() -> Measurement:
    """A thousand polls: on jobs of which one settles at a time, on one job, and on jobs that settle in a row."""
    needs_proc("long_polls")
    with ExitStack() as opened:
        service = Service.opened(opened)
        _in_a_row(service, service.running_jobs(50))
        before = rss_mib(service.child.process.pid)
        jobs = service.running_jobs(POLLS)
        polls = Polls(service, jobs)
        growth = rss_mib(service.child.process.pid) - before
        threads = len(list(Path(f"/proc/{service.child.process.pid}/task").iterdir()))
        alone = _settled_alone(service, polls, jobs)
        (job,) = service.running_jobs(1)
        polls = Polls(service, [job] * POLLS)
        spent = cpu_seconds(service.child.process.pid)
        settled = service.settle(job)
        together = [(at - settled) / 1e6 for at in polls.answers()]
        spent = cpu_seconds(service.child.process.pid) - spent
        row = _in_a_row(service, service.running_jobs(POLLS))
    woken = percentile(alone, 0.99)
    return Measurement(
        name="long_polls",
        what=f"from the settling write to the answer, p99, with {POLLS:,} long polls on as many jobs",
        value=woken,
        unit="ms",
        target=f"≤ {WOKEN_MS_MAX:g} ms, and ≤ {GROWTH_MIB_MAX:g} MiB more of the API process",
        met=max(woken, percentile(row, 0.99)) <= WOKEN_MS_MAX and growth <= GROWTH_MIB_MAX,
        details={
            "growth_mib": round(growth, 1),
            "threads": threads,
            **_spread("one_of_many_jobs", alone),
            **_spread(f"{JOBS_PER_SECOND}_jobs_a_second", row),
            **_spread("all_on_one_job", together),
            "cpu_ms_of_an_answer": round(spent * 1000 / POLLS, 2),
        },
    )


def _settled_alone(service: Service, polls: Polls, jobs: list[str]) -> list[float]:
    """Milliseconds to the answers of single jobs that settle while all others go on; then the others settle."""
    pause = threading.Event()
    settled = {}
    for number in range(0, SAMPLES * 7, 7):
        settled[number] = service.settle(jobs[number])
        pause.wait(0.1)
    for number, job_id in enumerate(jobs):
        if number not in settled:
            service.settle(job_id)
    answers = polls.answers()
    return [(answers[number] - began) / 1e6 for number, began in settled.items()]


def _in_a_row(service: Service, jobs: list[str]) -> list[float]:
    """Milliseconds to the answer of each of some jobs that settle one after another."""
    polls = Polls(service, jobs)
    pause = threading.Event()
    began = time.monotonic()
    settled = []
    for number, job_id in enumerate(jobs):
        pause.wait(max(0.0, began + number / JOBS_PER_SECOND - time.monotonic()))
        settled.append(service.settle(job_id))
    return [(at - since) / 1e6 for at, since in zip(polls.answers(), settled, strict=True)]


def _spread(name: str, milliseconds: list[float]) -> dict[str, float]:
    return {
        f"{name}_p50_ms": round(percentile(milliseconds, 0.5), 1),
        f"{name}_p99_ms": round(percentile(milliseconds, 0.99), 1),
        f"{name}_max_ms": round(max(milliseconds), 1),
    }

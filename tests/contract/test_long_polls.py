"""Many held requests on one API process: what they cost it, whatever the machine is busy with."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import at_rest
from vardy_api.bench.long_polls import GROWTH_MIB_MAX, POLLS, Polls, Service
from vardy_api.bench.measuring import rss_mib

if TYPE_CHECKING:
    from collections.abc import Iterator

HELD = 300
POOL_THREADS = 60
"""The thread pool of requests (40), those of batches, and what the process has besides."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with ExitStack() as opened:
        yield Service.opened(opened)


def threads(service: Service) -> int:
    return len(list(Path(f"/proc/{service.child.process.pid}/task").iterdir()))


def reads_of_jobs(service: Service) -> int:
    stats = service.store._client.info(section="commandstats")
    assert isinstance(stats, dict)
    return int(stats.get("cmdstat_hgetall", {"calls": 0})["calls"])


def test_polls_on_as_many_jobs_take_no_thread_and_little_memory_each(service: Service) -> None:
    warm = service.running_jobs(20)
    warming = Polls(service, warm)
    for job_id in warm:
        service.settle(job_id)
    warming.answers()
    before = rss_mib(service.child.process.pid)
    jobs = service.running_jobs(HELD)
    polls = Polls(service, jobs)
    assert threads(service) <= POOL_THREADS
    assert rss_mib(service.child.process.pid) - before < GROWTH_MIB_MAX * HELD / POLLS
    for job_id in jobs:
        service.settle(job_id)
    assert len(polls.answers()) == HELD
    assert service.waiting() == 0


def test_all_who_wait_for_one_job_are_answered_from_one_read(service: Service) -> None:
    (job_id,) = service.running_jobs(1)
    polls = Polls(service, [job_id] * HELD)
    before = at_rest(lambda: reads_of_jobs(service))
    service.settle(job_id)
    assert len(polls.answers()) == HELD
    # A get reads the record and its effects. Whoever asked while that was under way is answered by a second one.
    assert reads_of_jobs(service) - before <= 10


def test_the_process_may_have_as_many_sockets_as_the_system_allows() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = (
        "import resource; from vardy_api.open_files import allow_open_files\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))\n"
        "print(allow_open_files(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    expected = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    assert [int(number) for number in told.split()] == [expected, expected, hard]


def test_a_serving_api_has_raised_its_limit(service: Service) -> None:
    limits = Path(f"/proc/{service.child.process.pid}/limits").read_text(encoding="ascii")
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    assert int(soft) == (65_536 if hard == "unlimited" else min(int(hard), 65_536))

"""SIGTERM: a worker finishes what it has in hand, and leaves nothing behind."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.faults.conftest import SECONDS
from tests.support.process_table import descendants, needs_proc
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy


@needs_proc
def test_a_worker_that_is_asked_to_end_finishes_its_job_first(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("last")
    body = 'const before = await count_lines({name: "last"}); await add_line({name: "end"}); return before;'
    job = cluster.submit(vardy, "last", body)
    pid = cluster.wait_for_call("last")
    name = cluster.name_of(pid)
    process = cluster.deployment.processes.pop(name)
    children = descendants(pid)
    assert children
    process.send_signal(signal.SIGTERM)
    assert eventually(lambda: "Warm shutdown" in cluster.deployment.log(name), seconds=SECONDS)
    assert process.poll() is None
    cluster.ledger.open("last")
    assert process.wait(SECONDS) == 0, cluster.deployment.log(name)[-2000:]
    assert not any(child.is_alive() for child in children)
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert len(cluster.ledger.calls("last")) == 1
    assert done.output == 0
    assert pid not in cluster.deployment.worker_pids(), "it said that it is gone"

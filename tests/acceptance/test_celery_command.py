"""Celery's own command starts the same worker."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.deployment import Deployment
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

ANA = User(id="ana", roles=("support",))


def test_a_worker_started_by_celery_serves_both_queues(deployment: Deployment, vardy: Vardy, tmp_path: Path) -> None:
    deployment.stop("worker")
    command = [str(Path(sys.executable).parent / "celery"), "-A", "vardy_worker.app", "worker"]
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    log = tmp_path / "celery.log"
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, *options], env={**os.environ, **deployment.environment}, stdout=output, stderr=output
            )
        job = vardy.run("Refund 2.00 of payment 9", user=ANA, timeout_seconds=60)
        assert job.status is Status.SUCCESS
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert eventually(lambda: not deployment.workers())
        text = log.read_text(encoding="utf-8")
        # A job that waits seconds for this worker to start is rightly published again, for its own queue.
        assert "commit.not_claimed" not in text, "each queue gets its own messages alone"
    finally:
        deployment.start("worker")

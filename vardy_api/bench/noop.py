"""The worker process of the Celery floor: `python -m vardy_api.bench.noop [url, namespace, concurrency]`."""

from __future__ import annotations

import json
import sys

from vardy_api.bench.floors import NOOP_QUEUE, NOOP_TASK
from vardy_worker.queue import make_celery
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect


def main() -> None:
    """Serves no-ops until it is stopped; one with a token says when it is done."""
    redis_url, namespace, concurrency = json.loads(sys.argv[1])
    celery = make_celery(load_settings(redis_url=redis_url, namespace=namespace))
    client = connect(redis_url)

    @celery.task(name=NOOP_TASK)  # type: ignore[untyped-decorator] # celery ships no types
    def noop(token: str) -> None:
        if token:
            client.rpush(f"{namespace}:bench:done:{token}", 1)

    celery.worker_main(
        [
            "worker",
            "--pool=threads",
            f"--concurrency={concurrency}",
            f"--queues={NOOP_QUEUE}",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "--loglevel=ERROR",
        ]
    )


if __name__ == "__main__":
    main()

"""A queue with as many jobs as wished, in the store and at the broker, as submissions leave them behind."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, cast

from vardy_api.bench.ahead import BATCH, AheadOfReplies
from vardy_api.bench.jobs import BENCH_USER, PARAMS, RECIPE, stored_job
from vardy_worker.contracts.job import Submission
from vardy_worker.store.keys import Keys
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.bench.jobs import Jobs


def fill_queue(client: Any, namespace: str, jobs: Jobs, count: int) -> None:
    """Jobs of the recipe through the store's own code, and for each a message like the one of a first job."""
    first = jobs.of_recipe()
    queue = jobs.queue.list_key("run")
    message = json.loads(client.lindex(queue, 0))
    sent = AheadOfReplies(client, Keys(namespace).job(""))
    store = RedisJobStore(cast("Any", sent), namespace)
    submission = Submission(recipe=RECIPE, params=PARAMS, user=BENCH_USER)
    made: list[str] = []
    while len(made) < count - 1:
        batch = [
            stored_job(store, submission, jobs.recipe, due_in_ms=PUBLISH_GRACE_MS)
            for _ in range(min(BATCH, count - 1 - len(made)))
        ]
        sent.flush()
        client.lpush(queue, *_messages(message, first, batch))
        made += batch


def _messages(message: dict[str, Any], first: str, jobs: Sequence[str]) -> list[str]:
    body = base64.b64decode(message["body"]).decode()
    text = json.dumps({**message, "body": "BODY", "properties": {**message["properties"], "delivery_tag": "TAG"}})
    return [
        text.replace(first, job_id)
        .replace("BODY", base64.b64encode(body.replace(first, job_id).encode()).decode())
        .replace("TAG", f"bench-{job_id}")
        for job_id in jobs
    ]

"""The example of a limit over time from the document about rules, on a real server, with plans that race."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from tests.support.factories import ANA, LEA, submission
from tests.support.worker import WorkerParts
from vardy_worker import Functions
from vardy_worker.contracts.status import Status
from vardy_worker.leases import LeaseKeeper
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.contracts.job import JobRecord

DOCUMENT = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
(EXAMPLE,) = (text for text in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL) if "user_window" in text)
LIMIT_CENTS = 100_000


class Desk:
    """Two workers that commit refunds over one server, and what the refunds came to."""

    def __init__(self, url: str, namespace: str) -> None:
        self.refunded: list[int] = []
        functions = Functions()

        @functions.write
        def refund_payment(payment_id: int, amount_cents: int) -> int:
            """Give money back for one payment."""
            self.refunded.append(amount_cents)
            return payment_id

        self._clients = [connect(url), connect(url)]
        self.workers = [WorkerParts(functions, rules=EXAMPLE) for _ in self._clients]
        for parts, client in zip(self.workers, self._clients, strict=True):
            parts.store = RedisJobStore(client, namespace)
            parts.leases = LeaseKeeper(parts.store, parts.clock)
            parts.host.start()

    def close(self) -> None:
        for parts, client in zip(self.workers, self._clients, strict=True):
            parts.leases.stop()
            parts.host.stop()
            client.close()

    def plan(self, *amounts: int, user: str = ANA.id) -> JobRecord:
        parts = self.workers[0]
        effects = [
            parts.effect(seq, "refund_payment", payment_id=seq, amount_cents=amount)
            for seq, amount in enumerate(amounts)
        ]
        return parts.committing(*effects, submission=submission(user=ANA.model_copy(update={"id": user})))

    def commit(self, *jobs: JobRecord) -> list[Status]:
        """Commits the plans at the same moment, each by a worker of its own."""
        barrier = Barrier(len(jobs))

        def commit(number: int) -> None:
            barrier.wait()
            self.workers[number].committer(f"w{number}").commit(jobs[number].id)

        with ThreadPoolExecutor(len(jobs)) as threads:
            list(threads.map(commit, range(len(jobs))))
        return [self.workers[0].job(job.id).status for job in jobs]


@pytest.fixture
def desk(redis_url: str, namespace: str) -> Iterator[Desk]:
    with closing(Desk(redis_url, namespace)) as made:
        yield made


def test_of_two_plans_that_race_and_are_too_much_together_exactly_one_is_executed(desk: Desk) -> None:
    for number in range(20):
        user = f"user-{number}"
        ended = desk.commit(desk.plan(40_000, 20_000, user=user), desk.plan(60_000, user=user))
        assert sorted(ended) == [Status.POLICY_BLOCKED, Status.SUCCESS]
        assert sum(desk.refunded) == 60_000 * (number + 1)


def test_two_plans_that_race_and_reach_the_limit_exactly_are_both_executed(desk: Desk) -> None:
    assert desk.commit(desk.plan(40_000), desk.plan(59_999, 1)) == [Status.SUCCESS, Status.SUCCESS]
    assert sum(desk.refunded) == LIMIT_CENTS
    assert desk.commit(desk.plan(1)) == [Status.POLICY_BLOCKED]
    assert desk.commit(desk.plan(LIMIT_CENTS, user=LEA.id)) == [Status.SUCCESS]

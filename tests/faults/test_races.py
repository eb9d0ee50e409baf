"""People who decide at the same moment, and plans that are committed at the same moment: exactly as many as allowed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.deployment import KEY
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView

PEOPLE = 6


def decide_at_once(cluster: Cluster, job: JobView, decisions: list[str]) -> list[tuple[str, int]]:
    """Each decision by another person, from a thread and over a connection of its own."""
    assert job.plan is not None
    digest = job.plan.digest
    barrier = Barrier(len(decisions))

    def decide(number: int) -> tuple[str, int]:
        decision = decisions[number]
        body = {"decision": decision, "user": {"id": f"person-{number}"}, "reason": "because"}
        headers = {"Authorization": f"Bearer {KEY}", "If-Match": f'"{digest}"'}
        with httpx.Client(base_url=cluster.deployment.url, headers=headers, timeout=30) as http:
            http.get("/livez").raise_for_status()
            barrier.wait()
            return decision, http.post(f"/v1/jobs/{job.id}/decisions", json=body).status_code

    with ThreadPoolExecutor(len(decisions)) as threads:
        return list(threads.map(decide, range(len(decisions))))


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("second", ["approve", "deny"])
def test_of_many_decisions_at_once_exactly_one_counts(cluster: Cluster, vardy: Vardy, second: str, number: int) -> None:
    name = f"ask-{second}-{number}"
    job = vardy.wait(cluster.submit(vardy, name, f'await post_letter({{name: "{name}"}}); return 1;'))
    assert job.status is Status.PENDING_APPROVAL
    answers = decide_at_once(cluster, job, ["approve", second] * (PEOPLE // 2))
    taken = [decision for decision, status in answers if status == httpx.codes.OK]
    refused = [status for _, status in answers if status != httpx.codes.OK]
    assert len(taken) == 1, answers
    assert refused == [httpx.codes.CONFLICT] * (PEOPLE - 1)
    expected = Status.SUCCESS if taken == ["approve"] else Status.POLICY_BLOCKED
    done = cluster.settled(vardy, job, expected)
    assert [decision.decision.value for decision in done.decisions] == taken
    applied = 1 if taken == ["approve"] else 0
    assert len(cluster.ledger.calls(name)) == cluster.ledger.applied(name) == applied


def test_of_a_batch_that_is_split_into_small_plans_as_many_pass_as_the_limit_allows(
    cluster: Cluster, vardy: Vardy
) -> None:
    user = User(id="limited-lena")
    names = [f"split-{number}" for number in range(8)]
    jobs = [cluster.submit(vardy, name, f'await add_line({{name: "{name}"}}); return 1;', user=user) for name in names]
    ended = [cluster.settled(vardy, job, Status.SUCCESS, Status.POLICY_BLOCKED) for job in jobs]
    passed = [name for name, job in zip(names, ended, strict=True) if job.status is Status.SUCCESS]
    assert len(passed) == 2
    assert [cluster.ledger.applied(name) for name in names] == [int(name in passed) for name in names]

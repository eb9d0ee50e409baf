"""A job that kills every worker that takes it is given up, and the workers live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy

ATTEMPTS = 3


def test_a_program_that_kills_its_workers_is_given_up(cluster: Cluster, vardy: Vardy) -> None:
    with cluster.replacing_the_dead() as dead:
        job = cluster.submit(vardy, "poison", 'return await crash({name: "poison"});')
        done = cluster.settled(vardy, job, Status.EXECUTION_ERROR)
    assert done.error is not None
    assert done.error.code == "execution.poison"
    assert done.error.details["attempts"] == ATTEMPTS
    assert [call["pid"] for call in cluster.ledger.calls("poison")] == dead
    assert len(dead) == ATTEMPTS


def test_a_commit_that_kills_its_workers_is_given_up_with_its_outcome_unknown(cluster: Cluster, vardy: Vardy) -> None:
    with cluster.replacing_the_dead() as dead:
        body = 'await add_line({name: "sound"}); await crash_writing({name: "venom"}); return 1;'
        job = cluster.submit(vardy, "venom", body)
        done = cluster.settled(vardy, job, Status.PARTIAL)
    assert done.error is not None
    assert done.error.code == "commit.poison"
    assert [effect.state for effect in done.effects] == ["SUCCEEDED", "UNKNOWN"]
    assert len(dead) == ATTEMPTS
    assert [cluster.ledger.applied(name) for name in ("sound", "venom")] == [1, 1]
    assert len({call["key"] for call in cluster.ledger.calls("venom")}) == 1

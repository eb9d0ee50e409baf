"""A worker is killed with `kill -9` at the worst moments; another one finishes, and nothing happens twice."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

from tests.faults.conftest import ANA, SECONDS
from tests.support.process_table import descendants, needs_proc
from tests.support.scripts import source
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy

SEED = 20
JOBS = 40
EFFECTS = 3
KILLS = 3


def test_killed_while_a_program_runs_the_stored_program_runs_again(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("slow-read")
    job = cluster.ask(vardy, "count slowly", 'return await count_lines({name: "slow-read"});')
    first = cluster.wait_for_call("slow-read")
    asked = cluster.script.asked("count slowly")
    cluster.kill(first)
    second = cluster.wait_for_call("slow-read", calls=2)
    cluster.ledger.open("slow-read")
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert second != first
    assert done.output == 0
    assert cluster.script.asked("count slowly") == asked, "a stored program is not generated anew"
    assert cluster.deployment.job(job.id).fence >= 2


def test_killed_while_waiting_for_the_model_the_model_is_asked_again(cluster: Cluster, vardy: Vardy) -> None:
    answer = cluster.script.hold("think long")
    job = cluster.ask(vardy, "think long", 'return await count_lines({name: "thought"});')
    assert eventually(lambda: cluster.script.asked("think long") >= 1, seconds=SECONDS)
    cluster.kill(cluster.worker_of(job.id))
    answer.set()
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert cluster.script.asked("think long") >= 2
    assert done.program is not None
    assert done.program.attempts == 1


def test_killed_before_an_idempotent_effect_was_applied(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("before-early")
    job = cluster.submit(vardy, "add-early", 'await add_line({name: "early"}); return "added";')
    cluster.kill(cluster.wait_for_call("early"))
    cluster.wait_for_call("early", calls=2)
    cluster.ledger.open("before-early")
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert cluster.ledger.applied("early") == 1
    assert {call["key"] for call in cluster.ledger.calls("early")} == {done.effects[0].idempotency_key}
    assert done.effects[0].attempts == 2


def test_killed_after_an_idempotent_effect_was_applied(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("after-late")
    body = 'await add_line({name: "one"}); await add_line({name: "late"}); await add_line({name: "three"}); return 0;'
    job = cluster.submit(vardy, "add-three", body)
    cluster.kill(cluster.wait_for_call("late"))
    cluster.wait_for_call("late", calls=2)
    cluster.ledger.open("after-late")
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert [cluster.ledger.applied(name) for name in ("one", "late", "three")] == [1, 1, 1]
    assert [len(cluster.ledger.calls(name)) for name in ("one", "late", "three")] == [1, 2, 1]
    assert [effect.attempts for effect in done.effects] == [1, 2, 1]


def test_killed_in_a_call_that_is_not_idempotent_the_outcome_is_unknown_and_nothing_is_called_again(
    cluster: Cluster, vardy: Vardy
) -> None:
    cluster.ledger.shut("after-letter")
    body = 'await add_line({name: "stamp"}); await post_letter({name: "letter"}); await add_line({name: "end"});'
    job = cluster.submit(vardy, "post", f"{body} return 0;")
    cluster.kill(cluster.wait_for_call("letter"))
    cluster.ledger.forget("after-letter")
    partial = cluster.settled(vardy, job, Status.PARTIAL)
    assert partial.error is not None
    assert partial.error.code == "commit.unknown"
    assert [effect.state for effect in partial.effects] == ["SUCCEEDED", "UNKNOWN", "PENDING"]

    vardy.resolve(partial, 1, done=True, reason="it is in the post book", user="olga")
    done = cluster.settled(vardy, vardy.requeue(partial, user="olga"), Status.SUCCESS)
    assert [effect.state for effect in done.effects] == ["SUCCEEDED", "RESOLVED_DONE", "SUCCEEDED"]
    assert [cluster.ledger.applied(name) for name in ("stamp", "letter", "end")] == [1, 1, 1]
    assert len(cluster.ledger.calls("letter")) == 1


def test_a_worker_paused_beyond_its_lease_starts_and_writes_nothing_when_it_wakes(
    cluster: Cluster, vardy: Vardy
) -> None:
    cluster.ledger.shut("after-paused")
    job = cluster.submit(
        vardy, "paused", 'await add_line({name: "paused"}); await post_letter({name: "rest"}); return 1;'
    )
    paused = cluster.wait_for_call("paused")
    os.kill(paused, signal.SIGSTOP)
    try:
        cluster.wait_for_call("paused", calls=2)
        cluster.ledger.open("after-paused")
        done = cluster.settled(vardy, job, Status.SUCCESS)
    finally:
        os.kill(paused, signal.SIGCONT)
    log = cluster.deployment.log_path(cluster.name_of(paused))
    taken_over = f'"event": "commit.taken_over", "job_id": "{job.id}"'
    assert eventually(lambda: taken_over in log.read_text(encoding="utf-8"), seconds=SECONDS)
    assert vardy.get(job.id) == done
    assert [cluster.ledger.applied(name) for name in ("paused", "rest")] == [1, 1]
    assert len(cluster.ledger.calls("rest")) == 1


@needs_proc
def test_the_sandbox_children_of_a_killed_worker_end(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("orphan")
    job = cluster.submit(vardy, "leave-an-orphan", 'return await count_lines({name: "orphan"});')
    worker = cluster.wait_for_call("orphan")
    children = descendants(worker)
    assert children, "a worker that runs a program has a sandbox child"
    cluster.kill(worker)
    assert eventually(lambda: not any(child.is_alive() for child in children), seconds=5)
    cluster.wait_for_call("orphan", calls=2)
    cluster.ledger.open("orphan")
    cluster.settled(vardy, job, Status.SUCCESS)


def test_killing_workers_under_load_loses_no_effect_and_repeats_none(cluster: Cluster, vardy: Vardy) -> None:
    body = f"for (let n = 0; n < {EFFECTS}; n++) await add_line({{name: `${{params.job}}-${{n}}`}}); return 1;"
    vardy.save_recipe("load", source=source(body), reviewed_by="rita")
    rng = random.Random(SEED)  # noqa: S311 - chooses moments, guards nothing
    moments = sorted(rng.sample(range(5, JOBS * EFFECTS - 5), KILLS))
    names = [f"load{job}-{n}" for job in range(JOBS) for n in range(EFFECTS)]
    jobs = [vardy.run(recipe="load", params={"job": f"load{job}"}, user=ANA, wait=False) for job in range(JOBS)]
    for moment in moments:
        assert eventually(lambda moment=moment: applied_of(cluster, names) >= moment, seconds=SECONDS)  # type: ignore[misc] # a default binds it
        cluster.kill(rng.choice([cluster.deployment.processes[name].pid for name in cluster.worker_names()]))
    for job in jobs:
        cluster.settled(vardy, job, Status.SUCCESS)
    assert [cluster.ledger.applied(name) for name in names] == [1] * len(names)


def applied_of(cluster: Cluster, names: list[str]) -> int:
    return sum(cluster.ledger.applied(name) for name in names)

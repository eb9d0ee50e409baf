"""A worker is killed with `kill -9` at the worst moments; another one finishes, and nothing happens twice."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.faults.conftest import ANA, SECONDS
from tests.support.process_table import descendants, needs_proc
from tests.support.scripts import program
from tests.support.waiting import eventually
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView


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


def test_killed_in_a_round_an_explore_goes_on_with_the_same_program(cluster: Cluster, vardy: Vardy) -> None:
    cluster.ledger.shut("round-two")
    question = "how many lines has each?"
    read = 'return {{lines: await count_lines({{name: "{name}"}})}};'.format
    cluster.script.teach(question, program(read(name="round-one")), program(read(name="round-two")), "None has any.")
    job = vardy.explore(question, user=ANA, wait=False)
    first = cluster.wait_for_call("round-two")
    before = cluster.deployment.job(job.id).rounds
    cluster.kill(first)
    assert cluster.wait_for_call("round-two", calls=2) != first
    cluster.ledger.open("round-two")
    done = cluster.settled(vardy, job, Status.SUCCESS)
    assert done.answer == "None has any."
    assert [each.summary for each in done.rounds] == [{"lines": 0}, {"lines": 0}]
    after = cluster.deployment.job(job.id).rounds
    assert (after[0], after[1].program) == (before[0], before[1].program)
    assert len(cluster.ledger.calls("round-one")) == 1
    assert cluster.script.asked(question) == 3, "no stored program is asked for anew"


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
    worker = cluster.wait_for_call("letter")
    assert eventually(lambda: cluster.ledger.applied("letter") == 1, seconds=SECONDS)
    cluster.kill(worker)
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
    taken_over(cluster, "commit", paused, done)
    assert [cluster.ledger.applied(name) for name in ("paused", "rest")] == [1, 1]
    assert len(cluster.ledger.calls("rest")) == 1


def test_a_worker_paused_in_a_call_that_is_not_idempotent_leaves_it_unknown_and_writes_nothing_when_it_wakes(
    cluster: Cluster, vardy: Vardy
) -> None:
    cluster.ledger.shut("before-asleep")
    body = 'await post_letter({name: "asleep"}); await post_letter({name: "awake"}); return 1;'
    job = cluster.submit(vardy, "asleep", body)
    paused = cluster.wait_for_call("asleep")
    os.kill(paused, signal.SIGSTOP)
    try:
        partial = cluster.settled(vardy, job, Status.PARTIAL)
    finally:
        os.kill(paused, signal.SIGCONT)
    cluster.ledger.open("before-asleep")
    taken_over(cluster, "commit", paused, partial)
    assert cluster.ledger.applied("asleep") == len(cluster.ledger.calls("asleep")) == 1
    assert cluster.ledger.calls("awake") == []


def test_a_worker_paused_before_its_job_commits_neither_writes_nor_calls_when_it_wakes(
    cluster: Cluster, vardy: Vardy
) -> None:
    cluster.ledger.shut("nap")
    body = 'const seen = await count_lines({name: "nap"}); await post_letter({name: "rested"}); return seen;'
    job = cluster.submit(vardy, "nap", body)
    paused = cluster.wait_for_call("nap")
    os.kill(paused, signal.SIGSTOP)
    try:
        cluster.wait_for_call("nap", calls=2)
        # For both: the one that sleeps finds it open when it wakes.
        cluster.ledger.open("nap")
        done = cluster.settled(vardy, job, Status.SUCCESS)
    finally:
        os.kill(paused, signal.SIGCONT)
    taken_over(cluster, "run", paused, done)
    assert cluster.ledger.applied("rested") == len(cluster.ledger.calls("rested")) == 1


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


def taken_over(cluster: Cluster, part: str, paused: int, job: JobView) -> None:
    """The worker that slept says that the job is not its own any more, and leaves it as it is."""
    log = cluster.deployment.log_path(cluster.name_of(paused))
    said = f'"event": "{part}.taken_over", "job_id": "{job.id}"'
    assert eventually(lambda: said in log.read_text(encoding="utf-8"), seconds=SECONDS)
    with cluster.deployment.client() as client:
        assert client.get(job.id) == job

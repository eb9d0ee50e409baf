"""Every step of a job's life is a point to die at: before it and after it, with the message and without.

A dry life counts its steps; then it is lived again once for each step, and a process dies
there. What must be true in the end is the same wherever that was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pytest
from structlog.testing import capture_logs

from tests.conftest import IN_MEMORY
from tests.support.audit import check, entries
from tests.support.factories import ANA, LEA, LEO
from tests.support.fakes import threw
from tests.support.life import EXPLORED, ROUNDS_ENDED, Company, Life, MemoryGround, RedisGround, caller
from tests.support.mortal import Doom
from tests.support.remote import IDEMPOTENT
from tests.support.story import Story
from vardy_api.embedded import EmbeddedServer
from vardy_worker import FunctionError
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.errors import DISCARDED
from vardy_worker.contracts.execution import ConsoleLine, Returned
from vardy_worker.contracts.ids import idempotency_key
from vardy_worker.contracts.job import JobKind, Mode
from vardy_worker.contracts.journal import EffectState, JournalEntry
from vardy_worker.contracts.quota import MICRO_USD, QuotaOf, Used
from vardy_worker.contracts.status import Status, can_move, is_settled
from vardy_worker.contracts.view import job_view
from vardy_worker.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis import Redis

    from tests.support.fakes import Guest
    from tests.support.life import Ground
    from vardy_worker.contracts.execution import SandboxOutcome

S = EffectState

NEXT: Final = {
    S.PENDING: {S.STARTED, S.SKIPPED},
    S.STARTED: {S.STARTED, S.SUCCEEDED, S.FAILED, S.UNKNOWN, S.PENDING},
    S.UNKNOWN: {S.STARTED, S.UNKNOWN, S.RESOLVED_DONE, S.RESOLVED_NOT_DONE},
    S.FAILED: {S.STARTED},
    S.RESOLVED_NOT_DONE: {S.STARTED},
    S.SUCCEEDED: set(),
    S.RESOLVED_DONE: set(),
    S.SKIPPED: set(),
}
"""What may follow what in the journal of one effect."""


# --- the lives ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plot:
    """One life: its rules, what its target does wrong, and what is done in it."""

    act: Callable[[Story], None]
    rules: str = "default: allow\n"
    failing: dict[str, tuple[Exception, ...]] = field(default_factory=dict)


TWO_LEADS: Final = """
default: allow
rules:
  - {name: bell, on: [ring], then: approve, approvers: {roles: [support_lead], quorum: 2}}
"""
LATER: Final = FunctionError("later", retryable=True)
LATER_AS_SAID: Final = FunctionError("busy", retryable=True, retry_after_seconds=10)


def approved_by_two(story: Story) -> None:
    story.submit(request="refund it")
    story.ends(Status.PENDING_APPROVAL)
    story.approve(LEA, LEO)
    story.finish()
    assert story.resolved == story.seen.in_call
    assert story.life.job.output == {"orders": 5, "paid": 10}
    console = story.life.store.console(story.life.job_id)
    assert console is not None
    assert [line.text for line in console.lines] == ["paid"]


def failed_and_requeued(story: Story) -> None:
    story.submit()
    assert story.life.job.status is Status.PARTIAL
    story.finish()
    assert story.resolved == story.seen.in_call | {1}


def discarded(story: Story) -> None:
    story.submit()
    assert story.life.job.status is Status.PARTIAL
    story.discard()
    story.ends(Status.PARTIAL, "commit.discarded")
    counts = counted(story)
    assert counts["skipped"] == 1


def cancelled_while_committing(story: Story) -> None:
    check = story.life.remote.watch

    def watch(function: str, key: str) -> None:
        check(function, key)
        if function == "pay":
            story.cancel()

    story.life.remote.watch = watch
    story.submit()
    story.ends(Status.PARTIAL, "commit.cancelled")
    assert [call.function for call in story.life.remote.calls if call.function != "pay"] == []


def cancelled_while_parked(story: Story) -> None:
    story.submit()
    story.cancel()
    story.ends(Status.CANCELLED, "job.cancelled")


def denied(story: Story) -> None:
    story.submit()
    story.decide(Choice.DENY, LEA)
    story.ends(Status.POLICY_BLOCKED, "policy.denied")


def expired(story: Story) -> None:
    story.submit()
    story.ends(Status.PENDING_APPROVAL)
    while story.life.job.status is Status.PENDING_APPROVAL:
        story.life.ground.forward(3601)
        story.life.look()
    story.ends(Status.POLICY_BLOCKED, "policy.expired")


def planned_then_committed(story: Story) -> None:
    story.submit(mode=Mode.PLAN)
    story.ends(Status.PLANNED)
    story.commit_planned()
    story.ends(Status.PENDING_APPROVAL)
    story.approve(LEA)
    story.finish()
    assert story.resolved == story.seen.in_call


def parked_again_under_stricter_rules(story: Story) -> None:
    story.submit()
    before = story.life.job
    story.decide(Choice.APPROVE, LEA)
    story.life.apply_rules(TWO_LEADS)
    story.life.work()
    story.ends(Status.PENDING_APPROVAL)
    assert story.life.job.revision == before.revision + 1
    assert story.life.job.digest != before.digest
    story.approve(LEA, LEO)
    story.finish()
    assert story.resolved == story.seen.in_call


def explored(story: Story) -> None:
    """Nothing is said, a program throws, one works, and so does the last, after which the model must answer."""
    ran: list[int] = []

    def read(guest: Guest) -> SandboxOutcome:
        n = len(story.life.job.rounds)
        ran.append(n)
        orders = guest.value("count_orders", city="Porto")
        said = (ConsoleLine(level="log", text=f"round {n}"),)
        return threw() if ROUNDS_ENDED[n - 1] else Returned(output={"orders": orders, "round": n}, console=said)

    story.life.play = read
    story.explore("How many orders has Porto?")
    story.ends(Status.SUCCESS)
    job = story.life.job
    assert job.answer == "5 orders."
    assert [each.n for each in job.rounds] == [1, 2, 3, 4]
    assert tuple(each.error.code if each.error else "" for each in job.rounds) == ROUNDS_ENDED
    assert [each.summary for each in job.rounds[2:]] == [{"orders": 5, "round": 3}, {"orders": 5, "round": 4}]
    check_rounds(story, ran)
    console = story.life.store.console(job.id)
    assert console is not None
    assert [(line.round, line.text) for line in console.lines] == [(3, "round 3"), (4, "round 4")]


def judged(story: Story) -> None:
    """Texts are judged, and what they are decides what is paid: a worker that died over that changes neither."""

    def judge_and_pay(guest: Guest) -> SandboxOutcome:
        found: Any = guest.value("classify", texts=["a", "bb", "a"], labels=["short", "long"])
        more: Any = guest.value("classify", texts=["ccc"], labels=["short", "long"])
        guest.effect("pay", amount=found["counts"]["short"] + more["counts"]["long"])
        return Returned(output=[found["labels"], more["labels"]])

    story.life.play = judge_and_pay
    story.submit(request="refund it", judge=True)
    story.ends(Status.SUCCESS)
    job = story.life.job
    assert job.output == [["short", "long", "short"], ["long"]]
    assert job.plan is not None
    assert [effect.args for effect in job.plan.body().effects] == [{"amount": 3}]
    asked = len(story.life.judging.asked)
    assert asked <= 2 + story.life.doom.happened, "what was answered is not asked again"
    assert asked - story.life.doom.happened <= job.usage.judge.calls <= asked, (
        "what was spent, as far as it was written"
    )


PLOTS: Final = {
    "approved by two, with retries": Plot(
        approved_by_two, TWO_LEADS, {"pay": (LATER,), "ring": (LATER_AS_SAID,), "book": (RuntimeError("gone"),)}
    ),
    "failed, resolved and requeued": Plot(
        failed_and_requeued, failing={"ring": (RuntimeError("lost"),), "book": (FunctionError("no"),)}
    ),
    "discarded": Plot(discarded, failing={"ring": (RuntimeError("lost"),)}),
    "cancelled while committing": Plot(cancelled_while_committing),
    "cancelled while parked": Plot(cancelled_while_parked, "default: approve\n"),
    "denied": Plot(denied, "default: approve\n"),
    "expired": Plot(expired, "default: approve\n"),
    "planned, then committed": Plot(planned_then_committed, "default: approve\n"),
    "judged, then committed": Plot(judged),
    "explored in as many rounds as there may be": Plot(explored),
    "parked again under stricter rules": Plot(parked_again_under_stricter_rules, "default: approve\n"),
}


# --- what must be true in the end -----------------------------------------------------------


def counted(story: Story) -> dict[str, int]:
    view = job_view(story.life.job)
    assert view.plan is not None
    counts = view.plan.counts.model_dump()
    assert sum(counts.values()) == 2 * counts["total"]
    return counts


def check_end(story: Story) -> None:
    life, job = story.life, story.life.job
    assert is_settled(job.status)
    assert all(record.state is not S.STARTED for record in job.effects), "what a lost worker started is unknown"
    assert life.store.counts() == {status: int(status is job.status) for status in Status}
    journal = life.store.journal(job.id)
    assert tuple(journal[: len(story.seen.journal)]) == tuple(story.seen.journal), "the journal only grows"
    check_journal(story, journal)
    assert check(life.ground.audit)[job.id].ok
    check_statuses_told(life)
    check_used(life)
    if job.kind is JobKind.RUN:
        told = entries(life.ground.audit, job.id)[-1].after
        assert told is not None
        assert told.status is job.status, "the audit trail tells of the end"
    if job.plan is not None:
        counted(story)
        check_target(story)
    check_nothing_follows(story)


def check_statuses_told(life: Life) -> None:
    """Events tell of every status once, from the first to the one that the job has; and of what people did in one."""
    told = [event.data for event in life.store.events(life.job_id) if event.type == "status"]
    within = [data for data in told if "cancel_requested_by" in data or data.get("code") == DISCARDED]
    reached = [Status(data["status"]) for data in told if data not in within]
    assert (reached[0], reached[-1]) == (Status.QUEUED, life.job.status)
    assert all(before is not after and can_move(before, after) for before, after in pairwise(reached))


def check_used(life: Life) -> None:
    """The day holds once what the job says that it took, and no settled job is counted among those at once."""
    spent = life.job.usage.spent
    counted = Used(tokens=spent.tokens, cost_usd=spent.micro_usd / MICRO_USD)
    assert (life.store.used(QuotaOf.KEY, caller().key.id), life.store.used(QuotaOf.USER, ANA.id)) == (counted, counted)


def check_rounds(story: Story, ran: Sequence[int]) -> None:
    """Rounds only grow, a stored program is the one that runs, and events tell of each step once."""
    life, job = story.life, story.life.job
    for before, after in zip(story.seen.rounds, job.rounds, strict=False):
        assert after.program == before.program
        assert after == before or before.ended_at_ms is None
    assert set(ran) == {2, 3, 4}
    assert len(ran) <= 3 + life.doom.happened, "only the one whose worker died runs again"
    told = [event.data for event in life.store.events(job.id) if event.type == "round"]
    assert [(event["n"], event["state"]) for event in told] == [
        (1, "failed"),
        (2, "running"),
        (2, "failed"),
        (3, "running"),
        (3, "succeeded"),
        (4, "running"),
        (4, "succeeded"),
    ]
    assert job.usage.prompt_tokens == 10 * (len(EXPLORED) + 1), "what was asked, as far as it was written"


def check_journal(story: Story, journal: Sequence[JournalEntry]) -> None:
    job = story.life.job
    workers: dict[int, str] = {}
    before: dict[int, JournalEntry] = {}
    fence = 0
    for entry in journal:
        last = before.get(entry.seq)
        state = last.state if last else S.PENDING
        assert entry.state in NEXT[state], (state, entry)
        if last is not None and last.state is entry.state is S.STARTED:
            assert entry.fence > last.fence, "what one worker started only another one starts anew"
        assert entry.fence >= fence
        fence = entry.fence
        if entry.worker:
            assert workers.setdefault(entry.fence, entry.worker) == entry.worker
        assert entry.idempotency_key == idempotency_key(job.id, job.digest, entry.seq)
        before[entry.seq] = entry
    for record in job.effects:
        entries = [entry for entry in journal if entry.seq == record.seq]
        assert record.attempts == sum(entry.state is S.STARTED for entry in entries)
        if entries:
            assert entries[-1].state is record.state


def check_target(story: Story) -> None:
    remote, job = story.life.remote, story.life.job
    effects = job.plan.body().effects if job.plan else ()
    words: Counter[int] = Counter()
    for entry in story.life.store.journal(job.id):
        words[entry.seq] += entry.state is S.RESOLVED_NOT_DONE
    known = set()
    states = {record.seq: record.state for record in job.effects}
    for effect in effects:
        key = idempotency_key(job.id, job.digest, effect.seq)
        known.add(key)
        assert remote.applied(key) <= 1
        if effect.function not in IDEMPOTENT:
            assert remote.reached(key) <= 1 + words[effect.seq], "not called again without an operator's word"
        state = states.get(effect.seq, S.PENDING)
        if state in {S.SUCCEEDED, S.RESOLVED_DONE}:
            assert remote.applied(key) == 1
        elif state is not S.UNKNOWN:
            assert remote.applied(key) == 0, "nothing is applied that the journal does not tell of"
    assert remote.applied_keys <= known


def check_nothing_follows(story: Story) -> None:
    """Late messages and later looks find nothing to do."""
    life, before, calls = story.life, story.life.job, len(story.life.remote.calls)
    life.queue.publish("run", before.id)
    life.queue.publish("commit", before.id)
    life.work()
    life.ground.forward(60)
    life.look()
    assert life.queue.depth("run") == life.queue.depth("commit") == 0
    assert life.job.version == before.version
    assert len(life.remote.calls) == calls


# --- the matrix -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_redis() -> Iterator[Redis]:
    """A server of its own, which is emptied after every life."""
    place = IN_MEMORY if IN_MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="vardy-matrix-", dir=place) as folder, EmbeddedServer(Path(folder)) as server:
        client = connect(server.url)
        yield client
        client.close()


@pytest.fixture(params=["memory", "redis"])
def ground(request: pytest.FixtureRequest) -> Callable[[], Ground]:
    if request.param == "memory":
        return MemoryGround
    client: Redis = request.getfixturevalue("own_redis")

    def fresh() -> Ground:
        client.flushdb()
        return RedisGround(client, "vardy")

    return fresh


@pytest.fixture(scope="module")
def company() -> Iterator[Company]:
    with Company() as made:
        yield made


def live(plot: Plot, ground: Ground, company: Company, doom: Doom, *, redelivers: bool = True) -> None:
    # What is logged is not looked at, and traces of what functions raise cost more than all the rest.
    with capture_logs():
        life = Life(ground, company, doom, redelivers=redelivers, rules_text=plot.rules)
        life.remote.failing = defaultdict(list, {name: list(errors) for name, errors in plot.failing.items()})
        story = Story(life)
        plot.act(story)
        check_end(story)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS.keys())
def test_a_process_that_dies_at_any_step_loses_nothing_and_repeats_nothing(
    plot: Plot, ground: Callable[[], Ground], company: Company, after: bool
) -> None:
    dry = Doom()
    live(plot, ground(), company, dry)
    for number, step in enumerate(dry.steps):
        doom = Doom(at=number, after=after)
        # By turns the broker gives the dead worker's message again, and loses it.
        redelivers = number % 2 == after
        try:
            live(plot, ground(), company, doom, redelivers=redelivers)
            assert doom.happened
        except BaseException as error:
            error.add_note(f"died {'after' if after else 'before'} step {number}, {step}, of {dry.steps}")
            raise

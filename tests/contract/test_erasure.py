"""Erasing a job: nothing of its contents stays anywhere, what must stay does, and nothing brings it back."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.support.audit import actions, check, entries, note
from tests.support.factories import NOW_MS, effect, plan, policy, queued_job
from tests.support.stored import everything_stored
from tests.support.worlds import RedisWorld, World, job_in
from vardy_worker.contracts.audit import Action
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.decision import Choice, Decision
from vardy_worker.contracts.erasure import ERASED, erased_event
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.execution import CallSummary, ConsoleLine, Ref, ValueShape
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import Attempt, ConsoleRecord, JobFilter, Submission, Usage
from vardy_worker.contracts.journal import EffectRecord, EffectState, JournalEntry, count_effects
from vardy_worker.contracts.policy import ApprovalNeed, SmallestChange, Verdict
from vardy_worker.contracts.program import Finding, Program
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.totals import CountedPlan, EffectTotals
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import effect_records, job_view
from vardy_worker.ports import Change, Changed, Conflict, IdempotencyClaim, JobStore, Missing, Replayed
from vardy_worker.store.redis_audit import AuditWriter

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord

MARKER = "mk7q"
"""Stands in every text of a full job; no other text of Vardy's has it."""
COMMITTING = frozenset({Status.COMMITTING})
CLAIM = IdempotencyClaim(scope="shop", key="k1", body_sha256="b" * 64)


def marked(name: str) -> str:
    return f"{name} {MARKER} “ü”"


def _error(name: str) -> ErrorInfo:
    return ErrorInfo(code="commit.discarded", message=marked(name), details={"why": marked(name)})


def _submission() -> Submission:
    return Submission(
        request=marked("request"),
        params={marked("param"): [marked("value"), 17]},
        user=User(id=marked("ana"), roles=(marked("role"),), attributes={"team": marked("team")}),
        functions=(marked("function"),),
        judge=True,
        metadata={marked("name"): marked("value")},
        limits={marked("limit"): 1.0},
    )


def _entry(seq: int, state: EffectState) -> JournalEntry:
    return JournalEntry(
        at_ms=NOW_MS,
        seq=seq,
        state=state,
        attempt=1,
        fence=1,
        worker="w1",
        idempotency_key=f"vdy_{seq}",
        args_sha256="a" * 64,
        by="olga",
        reason=marked("reason"),
    )


def full_job(store: JobStore) -> JobRecord:
    """A discarded `PARTIAL` with a marker in every text that it can have."""
    now_ms = store.server_now_ms()
    recipe = Recipe(
        name="days",
        source=marked("source"),
        description=marked("about"),
        params_schema={"title": marked("schema")},
        reviewed_by=marked("by"),
    )
    job = queued_job(submission=_submission(), recipe=recipe, created_at_ms=now_ms)
    store.submit(job, CLAIM, due_at_ms=now_ms, audit=[note(Action.JOB_SUBMITTED, at_ms=now_ms, reason=marked("why"))])
    store.change(Change(job.id, frozenset({Status.QUEUED}), Status.RUNNING))
    store.put_console(job.id, ConsoleRecord(lines=(ConsoleLine(level="log", text=marked("line")),)))
    finding = Finding(code="program.x", message=marked("found"), line=1, column=1, hint=marked("hint"))
    made = plan(job.id, effect(args={"text": marked("argument")}), effect(1), effect(2))
    said = policy(Verdict.APPROVE, 3, ApprovalNeed(rule="a-rule", roles=("lead",), message=marked("need")))
    program = Program(
        source=marked("program"),
        sha256=sha256_text("program"),
        attempts=2,
        prompt="program-1",
        line_map=(1,),
        warnings=(finding,),
    )
    ran: dict[str, Any] = {
        "program": program,
        "rounds": _rounds(program),
        "answer": marked("answer"),
        "attempts": (Attempt(text=marked("answer"), error=_error("refused"), findings=(finding,)),),
        "calls": (CallSummary(id=1, function=marked("called"), ok=True),),
        "output": {marked("key"): marked("output")},
        "output_refs": (Ref(at="/" + marked("at"), effect=0),),
        "warnings": (marked("warning"),),
        "plan": made,
        "revision": 1,
        "policy": said.model_copy(
            update={
                "avoidable": SmallestChange(without=(0,), message=marked("avoid")),
                "outside": (marked("outside"),),
            }
        ),
        "decisions": (
            Decision(
                decision=Choice.APPROVE,
                digest=made.digest,
                user=User(id="lea", roles=("lead",), attributes={"note": marked("lead")}),
                reason=marked("because"),
                at_ms=NOW_MS,
            ),
        ),
        "counted": CountedPlan(era="e", hour=1, totals=EffectTotals(counts={marked("f"): 1})),
        "usage": Usage(model="m", prompt_tokens=3),
    }
    store.change(Change(job.id, frozenset({Status.RUNNING}), Status.COMMITTING, set=ran))
    assert store.request_cancel(job.id, by=marked("ana"))
    stopped = Change(
        job.id,
        COMMITTING,
        Status.PARTIAL,
        set={"error": _error("stopped"), "settled_at_ms": now_ms},
        effects=[
            EffectRecord(seq=0, state=EffectState.SUCCEEDED, attempts=1, result={"id": marked("result")}),
            EffectRecord(seq=1, state=EffectState.UNKNOWN, attempts=2, error=_error("failed")),
        ],
        journal=[_entry(0, EffectState.SUCCEEDED), _entry(1, EffectState.UNKNOWN)],
        events=[Event(type="effect", data={"seq": 0, "by": marked("by"), "state": "SUCCEEDED"}, at_ms=NOW_MS)],
        audit=[note(Action.JOB_SETTLED, at_ms=now_ms, reason=marked("typed"))],
        due_at_ms=None,
        retain_seconds=1000,
    )
    assert isinstance(store.change(stopped), Changed)
    return record(store, job.id)


def _rounds(program: Program) -> tuple[Round, ...]:
    called = CallSummary(id=1, function=marked("called"), ok=True)
    shape = ValueShape(label=marked("label"), shape=marked("shape"))
    return (
        Round(n=1, program=program, error=_error("failed"), calls=(called,), shapes=(shape,), ended_at_ms=NOW_MS),
        Round(n=2, program=program, summary={marked("key"): marked("sum")}, truncated=True, ended_at_ms=NOW_MS + 1),
    )


def record(store: JobStore, job_id: str) -> JobRecord:
    found = store.get(job_id)
    assert found is not None
    return found


def erase(world: World, job: JobRecord) -> JobRecord:
    now_ms = world.store.server_now_ms()
    noted = note(Action.JOB_ERASED, at_ms=now_ms, digest=job.digest)
    reply = world.store.erase(job.id, expect_version=job.version, at_ms=now_ms, audit=[noted])
    assert reply == Changed(job.version + 1)
    return record(world.store, job.id)


def texts(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def told(world: World, job: JobRecord) -> str:
    """Everything that the store tells of a job."""
    store = world.store
    return texts(
        [
            record(store, job.id).model_dump(mode="json"),
            [entry.model_dump(mode="json") for entry in store.journal(job.id)],
            [event.model_dump(mode="json") for event in store.events(job.id)],
            console.model_dump(mode="json") if (console := store.console(job.id)) else None,
            store.list_jobs(JobFilter(), cursor=None, limit=50).model_dump(mode="json"),
            [entry.model_dump(mode="json") for entry in entries(world.trail, job.id)],
        ]
    )


def test_nothing_of_the_contents_is_told_any_more(world: World) -> None:
    job = full_job(world.store)
    assert told(world, job).count(MARKER) > 30
    erase(world, job)
    assert MARKER not in told(world, job)


def holders(world: RedisWorld) -> set[str]:
    """Names of the keys whose name or value has the marker."""
    everything = everything_stored(world.client, world.namespace)
    return {key for key, value in everything.items() if MARKER in key + value}


def test_no_key_of_the_server_holds_any_of_it(redis_world: RedisWorld) -> None:
    job = full_job(redis_world.store)
    prefix = f"{redis_world.namespace}:"
    parts = ("", ":effects", ":journal", ":events", ":console")
    assert {f"{prefix}job:{job.id}{part}" for part in parts} <= holders(redis_world)
    assert {f"{prefix}audit:chain:{job.id}", f"{prefix}expiring:indexes"} <= holders(redis_world)
    erase(redis_world, job)
    assert holders(redis_world) == set()


def test_the_skeleton_stays(world: World) -> None:
    job = full_job(world.store)
    left = erase(world, job)
    kept = ("id", "kind", "owner", "status", "created_at_ms", "started_at_ms", "settled_at_ms", "usage", "timings")
    assert [getattr(left, name) for name in kept] == [getattr(job, name) for name in kept]
    assert left.submission == Submission(request=ERASED, user=User(id=ERASED), judge=True)
    assert left.erased_at_ms is not None
    assert (left.digest, left.revision) == (job.digest, 1)
    assert left.error is not None
    assert left.error.code == "commit.discarded"
    assert left.program is not None
    assert left.program.sha256 == sha256_text("program")
    assert [(one.user.id, one.user.roles, one.decision, one.digest) for one in left.decisions] == [
        ("lea", ("lead",), Choice.APPROVE, job.digest)
    ]
    assert count_effects(effect_records(left)) == count_effects(effect_records(job))
    states = [EffectState.SUCCEEDED, EffectState.UNKNOWN, EffectState.PENDING]
    assert [effect.state for effect in left.effects] == states
    journal = world.store.journal(job.id)
    assert [(entry.seq, entry.state, entry.worker, entry.by) for entry in journal] == [
        (0, EffectState.SUCCEEDED, "w1", "olga"),
        (1, EffectState.UNKNOWN, "w1", "olga"),
    ]
    # From the digest of short arguments they could be guessed.
    assert {entry.args_sha256 for entry in journal} == {""}
    view = job_view(left)
    assert view.plan is not None
    assert (view.plan.digest, view.plan.counts.total, view.effects) == (job.digest, 3, ())
    assert (view.request, view.user.id) == (ERASED, ERASED)


def test_of_rounds_their_number_and_how_they_ended_stay(world: World) -> None:
    left = erase(world, full_job(world.store))
    first, second = left.rounds
    assert first.program is not None
    assert first.program.sha256 == sha256_text("program")
    assert (first.error and first.error.code, first.calls, first.shapes) == ("commit.discarded", (), ())
    assert (second.summary, second.truncated, second.worked) == (None, True, True)
    assert [each.ended_at_ms for each in left.rounds] == [NOW_MS, NOW_MS + 1]
    assert left.answer is None
    told_of = Event(type="round", data={"n": 2, "state": "failed", "code": "x", "text": "why"}, at_ms=NOW_MS)
    assert erased_event(told_of).data == {"n": 2, "state": "failed", "code": "x"}


def test_events_keep_their_places(world: World) -> None:
    job = full_job(world.store)
    before = world.store.events(job.id)
    erase(world, job)
    after = world.store.events(job.id)
    assert [(event.id, event.type, event.at_ms) for event in after] == [
        (event.id, event.type, event.at_ms) for event in before
    ]
    assert {"seq": 0, "state": "SUCCEEDED"} in [event.data for event in after]


def test_an_erased_job_is_not_found_by_the_person_and_keeps_its_other_places(world: World) -> None:
    job, other = full_job(world.store), job_in(world.store, Status.SUCCESS)
    erase(world, job)

    def found(where: JobFilter) -> list[str]:
        return [item.id for item in world.store.list_jobs(where, cursor=None, limit=10).items]

    assert found(JobFilter(user=marked("ana"))) == []
    assert found(JobFilter(user=ERASED)) == [job.id]
    assert found(JobFilter(status=(Status.PARTIAL,))) == [job.id]
    assert sorted(found(JobFilter(owner="shop"))) == sorted([job.id, other.id])
    [summary] = world.store.list_jobs(JobFilter(user=ERASED), cursor=None, limit=10).items
    assert (summary.request, summary.user, summary.effects_total) == (ERASED, ERASED, 3)
    assert summary.erased_at_ms is not None


def test_the_audit_trail_loses_what_was_typed_and_still_holds(world: World) -> None:
    job = full_job(world.store)
    before = entries(world.trail, job.id)
    erase(world, job)
    after = entries(world.trail, job.id)
    assert actions(world.trail, job.id) == ["job.submitted", "job.settled", "job.erased"]
    assert [entry.hash for entry in after[:2]] == [entry.hash for entry in before]
    assert [entry.text for entry in after] == [None, None, None]
    assert (after[-1].before, after[-1].after) == (
        after[-1].before and after[-1].before.model_copy(update={"version": job.version}),
        after[-1].after and after[-1].after.model_copy(update={"version": job.version + 1}),
    )
    checked = check(world.trail)[job.id]
    assert (checked.ok, checked.erased) == (True, 2)


def test_a_trimmed_trail_loses_what_was_typed_in_the_entries_that_are_left(world: World) -> None:
    job = full_job(world.store)
    world.forward(100)
    world.store.change(Change(job.id, frozenset({Status.PARTIAL}), audit=[note(at_ms=NOW_MS, reason=marked("late"))]))
    assert world.trail.trim(older_than_ms=50_000, limit=100) == 2
    erase(world, record(world.store, job.id))
    assert [(entry.n, entry.text) for entry in entries(world.trail, job.id)] == [(3, None), (4, None)]
    assert check(world.trail)[job.id].ok


def test_the_idempotency_key_leads_to_what_stayed_and_makes_no_new_job(world: World) -> None:
    job = full_job(world.store)
    erase(world, job)
    again = queued_job(submission=_submission())
    assert world.store.submit(again, CLAIM, due_at_ms=0) == Replayed(job.id)
    assert world.store.get(again.id) is None


def test_an_erased_job_ends_when_it_would_have(world: World) -> None:
    job = full_job(world.store)
    erase(world, job)
    world.forward(900)
    assert world.store.get(job.id) is not None
    world.forward(101)
    world.store.rebuild_due(grace_ms=0)
    assert world.store.get(job.id) is None
    assert list(world.store.journal(job.id)) == []
    assert world.store.list_jobs(JobFilter(user=ERASED), cursor=None, limit=10).items == ()


def test_no_part_of_an_expired_job_is_left(redis_world: RedisWorld) -> None:
    job = full_job(redis_world.store)
    erase(redis_world, job)
    redis_world.forward(1001)
    redis_world.store.rebuild_due(grace_ms=0)
    left = everything_stored(redis_world.client, redis_world.namespace)
    assert {key for key in left if job.id in key} <= {f"{redis_world.namespace}:audit:chain:{job.id}"}
    stored = repr([value for key, value in left.items() if ":audit:" not in key])
    assert stored.count(job.id) == 1, "only its Idempotency-Key names it"


def test_a_console_that_comes_late_is_not_kept(world: World) -> None:
    job = full_job(world.store)
    erase(world, job)
    world.store.put_console(job.id, ConsoleRecord(lines=(ConsoleLine(level="log", text=marked("late")),)))
    assert world.store.console(job.id) is None


def test_of_two_changes_of_one_version_only_one_happens(world: World) -> None:
    job = full_job(world.store)
    erased = erase(world, job)
    late = Change(job.id, frozenset({Status.PARTIAL}), set={"output": marked("late")}, expect_version=job.version)
    assert isinstance(world.store.change(late), Conflict)
    again = world.store.erase(job.id, expect_version=job.version, at_ms=NOW_MS, audit=[note(at_ms=NOW_MS)])
    assert isinstance(again, Conflict)
    assert (again.status, again.version) == (Status.PARTIAL, erased.version)
    assert record(world.store, job.id) == erased
    assert len(entries(world.trail, job.id)) == 3


def test_a_job_that_is_not_there_cannot_be_erased(store: JobStore) -> None:
    assert store.erase(new_job_id(), expect_version=1, at_ms=NOW_MS) == Missing()


@pytest.mark.parametrize("status", [*Status])
def test_only_a_job_that_is_over_is_erased(store: JobStore, status: Status) -> None:
    job = job_in(store, status)
    live = {Status.QUEUED, Status.RUNNING, Status.COMMITTING, Status.PLANNED, Status.PENDING_APPROVAL, Status.PARTIAL}
    if status in live:
        with pytest.raises(ValueError, match="cannot be erased"):
            store.erase(job.id, expect_version=job.version, at_ms=NOW_MS)
        assert store.get(job.id) == job
    else:
        assert store.erase(job.id, expect_version=job.version, at_ms=NOW_MS) == Changed(job.version + 1)
        assert record(store, job.id).submission.request == ERASED


def test_a_job_with_many_events_is_erased_whole(world: World) -> None:
    job = full_job(world.store)
    before = world.store.events(job.id)
    events = [Event(type="effect", data={"by": marked("by"), "seq": seq}, at_ms=NOW_MS) for seq in range(2500)]
    world.store.change(Change(job.id, frozenset({Status.PARTIAL}), events=events))
    erase(world, record(world.store, job.id))
    assert MARKER not in told(world, job)
    assert len(world.store.events(job.id, limit=5000)) == len(before) + 2500


def test_an_erasure_sent_twice_happens_once_and_is_answered_alike(redis_world: RedisWorld) -> None:
    job, store = full_job(redis_world.store), redis_world.store
    given: dict[str, Any] = {"expect_version": job.version, "at_ms": NOW_MS, "audit": [note(at_ms=NOW_MS)]}
    assert store.send_erasure(job.id, "token", **given) == Changed(job.version + 1)
    once = record(store, job.id)
    assert store.send_erasure(job.id, "token", **given) == Changed(job.version + 1)
    assert record(store, job.id) == once
    assert len(entries(redis_world.trail, job.id)) == 3


def test_an_erasure_that_the_audit_trail_overtakes_is_made_again(
    redis_world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, store = full_job(redis_world.store), redis_world.store
    of_job, overtaking = AuditWriter.of_job, [Change(job.id, frozenset({Status.PARTIAL}), audit=[note(at_ms=1)])]

    def overtaken(writer: AuditWriter, *given: Any) -> object:
        part = of_job(writer, *given)
        if overtaking:
            store.change(overtaking.pop())
        return part

    monkeypatch.setattr(AuditWriter, "of_job", overtaken)
    given: dict[str, Any] = {"at_ms": NOW_MS, "audit": [note(Action.JOB_ERASED, at_ms=NOW_MS)]}
    late = store.erase(job.id, expect_version=job.version, **given)
    assert late == Conflict(Status.PARTIAL, job.version + 1, fence=0, cancel_requested_by=marked("ana"))
    assert MARKER in told(redis_world, job)
    assert store.erase(job.id, expect_version=job.version + 1, **given) == Changed(job.version + 2)
    assert check(redis_world.trail)[job.id].ok


KEPT = """
JobRecord.id JobRecord.owner JobRecord.key_id JobRecord.worker JobRecord.status Submission.recipe Recipe.name
Recipe.functions Recipe.from_job Program.sha256 Program.prompt Plan.digest Usage.model
ErrorInfo.code Finding.code Finding.severity CallSummary.code Ref.path
PolicyResult.rules_digest EffectVerdict.rules EffectVerdict.message EffectVerdict.failed_rule
ApprovalNeed.rule ApprovalNeed.roles Decision.digest Decision.via Decision.key_id User.id User.roles
EffectRecord.idempotency_key CountedPlan.era
"""
"""Texts of a record that nobody's words or data get into, or that stay as operations.md says."""


def _unmarked(value: object, name: str = "") -> set[str]:
    """Names of the fields whose text has no marker."""
    if isinstance(value, BaseModel):
        model = type(value)
        return {
            found
            for field in model.model_fields
            for found in _unmarked(getattr(value, field), f"{model.__name__}.{field}")
        }
    if isinstance(value, tuple | list):
        return {found for item in value for found in _unmarked(item, name)}
    if isinstance(value, dict):
        return {found for item in value.values() for found in _unmarked(item, name)}
    return {name} if isinstance(value, str) and not isinstance(value, Enum) and MARKER not in value else set()


def test_the_job_that_is_erased_here_has_a_marker_in_every_text_there_is(store: JobStore) -> None:
    """So that a field which is added later cannot stay behind unseen."""
    assert _unmarked(full_job(store)) - set(KEPT.split()) == set()

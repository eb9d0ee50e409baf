"""Plans, people, rules, time and crashes in any order, against a model that knows only what was promised."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from structlog.testing import capture_logs

from tests.support.factories import submission
from tests.support.fakes import Guest
from tests.support.life import RECIPE, Company, Life, MemoryGround, caller
from tests.support.mortal import Doom
from tests.support.promises import (
    ARGUMENTS,
    FAILURES,
    MOVES,
    PEOPLE,
    STRICT,
    WRITES,
    Crash,
    Fails,
    Law,
    Model,
    Need,
    Word,
    crashes,
    failures,
    laws,
    persons,
    picks,
    seldom,
)
from tests.support.remote import IDEMPOTENT, remote_functions
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.execution import Returned
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import job_view
from vardy_worker.documents import CURRENT, RULES, publish_catalogue
from vardy_worker.functions.runtime import FunctionRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.operations.facade import Operations
    from vardy_worker.contracts.execution import SandboxOutcome
    from vardy_worker.contracts.job import JobRecord

S = Status
TTL_SECONDS: Final = 3600
JOBS_MAX: Final = 6
LIVE: Final = (S.PENDING_APPROVAL, S.PLANNED, S.COMMITTING, S.PARTIAL, S.FUNCTION_ERROR)
RESULTS: Final[dict[str, Any]] = {"pay": {"id": 10}, "ring": "rung", "book": 3}

_next_step: Callable[[Any], Any] = rule(
    pick=picks, people=st.lists(persons, min_size=2, max_size=3), crash=crashes, fails=failures, stricter=seldom
)


def when(*statuses: Status) -> Callable[[Any], bool]:
    """There is a job for which the step is meant."""
    return lambda machine: any(machine.life.store.get(job_id).status in statuses for job_id in machine.models)


class PlanLife(RuleBasedStateMachine):
    """People and workers act; after every step the promises are compared with what happened."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(capture_logs())
        self.doom = Doom()
        self.life = Life(MemoryGround(), self.stack.enter_context(Company()), self.doom)
        self.life.remote.watch = self._called
        self.newer = FunctionRuntime(remote_functions(self.life.remote, retries=2), threads=2)
        self.newer.start()
        self.stack.callback(self.newer.stop)
        self.older = self.life.host
        self.law = Law("approve")
        self.life.apply_rules(self.law.text())
        self.models: dict[str, Model] = {}
        self.broken: list[str] = []
        """Promises that were seen broken in a call, where raising would look like a failing function."""

    def teardown(self) -> None:
        try:
            self._lead_everything_to_its_end()
        finally:
            self.stack.close()

    # --- what happens -----------------------------------------------------------------------

    @initialize(law=laws.filter(lambda law: not law.blocks(WRITES)))
    def begin(self, law: Law) -> None:
        self._apply(law)
        self.submit("ana", WRITES, Mode.EXECUTE)

    @precondition(lambda self: len(self.models) < JOBS_MAX)
    @rule(
        requester=st.sampled_from(PEOPLE[:2]),
        functions=st.lists(st.sampled_from(WRITES), min_size=1, max_size=3).map(tuple),
        mode=st.sampled_from([Mode.EXECUTE, Mode.EXECUTE, Mode.PLAN]),
    )
    def submit(self, requester: str, functions: tuple[str, ...], mode: Mode) -> None:
        def play(guest: Guest) -> SandboxOutcome:
            for number, name in enumerate(functions):
                args: dict[str, Any] = {ARGUMENTS[name]: number}
                guest.effect(name, **args)
            return Returned(output=None)

        self.life.play = play
        what = submission(recipe=RECIPE, user=User(id=requester), mode=mode)
        accepted = self.life.api.submit.run(caller(), what)
        model = self.models[accepted.job.id] = Model(requester, functions)
        while self.life.take("run"):
            pass
        self._note_plan(accepted.job.id)
        job = self._job(accepted.job.id)
        if self.law.blocks(functions):
            expected = S.PLANNED if mode is Mode.PLAN and not self.law.broken else S.POLICY_BLOCKED
        elif mode is Mode.PLAN:
            expected = S.PLANNED
        else:
            expected = S.PENDING_APPROVAL if self.law.needs(functions) else S.COMMITTING
        assert job.status is expected
        assert model.digest == job.digest

    def _lead_on(self, pick: int, people: list[Word], crash: Crash, fails: Fails, stricter: bool) -> None:
        """The next natural step of a job, with what may go wrong in it: how most jobs get far."""
        for function, how in fails:
            self.fail_next(function, how)
        if not when(*LIVE)(self) and len(self.models) < JOBS_MAX:
            if self.law.blocks(WRITES):
                self._apply(Law("approve"))
            self.submit("ana", WRITES, Mode.PLAN if pick % 4 == 0 else Mode.EXECUTE)
        job = self._pick(pick, *LIVE)
        match job.status if job else None:
            case S.PENDING_APPROVAL:
                self.life.ground.forward(TTL_SECONDS if stricter and pick % 3 == 0 else 1)
                self.decide(pick, people)
            case S.PLANNED:
                self.commit_planned(pick)
            case S.PARTIAL | S.FUNCTION_ERROR:
                if pick % 3:
                    self.resolve(pick)
                self.requeue(pick)
        self._apply(STRICT if stricter else self.law)
        if self.life.queue.depth("commit") and crash is not None:
            self.commit_and_die(*crash)
        elif self.life.queue.depth("commit"):
            self.commit(2)
        else:
            self.wait(6, look=True)

    # Three rules of one step, so that jobs get far more often than they are disturbed.
    lead_on = _next_step(_lead_on)
    lead_further = _next_step(_lead_on)
    lead_to_the_end = _next_step(_lead_on)

    @precondition(when(S.PENDING_APPROVAL))
    @rule(pick=picks, people=st.lists(persons, min_size=1, max_size=3))
    def decide(self, pick: int, people: list[Word]) -> None:
        for person, roles, key, choice, stale in people:
            self._decide(pick, person, roles, key=key, choice=choice, stale=stale)

    def _decide(self, pick: int, person: str, roles: tuple[str, ...], *, key: str, choice: Choice, stale: bool) -> None:
        job = self._pick(pick, S.PENDING_APPROVAL)
        if job is None:
            return
        model = self.models[job.id]
        digest = "0" * 64 if stale else job.digest
        asked = [Need(need.roles, need.quorum) for need in (job.policy.approvals if job.policy else ())]
        reasons = model.refusals(person, roles, choice, asked=asked, parked=job.status is S.PENDING_APPROVAL)
        reasons |= {"digest.mismatch"} if stale else set()
        reasons |= {"approval.expired"} if self._is_expired(job) else set()
        user = User(id=person, roles=roles)
        code = self._ask(
            lambda api: api.decisions.decide(
                caller(key), job.id, digest=digest, decision=choice, user=user, reason="because"
            )
        )
        if reasons:
            assert code in reasons
            if job.status is S.PENDING_APPROVAL:
                assert self._job(job.id).status is (S.POLICY_BLOCKED if code == "approval.expired" else job.status)
            return
        assert code == ""
        model.said[person] = (choice, roles)
        after = S.COMMITTING if model.satisfied(asked) else S.PENDING_APPROVAL
        assert self._job(job.id).status is (S.POLICY_BLOCKED if choice is Choice.DENY else after)

    @precondition(when(S.PLANNED))
    @rule(pick=picks)
    def commit_planned(self, pick: int) -> None:
        job = self._pick(pick, S.PLANNED)
        if job is None:
            return
        model = self.models[job.id]
        code = self._ask(
            lambda api: api.decisions.commit_planned(caller(), job.id, digest=job.digest, user=User(id="ana"))
        )
        after = self._job(job.id)
        self._note_plan(job.id)
        if job.status is not S.PLANNED:
            assert code == "job.conflict"
        elif self.law.broken:
            assert code in {"commit.blocked", "approval.expired"}
        elif self._is_expired(job):
            assert code == "approval.expired"
        elif self.law.blocks(model.functions):
            assert after.status is S.POLICY_BLOCKED
        else:
            needed = self.law.needs(model.functions)
            assert after.status is (S.PENDING_APPROVAL if needed else S.COMMITTING)

    @precondition(lambda self: self.life.queue.depth("commit"))
    @rule(times=st.integers(1, 3))
    def commit(self, times: int) -> None:
        for _ in range(times):
            self._take_commit()

    @precondition(lambda self: self.life.queue.depth("commit"))
    @rule(steps=st.integers(0, 14), after=st.booleans(), redelivers=st.booleans())
    def commit_and_die(self, steps: int, after: bool, redelivers: bool) -> None:
        self.doom.at, self.doom.after = len(self.doom.steps) + steps, after
        self.life.redelivers = redelivers
        self._take_commit()
        self.doom.at = None

    @rule(pick=picks)
    def send_again(self, pick: int) -> None:
        job = self._pick(pick)
        if job is not None:
            self.life.queue.publish("commit", job.id)
            self.life.queue.publish("run", job.id)
            self.life.take("run")

    @rule(seconds=st.sampled_from([6] * 12 + [61, TTL_SECONDS + 1]), look=st.booleans())
    def wait(self, seconds: int, *, look: bool) -> None:
        self.life.ground.forward(seconds)
        if look:
            self.life.look()

    @rule(law=laws, really=st.booleans())
    def change_rules(self, law: Law, *, really: bool) -> None:
        if really:
            self._apply(law)

    def _apply(self, law: Law) -> None:
        self.law = law
        if law.broken:
            # As a newer release may have left them.
            self.life.documents.put(RULES, CURRENT, {"digest": "0" * 64, "text": law.text()})
        else:
            self.life.apply_rules(law.text())

    @rule(really=seldom)
    def change_function(self, *, really: bool) -> None:
        if really or self.life.host is self.newer:
            self._use(self.newer if self.life.host is self.older else self.older)

    @rule(function=st.sampled_from(WRITES), how=st.sampled_from(list(FAILURES)))
    def fail_next(self, function: str, how: str) -> None:
        self.life.remote.failing[function].append(FAILURES[how]())

    @rule(pick=picks, really=seldom)
    def cancel(self, pick: int, *, really: bool) -> None:
        job = self._pick(pick)
        if job is None or not really:
            return
        code = self._ask(lambda api: api.commits.cancel(caller(), job.id, user=User(id="ana")))
        if job.status in {S.PENDING_APPROVAL, S.PLANNED}:
            assert (code, self._job(job.id).status) == ("", S.CANCELLED)
        else:
            assert code == ("" if job.status is S.COMMITTING else "job.conflict")

    @precondition(when(S.PARTIAL, S.FUNCTION_ERROR))
    @rule(pick=picks)
    def requeue(self, pick: int) -> None:
        job = self._pick(pick, S.PARTIAL, S.FUNCTION_ERROR)
        if job is None:
            return
        code = self._ask(lambda api: api.commits.requeue(caller(), job.id, user=User(id="olga")))
        unknown = any(
            record.state is EffectState.UNKNOWN and self.models[job.id].functions[record.seq] not in IDEMPOTENT
            for record in job.effects
        )
        discarded = job.error is not None and job.error.code == "commit.discarded"
        if job.status not in {S.PARTIAL, S.FUNCTION_ERROR} or discarded:
            assert code == "job.conflict"
        elif job.status is S.FUNCTION_ERROR and self._is_expired(job):
            assert code == "approval.expired"
        elif unknown:
            assert code == "commit.unresolved"
        else:
            assert (code, self._job(job.id).status) == ("", S.COMMITTING)
            self.models[job.id].begun = False

    @precondition(when(S.PARTIAL))
    @rule(pick=picks)
    def resolve(self, pick: int) -> None:
        if (job := self._pick(pick, S.PARTIAL)) and job.status is S.PARTIAL:
            self._resolve(job)

    @precondition(when(S.PARTIAL))
    @rule(pick=picks, really=seldom)
    def discard(self, pick: int, *, really: bool) -> None:
        job = self._pick(pick, S.PARTIAL)
        if job is None or not really:
            return
        discarded = job.error is not None and job.error.code == "commit.discarded"
        code = self._ask(lambda api: api.commits.discard(caller(), job.id, reason="enough", user=User(id="olga")))
        assert code == ("" if job.status is S.PARTIAL and not discarded else "job.conflict")
        assert all(
            record in self._job(job.id).effects for record in job.effects if record.state is not EffectState.PENDING
        )

    # --- what was promised ------------------------------------------------------------------

    @invariant()
    def no_promise_was_broken_in_a_call(self) -> None:
        assert not self.broken, self.broken

    @invariant()
    def every_effect_once_and_none_unasked(self) -> None:
        remote = self.life.remote
        keys: set[str] = set()
        for job_id, model in self.models.items():
            job = self._job(job_id)
            keys |= model.check_applied(self.life.store.journal(job_id), remote)
            for record in job.effects:
                assert record.state is not EffectState.STARTED or job.status is S.COMMITTING
                assert record.state is not EffectState.SUCCEEDED or remote.applied(record.idempotency_key) == 1
        assert remote.applied_keys <= keys

    @invariant()
    def counts_add_up(self) -> None:
        for job_id in self.models:
            view = job_view(self._job(job_id))
            if view.plan is not None:
                counts = view.plan.counts.model_dump()
                assert sum(counts.values()) == 2 * counts["total"]

    @invariant()
    def journals_only_grow_and_what_ended_stays(self) -> None:
        for job_id, model in self.models.items():
            journal, job = tuple(self.life.store.journal(job_id)), self._job(job_id)
            assert journal[: len(model.journal)] == model.journal
            assert all(a.fence <= b.fence for a, b in pairwise(journal))
            model.journal = journal
            if model.ended is not None:
                assert job == model.ended
            if job.status in {S.SUCCESS, S.CANCELLED, S.POLICY_BLOCKED}:
                model.ended = job

    @invariant()
    def statuses_move_by_the_table(self) -> None:
        for job_id in self.models:
            before: Status | None = None
            for event in self.life.store.events(job_id):
                if event.type == "status":
                    after = Status(event.data["status"])
                    assert after in ({before, *MOVES.get(before, set())} if before else {S.QUEUED}), (before, after)
                    before = after
            assert self._job(job_id).status is before

    # --- inside -----------------------------------------------------------------------------

    def _called(self, function: str, key: str) -> None:
        """Each call of a write: for an effect of a plan that people, or the rules, let through."""
        owners = [
            (job, record)
            for job in map(self._job, self.models)
            for record in job.effects
            if record.idempotency_key == key
        ]
        if len(owners) != 1:
            self.broken.append(f"{function} was called with a key of no effect")
            return
        job, record = owners[0]
        model = self.models[job.id]
        if not model.begun and not self._may_begin(job, model):
            self.broken.append(f"{function} was called without what {self.law} asks for: {model}")
        model.begun = True
        plan = job.plan
        if job.status is not S.COMMITTING or plan is None or (plan.digest, plan.text) != (model.digest, model.text):
            self.broken.append(f"{function} was called for another plan than was shown, or at the wrong time")
        if model.functions[record.seq] != function:
            self.broken.append(f"{function} was called in place of {model.functions[record.seq]}")

    def _may_begin(self, job: JobRecord, model: Model) -> bool:
        planned = {effect.version for effect in job.plan.body().effects} if job.plan else set()
        return (
            planned <= {spec.version for spec in self.life.host.catalogue().functions}
            and not self.law.blocks(model.functions)
            and model.satisfied(self.law.needs(model.functions))
        )

    def _take_commit(self) -> None:
        self.life.take("commit")
        for job_id, model in self.models.items():
            job = self._job(job_id)
            # Let through, and then the worker died: the next one goes on without asking again.
            if job.status is S.COMMITTING and job.commit_checked and not model.begun:
                assert self._may_begin(job, model)
                model.begun = True
            self._note_plan(job_id)

    def _note_plan(self, job_id: str) -> None:
        """The plan as it is shown from now on. What was said of another one says nothing of it."""
        job, model = self._job(job_id), self.models[job_id]
        if job.plan is not None and job.digest != model.digest:
            model.digest, model.text, model.said = job.digest, job.plan.text, {}
        if job.status is not S.COMMITTING:
            model.begun = False

    def _resolve(self, job: JobRecord) -> None:
        for record in job.effects:
            if record.state is not EffectState.UNKNOWN:
                continue
            done = self.life.remote.applied(record.idempotency_key) > 0
            result = RESULTS[self.models[job.id].functions[record.seq]] if done else None
            code = self._ask(
                lambda api, seq=record.seq, done=done, result=result: api.commits.resolve(  # type: ignore[misc] # defaults bind them
                    caller(), job.id, seq, done=done, result=result, reason="looked", user=User(id="olga")
                )
            )
            assert code == ""
            if not done:
                model = self.models[job.id]
                model.not_done[record.seq] = model.not_done.get(record.seq, 0) + 1

    def _lead_everything_to_its_end(self) -> None:
        """Whatever happened: with lax rules, the functions of old and somebody who looks, every commit ends well."""
        self._use(self.older)
        self.life.remote.failing.clear()
        self._apply(Law("allow"))
        for _ in range(12):
            while self.life.queue.depth("commit"):
                self._take_commit()
            self.life.ground.forward(6)
            self.life.look()
            for job in filter(self._can_end_well, map(self._job, self.models)):
                if job.status is S.PARTIAL:
                    self._resolve(job)
                    self._ask(lambda api, job_id=job.id: api.commits.requeue(caller(), job_id, user=User(id="olga")))  # type: ignore[misc] # a default binds it
        for job in map(self._job, self.models):
            assert job.status not in {S.QUEUED, S.RUNNING, S.COMMITTING}, job
            assert job.status is not S.PARTIAL or not self._can_end_well(job), job
        self.no_promise_was_broken_in_a_call()
        self.every_effect_once_and_none_unasked()

    def _can_end_well(self, job: JobRecord) -> bool:
        """Nobody gave it up, and the functions that it was planned with are back."""
        planned = {effect.version for effect in job.plan.body().effects} if job.plan else set()
        given_up = job.error is not None and job.error.code == "commit.discarded"
        return not given_up and planned <= {spec.version for spec in self.older.catalogue().functions}

    def _use(self, host: FunctionRuntime) -> None:
        self.life.host = host
        publish_catalogue(self.life.documents, host.catalogue())

    def _ask(self, act: Callable[[Operations], object]) -> str:
        """The code of the refusal, or nothing."""
        try:
            act(self.life.api)
        except RequestError as error:
            return error.code
        return ""

    def _pick(self, pick: int, *likely: Status) -> JobRecord | None:
        """One of the jobs; most often one for which the step is meant."""
        jobs = [self._job(job_id) for job_id in self.models]
        meant = [job for job in jobs if job.status in likely]
        chosen = meant if meant and pick % 5 else jobs
        return chosen[pick % len(chosen)] if chosen else None

    def _is_expired(self, job: JobRecord) -> bool:
        return job.expires_at_ms is not None and self.life.clock.now_ms() >= job.expires_at_ms

    def _job(self, job_id: str) -> JobRecord:
        found = self.life.store.get(job_id)
        assert found is not None
        return found


PlanLife.TestCase.settings = settings(
    max_examples=70, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
PlanLife.TestCase.pytestmark = [pytest.mark.timeout(300)]  # type: ignore[attr-defined] # pytest reads it
test_plans_people_rules_time_and_crashes_in_any_order_break_no_promise = PlanLife.TestCase

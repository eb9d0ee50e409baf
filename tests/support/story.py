"""A life in hand: what people do in it, and what was to be seen when a process died."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.support.factories import ANA, LEO, submission
from tests.support.life import RECIPE, Life, caller
from tests.support.remote import IDEMPOTENT
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.job import JobFilter
from vardy_worker.contracts.journal import EffectState, JournalEntry
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_api.operations.facade import Operations
    from vardy_worker.contracts.explore import Round
    from vardy_worker.contracts.user import User

S = EffectState
OLGA: Final = LEO.model_copy(update={"id": "olga"})


@dataclass
class Seen:
    """The moment of death."""

    journal: Sequence[JournalEntry] = ()
    rounds: Sequence[Round] = ()
    in_call: frozenset[int] = frozenset()
    """Effects that cannot be repeated and whose call was under way, or may have been."""


@dataclass
class Story:
    """A life in hand, with what people do in it and what was seen."""

    life: Life
    seen: Seen = field(default_factory=Seen)
    resolved: set[int] = field(default_factory=set)
    """Effects that cannot be repeated, and that an operator had to look for."""

    def __post_init__(self) -> None:
        self.life.doom.on_death = self._look
        self.life.remote.watch = self._called

    def _look(self) -> None:
        if not self.life.job_id:
            return
        job = self.life.store.get(self.life.job_id)
        if job is not None:
            effects = job.plan.body().effects if job.plan else ()
            started = {record.seq for record in job.effects if record.state is S.STARTED}
            self.seen = Seen(
                journal=tuple(self.life.store.journal(job.id)),
                rounds=job.rounds,
                in_call=frozenset(e.seq for e in effects if e.seq in started and e.function not in IDEMPOTENT),
            )

    def _called(self, function: str, key: str) -> None:
        """Before a call goes out, that it goes out is stored, with its key and under the newest fence."""
        job = self.life.job
        (record,) = [record for record in job.effects if record.idempotency_key == key]
        assert (record.state, record.fence) == (S.STARTED, job.fence), function

    def submit(self, **fields: object) -> None:
        if "request" not in fields:
            fields["recipe"] = RECIPE
        what = submission(**fields)
        self._send(lambda api: api.submit.run(caller(), what, idempotency_key="once"))

    def explore(self, question: str) -> None:
        what = submission(request=question)
        self._send(lambda api: api.submit.explore(caller(), what, idempotency_key="once"))

    def _send(self, submit: Callable[[Operations], object]) -> None:
        self.life.ask(submit)
        (item,) = self.life.store.list_jobs(JobFilter(), cursor=None, limit=5).items
        self.life.job_id = item.id
        self.life.work()

    def approve(self, *people: User) -> None:
        for person in people:
            self.decide(Choice.APPROVE, person)
        self.life.work()

    def decide(self, choice: Choice, person: User) -> None:
        job = self.life.job
        self.life.ask(
            lambda api: api.decisions.decide(
                caller(), job.id, digest=job.digest, decision=choice, user=person, reason="because"
            )
        )

    def commit_planned(self) -> None:
        job = self.life.job
        self.life.ask(lambda api: api.decisions.commit_planned(caller(), job.id, digest=job.digest, user=ANA))
        self.life.work()

    def cancel(self) -> None:
        self.life.ask(lambda api: api.commits.cancel(caller(), self.life.job_id, user=ANA))

    def requeue(self) -> None:
        self.life.ask(lambda api: api.commits.requeue(caller(), self.life.job_id, user=OLGA))
        self.life.work()

    def discard(self) -> None:
        self.life.ask(lambda api: api.commits.discard(caller(), self.life.job_id, reason="enough", user=OLGA))

    def resolve(self) -> None:
        """An operator looks at the target for what nobody knows, and says what is there."""
        job = self.life.job
        results = {"pay": {"id": 10}, "ring": "rung", "book": 3}
        for record in job.effects:
            if record.state is not S.UNKNOWN:
                continue
            function = job.plan.body().effects[record.seq].function if job.plan else ""
            done = self.life.remote.applied(record.idempotency_key) > 0
            result = results[function] if done else None
            self.life.ask(
                lambda api, seq=record.seq, done=done, result=result: api.commits.resolve(  # type: ignore[misc] # defaults bind them
                    caller(), job.id, seq, done=done, result=result, reason="seen at the target", user=OLGA
                )
            )
            if function not in IDEMPOTENT:
                self.resolved.add(record.seq)

    def finish(self) -> None:
        """What an operator does until everything that was approved is done."""
        while self.life.job.status is not Status.SUCCESS:
            assert self.life.job.status in {Status.PARTIAL, Status.FUNCTION_ERROR}, self.life.job.error
            self.resolve()
            self.requeue()

    def ends(self, status: Status, code: str = "") -> None:
        job = self.life.job
        assert (job.status, job.error.code if job.error else "") == (status, code), job.error

"""A remote system that commits write to, and what tests ask of the commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from vardy_worker import CallContext, Functions, verbs
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.view import job_view
from vardy_worker.ports import Changed

if TYPE_CHECKING:
    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord


@dataclass
class Target:
    """The remote system: remembers calls by key, and fails as a test wants it to."""

    calls: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    failing: dict[str, list[BaseException]] = field(default_factory=dict)
    before_return: object = None

    def called(self, function: str, key: str, **args: object) -> None:
        self.calls.append((function, key, args))
        waiting = self.failing.get(function)
        if waiting:
            raise waiting.pop(0)

    def keys(self, function: str) -> list[str]:
        return [key for name, key, _ in self.calls if name == function]


def target_functions(target: Target) -> Functions:
    """Writes to the target, one of each kind."""
    functions = Functions()

    @functions.write(idempotent=True, retries=2)
    def pay(context: CallContext, amount: int) -> dict[str, int]:
        """Pays, safely repeated."""
        target.called("pay", context.idempotency_key, amount=amount)
        return {"id": amount * 10}

    @functions.write
    def ring(context: CallContext, who: int) -> str:
        """Rings a bell, not safely repeated."""
        target.called("ring", context.idempotency_key, who=who)
        return "rung"

    @functions.write(idempotent=True, key_valid_seconds=60)
    def book(context: CallContext, day: int) -> int:
        """Books, safely repeated within a minute."""
        target.called("book", context.idempotency_key, day=day)
        return day

    return functions


def states(job: JobRecord) -> list[EffectState]:
    return [effect.state for effect in job_view(job).effects]


def code(job: JobRecord) -> str:
    return job.error.code if job.error else ""


def lose_worker(parts: WorkerParts, job: JobRecord) -> None:
    """A worker dies inside its call: the effect is STARTED, and nothing more is heard of it."""
    parts.host.before_calls = _die
    with pytest.raises(SystemExit):
        parts.committer("doomed").commit(job.id)
    parts.host.before_calls = None
    parts.clock.forward(60)


def _die() -> None:
    raise SystemExit


def requeue(parts: WorkerParts, job: JobRecord) -> None:
    change = verbs.requeue(job, catalogue=parts.host.catalogue(), by="olga", now_ms=parts.clock.now_ms())
    assert isinstance(parts.store.change(change), Changed)

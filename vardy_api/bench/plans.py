"""Jobs whose plans every rule allows, ready to be committed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vardy_api.bench.functions import writes
from vardy_worker.contracts.base import sha256_json, sha256_text
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobRecord, Submission
from vardy_worker.contracts.plan import Effect, PlanBody, make_plan
from vardy_worker.contracts.policy import EffectVerdict, PolicyResult, Verdict
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.functions import build_catalogue
from vardy_worker.ports import Change, Changed

if TYPE_CHECKING:
    from vardy_worker.store.redis_jobs import RedisJobStore

ALLOW_ALL = "default: allow\n"


@dataclass(frozen=True, slots=True)
class AllowedPlans:
    """Makes them in one store, for the rules of `ALLOW_ALL` by their digest."""

    store: RedisJobStore
    rules_digest: str

    def one(self, effects: int) -> str:
        """A job in `COMMITTING` with calls of a function that does nothing."""
        now_ms = time.time_ns() // 1_000_000
        user = User(id="bench")
        job = JobRecord(
            id=new_job_id(), owner="bench", submission=Submission(request="note", user=user), created_at_ms=now_ms
        )
        version = build_catalogue(writes).functions[0].version
        plan = make_plan(
            PlanBody(
                job_id=job.id,
                revision=1,
                program_sha256=sha256_text(""),
                params_sha256=sha256_json({}),
                rules_digest=self.rules_digest,
                requester=user.id,
                effects=tuple(
                    Effect(
                        seq=seq,
                        function="note",
                        version=version,
                        args={"number": seq, "cents": 1, "text": f"row {seq}"},
                    )
                    for seq in range(effects)
                ),
            )
        )
        verdicts = tuple(EffectVerdict(seq=seq, verdict=Verdict.ALLOW, message="") for seq in range(effects))
        policy = PolicyResult(verdict=Verdict.ALLOW, rules_digest=self.rules_digest, effects=verdicts)
        self.store.submit(job, None, due_at_ms=now_ms + 60_000)
        fields = {"plan": plan, "policy": policy, "revision": 1}
        self._move(job.id, Status.QUEUED, Status.RUNNING, {})
        self._move(job.id, Status.RUNNING, Status.COMMITTING, fields)
        return job.id

    def _move(self, job_id: str, before: Status, after: Status, fields: dict[str, Any]) -> None:
        changed = self.store.change(Change(job_id, frozenset({before}), after, set=fields, release=True))
        if not isinstance(changed, Changed):
            raise RuntimeError(f"the job could not be prepared: {changed}")  # noqa: TRY004 - no type is at fault

"""Submitting a job: checked as far as possible, stored durably, then published."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vardy_api.shapes import ROUNDS_LIMIT
from vardy_worker.contracts.audit import Action, AuditNote
from vardy_worker.contracts.base import sha256_json
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.functions import Catalogue, FunctionKind
from vardy_worker.contracts.ids import new_job_id
from vardy_worker.contracts.job import JobKind, JobRecord, Submission
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.quota import QuotaExceeded, RateExceeded
from vardy_worker.contracts.status import Stage
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import read_recipe
from vardy_worker.logs import get_logger
from vardy_worker.ports import IdempotencyClaim, KeyReused, Replayed, Submitted
from vardy_worker.verbs.shared import PUBLISH_GRACE_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_api.operations.changes import Changes
    from vardy_api.operations.jobs import JobOperations
    from vardy_api.operations.quotas import QuotaOperations
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.contracts.user import User
    from vardy_worker.ports import Clock, Documents, JobStore

PROBLEMS_MAX = 50
"""Functions or limits that do not exist named in one answer: with each go the names of those that do."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The job that a submission led to. `replayed`: an earlier submission with the same key made it."""

    job: JobRecord
    replayed: bool


class SubmitOperations:
    """The use case of submitting."""

    def __init__(
        self,
        store: JobStore,
        documents: Documents,
        clock: Clock,
        *,
        catalogue: CatalogueReader,
        jobs: JobOperations,
        changes: Changes,
        quotas: QuotaOperations,
        limits: Limits,
    ) -> None:
        self._store = store
        self._documents = documents
        self._clock = clock
        self._catalogue = catalogue
        self._jobs = jobs
        self._changes = changes
        self._quotas = quotas
        self._limits = limits
        self._in_flight = InFlight()

    def run(self, caller: Caller, submission: Submission, *, idempotency_key: str | None = None) -> Accepted:
        """Stores and publishes a `run` job.

        Raises `RequestError`: `auth.scope`, `request.invalid`, `recipe.not_found`,
        `idempotency.mismatch`, `idempotency.in_flight`, `rate.limited`, `quota.exceeded`.
        """
        return self._accept(caller, JobKind.RUN, submission, idempotency_key)

    def explore(self, caller: Caller, submission: Submission, *, idempotency_key: str | None = None) -> Accepted:
        """Stores and publishes an `explore` job; the question is the submission's `request`.

        Raises as `run` does. `functions` that name a write are `request.invalid`.
        """
        return self._accept(caller, JobKind.EXPLORE, submission, idempotency_key)

    def _accept(self, caller: Caller, kind: JobKind, submission: Submission, idempotency_key: str | None) -> Accepted:
        caller.need(Scope.SUBMIT)
        if idempotency_key is None:
            return self._submit(caller, kind, submission, None)
        claim = IdempotencyClaim(
            scope=caller.key.owner,
            key=idempotency_key,
            body_sha256=sha256_json([kind.value, submission.model_dump(mode="json")]),
        )
        with self._in_flight.hold(claim):
            return self._submit(caller, kind, submission, claim)

    def _submit(
        self, caller: Caller, kind: JobKind, submission: Submission, claim: IdempotencyClaim | None
    ) -> Accepted:
        try:
            recipe = self._checked(caller, kind, submission)
        except RequestError:
            # What was true when the key was first used may have changed since.
            earlier = self._store.submitted_under(claim) if claim else None
            if earlier is None:
                raise
            return self._again(caller, earlier)
        now_ms, quotas = self._clock.now_ms(), self._quotas.of(caller)
        record = JobRecord(
            id=new_job_id(),
            kind=kind,
            owner=caller.key.owner,
            key_id=caller.key.id,
            quotas=quotas.without_rates(),
            submission=submission,
            recipe=recipe,
            # What the worker will begin with; shown once it runs.
            stage=Stage.EXECUTE if recipe else Stage.GENERATE,
            created_at_ms=now_ms,
        )
        noted = AuditNote(
            action=Action.JOB_SUBMITTED,
            at_ms=now_ms,
            by=submission.user.id,
            origin=caller.origin,
            details=_what(record),
        )
        stored = self._store.submit(
            record,
            claim,
            due_at_ms=now_ms + PUBLISH_GRACE_MS,
            per_minute=quotas.user.requests_per_minute,
            audit=[noted],
        )
        if isinstance(stored, QuotaExceeded | RateExceeded):
            raise self._quotas.refusal(caller, stored)
        if not isinstance(stored, Submitted):
            return self._again(caller, stored)
        self._changes.publish("run", record.id)
        log.info("job.submitted", job_id=record.id, key_id=caller.key.id)
        return Accepted(record, replayed=False)

    def _again(self, caller: Caller, earlier: Replayed | KeyReused) -> Accepted:
        if isinstance(earlier, KeyReused):
            raise RequestError(
                "The Idempotency-Key was used with another body; use a new key for a new job.",
                code="idempotency.mismatch",
                details={"job": earlier.job_id},
            )
        return Accepted(self._jobs.read(caller, earlier.job_id), replayed=True)

    def _checked(self, caller: Caller, kind: JobKind, submission: Submission) -> Recipe | None:
        """The recipe of a submission that may be stored."""
        recipe = self._recipe(submission)
        if submission.judge or (recipe is not None and recipe.judge):
            # The judge sends texts of the company's to a model, which not every key may have done.
            caller.need(Scope.JUDGE)
        check_limits(kind, submission, self._limits)
        if submission.functions is not None:
            reads_only = kind is JobKind.EXPLORE
            catalogue = self._catalogue.current()
            check_functions(submission.functions, submission.user, catalogue, reads_only=reads_only)
        return recipe

    def _recipe(self, submission: Submission) -> Recipe | None:
        if submission.recipe is None:
            return None
        recipe = read_recipe(self._documents, submission.recipe)
        if recipe is None:
            raise RequestError(
                f"There is no recipe {submission.recipe!r}.",
                code="recipe.not_found",
                details={"recipe": submission.recipe},
            )
        return recipe


def _what(job: JobRecord) -> JsonObject:
    """What the audit trail says of a submission."""
    recipe = {"recipe": job.recipe.name, "recipe_version": job.recipe.version} if job.recipe else {}
    judge = {"judge": True} if job.has_judge else {}
    return {"kind": job.kind.value, "mode": job.submission.mode.value, "owner": job.owner, **recipe, **judge}


class InFlight:
    """The idempotency keys of the requests that this process is storing right now.

    Between processes the store's one-step submission decides: the later request replays.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[tuple[str, str]] = set()

    @contextmanager
    def hold(self, claim: IdempotencyClaim) -> Iterator[None]:
        """Raises `idempotency.in_flight` while another request holds the same key."""
        name = (claim.scope, claim.key)
        with self._lock:
            if name in self._held:
                raise RequestError(
                    "A request with this Idempotency-Key is under way; send it again shortly.",
                    code="idempotency.in_flight",
                )
            self._held.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(name)


def invalid(problems: list[JsonObject]) -> RequestError:
    """A request with these problems (`at`, a JSON Pointer into the body, and `message`)."""
    return RequestError(str(problems[0]["message"]), details={"problems": problems})


def check_limits(kind: JobKind, submission: Submission, limits: Limits) -> None:
    """Raises for a limit that does not exist, does not fit its type, or would raise the deployment's."""
    problems: list[JsonObject] = []
    for name, value in submission.limits.items():
        if len(problems) == PROBLEMS_MAX:
            break
        is_field = kind is JobKind.EXPLORE and name == ROUNDS_LIMIT
        at = "/rounds_max" if is_field else f"/limits/{name[:60]}"
        if name not in Limits.model_fields:
            known = ", ".join(Limits.model_fields)
            problems.append({"at": at, "message": f"There is no limit {name[:60]!r}; there are: {known}."})
            continue
        highest = getattr(limits, name)
        if value > highest:
            message = f"The limit {name} may be lowered from {highest:g}, not raised to {value:g}."
            problems.append({"at": at, "message": message})
            continue
        try:
            Limits.model_validate({name: value})
        except ValidationError as error:
            problems.append({"at": at, "message": f"The limit {name} is wrong: {error.errors()[0]['msg']}."})
    if problems:
        raise invalid(problems)


def check_functions(
    functions: Sequence[str], user: User | None, catalogue: Catalogue, *, reads_only: bool = False
) -> None:
    """Raises for a function that the person does not have; without a person, for one that nobody has.

    `reads_only`: also for one that writes. Before any worker started, nothing is known.
    """
    if not catalogue.functions:
        return
    visible = (catalogue if user is None else catalogue.for_user(user.roles)).functions
    writes = {spec.name for spec in visible if reads_only and spec.kind is FunctionKind.WRITE}
    names = [spec.name for spec in visible if spec.name not in writes]
    callable_names = frozenset(names)
    whose = "" if user is None else f" for {user.id}"
    problems: list[JsonObject] = []
    for index, name in enumerate(functions):
        if len(problems) == PROBLEMS_MAX:
            break
        if name not in callable_names:
            close = get_close_matches(name, names, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            message = f"There is no function {name[:100]!r}{whose}.{hint}"
            if name in writes:
                message = f"The function {name} writes, and an explore only reads: name reads, or submit a run."
            problems.append({"at": f"/functions/{index}", "message": message, "functions": names})
    if problems:
        raise invalid(problems)

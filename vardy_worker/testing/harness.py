"""Whole jobs in a test: the real worker in memory, with a scripted program in place of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pydantic import ValidationError

from vardy_worker import verbs
from vardy_worker.active_rules import evaluate_plan
from vardy_worker.contracts.decision import Choice, DecisionMessage
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.errors import RequestError, RulesError, SettingsError
from vardy_worker.contracts.job import JobKind, Submission
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import JobView, JournalEntryView, job_view, journal_entry_view, milliseconds
from vardy_worker.documents import BUILT_IN_RULES, read_recipe
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.json_schemas import result_problem
from vardy_worker.programs.recipes import RecipeDraft
from vardy_worker.prompts.first import first_prompt
from vardy_worker.testing import recipes
from vardy_worker.testing.clock import MovableClock
from vardy_worker.testing.parts import Parts, make_settings
from vardy_worker.testing.scripts import LazySandbox, ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.policy import PolicyResult, RuleWarning
    from vardy_worker.contracts.recipe import Recipe
    from vardy_worker.functions.registry import Functions
    from vardy_worker.ports import Change
    from vardy_worker.testing.scripted_judge import ScriptedJudge

Text: TypeAlias = str | Path
"""A text, or the path of a file that holds it."""
Person: TypeAlias = User | str | Mapping[str, Any]
"""A user: an id alone, or with roles and attributes, as `{"id": "ana", "roles": ["support"]}`."""

LEASE_SECONDS = 3600.0
"""Nobody takes a job from this worker, however long a debugger holds it."""
THREADS = 8


class Harness:
    """A company's functions, rules and recipes in a worker in memory. Use it as a context manager.

    Everything but the model is real: extraction, checks, the sandbox (its first program takes
    a second or two), the plan, the rules, approvals, the commit with its journal. Each call
    returns when the job has settled. `on_start` hooks run when the block begins, `on_stop`
    hooks when it ends.

    Args:
        functions: the company's functions.
        rules: the text of a rules file, or its path. Without any, every write needs an approval.
        user: who asks, unless a call says otherwise.
        now: the time it begins; it moves by `forward` and by retries alone. Without it, the present.
        limits: limits of jobs by name, such as `{"effects_max": 10}`.
        judge: what stands for the judge's model, for programs that call `classify` or `ai`.
        settings: settings by name, such as `four_eyes=False`. The environment is not read.

    Raises `SettingsError` for rules or settings that are wrong; for rules, with file and line.
    """

    def __init__(
        self,
        functions: Functions,
        *,
        rules: Text = BUILT_IN_RULES,
        user: Person = "requester",
        now: datetime | None = None,
        limits: Mapping[str, float] | None = None,
        judge: ScriptedJudge | None = None,
        **settings: Any,
    ) -> None:
        leases = {"execute_lease_seconds": LEASE_SECONDS, "generate_lease_seconds": LEASE_SECONDS}
        made = make_settings({**leases, **settings}, limits or {})
        host = FunctionRuntime(functions, threads=THREADS)
        clock = MovableClock(None if now is None else milliseconds(now))
        self._parts = Parts(host, clock=clock, settings=made)
        self._parts.judge = self._judge = judge
        self._sandbox = LazySandbox(guest_memory_mib_max=made.limits.guest_memory_mib_max)
        self._user = _person(user)
        self._is_open = False
        self.apply_rules(rules)

    def __enter__(self) -> Self:
        self._parts.host.start()
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._sandbox.close()
        self._parts.close()
        self._parts.host.stop()

    # --- jobs -------------------------------------------------------------------------------

    def run(
        self,
        program: Text | Sequence[Text] | None = None,
        *,
        recipe: str | None = None,
        params: JsonObject | None = None,
        user: Person | None = None,
        mode: str = "execute",
        functions: Sequence[str] | None = None,
        execution_repairs: int = 0,
        judge: bool = False,
        limits: Mapping[str, float] | None = None,
    ) -> JobView:
        """Runs one job until it settles.

        Args:
            program: what the model answers: the source alone, or with prose and fences around
                it. Several are its answers in order, for repairs; the last is repeated.
            recipe: the name of a saved recipe, in place of a program.
            params: what the program gets.
            user: who asks.
            mode: `execute`, or `plan`: the plan is made, nothing is executed.
            functions: narrows the functions further.
            execution_repairs: how often a program that failed is repaired.
            judge: whether the program has `classify` and `ai`; a recipe says so itself.
            limits: lower limits for this job, by name.

        Raises `RequestError`, as the API does, for what is wrong before there is a job:
        `request.invalid`, `recipe.not_found`.
        """
        if (program is None) == (recipe is None):
            raise RequestError("Give exactly one of program and recipe.")
        given = {"request": "Scripted."} if recipe is None else {"recipe": recipe}
        submission = _submission(
            **given,
            params=params or {},
            user=self._user if user is None else _person(user),
            mode=mode,
            functions=None if functions is None else tuple(functions),
            execution_repairs=execution_repairs,
            judge=judge,
            limits=dict(limits or {}),
        )
        return self._work(submission, program or (), recipe=None if recipe is None else self._recipe(recipe))

    def explore(
        self,
        question: str,
        answers: Text | Sequence[Text],
        *,
        params: JsonObject | None = None,
        user: Person | None = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
        rounds_max: int | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> JobView:
        """Asks a question, and goes through the rounds until the job settles.

        Args:
            question: what is asked; only `prompt` and the job show it.
            answers: what the model answers in order: a program for each round, then a text
                without one, which becomes the job's `answer`. The last is repeated.
            params: what the programs get.
            user: who asks.
            functions: narrows the reads further.
            judge: whether the programs have `classify` and `ai`.
            rounds_max: how many programs there may be.
            limits: lower limits for this job, by name.

        Raises `RequestError` `request.invalid` for what is wrong before there is a job.
        """
        rounds = {} if rounds_max is None else {"explore_rounds_max": rounds_max}
        submission = _submission(
            request=question,
            params=params or {},
            user=self._user if user is None else _person(user),
            functions=None if functions is None else tuple(functions),
            judge=judge,
            limits={**(limits or {}), **rounds},
        )
        return self._work(submission, answers, kind=JobKind.EXPLORE)

    def job(self, job: JobView | str) -> JobView:
        """The job as it is now."""
        return job_view(self._parts.job(_id(job)))

    def journal(self, job: JobView | str) -> tuple[JournalEntryView, ...]:
        """The journal of the job's commit, oldest entry first."""
        return tuple(map(journal_entry_view, self._parts.store.journal(_id(job))))

    def console(self, job: JobView | str) -> tuple[str, ...]:
        """What the program printed."""
        console = self._parts.store.console(_id(job))
        return () if console is None else tuple(line.text for line in console.lines)

    # --- people -----------------------------------------------------------------------------

    def approve(self, job: JobView, *, user: Person, reason: str = "") -> JobView:
        """Approves exactly the plan of this view; with the last approval that is needed, it is committed.

        Raises `RequestError` as the API does: `approval.requester`, `approval.role`,
        `approval.expired`, `digest.mismatch`, `job.conflict`.
        """
        return self._decide(job, Choice.APPROVE, user, reason)

    def deny(self, job: JobView, *, user: Person, reason: str) -> JobView:
        """Denies the plan of this view. Raises as `approve` does, and `approval.reason`."""
        return self._decide(job, Choice.DENY, user, reason)

    def commit(self, job: JobView, *, user: Person | None = None) -> JobView:
        """Commits a `PLANNED` job under the rules that are active now.

        Raises `RequestError`: `job.conflict`, `digest.mismatch`, `approval.expired`.
        """
        by = self._user if user is None else _person(user)

        def evaluate(record: JobRecord) -> PolicyResult:
            catalogue = self._parts.host.catalogue()
            return evaluate_plan(
                record,
                rules=self._parts.rules,
                store=self._parts.store,
                catalogue=catalogue,
                four_eyes=self._parts.settings.four_eyes,
            )

        def verb(record: JobRecord, now_ms: int) -> Change:
            return verbs.commit_planned(
                record,
                digest=_digest(job),
                evaluate=evaluate,
                now_ms=now_ms,
                approval_ttl_seconds=self._parts.settings.approval_ttl_seconds,
                by=by.id,
            )

        return self._apply(job, verb)

    def cancel(self, job: JobView | str, *, user: Person | None = None) -> JobView:
        """Cancels the job; from inside a function, its commit stops before the next effect.

        Raises `RequestError` `job.conflict`.
        """
        by = (self._user if user is None else _person(user)).id

        def verb(record: JobRecord, now_ms: int) -> Change | None:
            change = verbs.cancel(record, by=by, now_ms=now_ms)
            if change is None:
                self._parts.store.request_cancel(record.id, by=by)
            return change

        return self._apply(job, verb)

    # --- operators --------------------------------------------------------------------------

    def requeue(self, job: JobView | str, *, user: Person = "operator") -> JobView:
        """Starts the commit again at the first effect that is not done.

        Raises `RequestError`: `job.conflict`, `approval.expired`, `commit.unresolved`.
        """
        catalogue, by = self._parts.host.catalogue(), _person(user).id
        return self._apply(job, lambda record, now: verbs.requeue(record, catalogue=catalogue, by=by, now_ms=now))

    def resolve(
        self,
        job: JobView | str,
        effect: int,
        *,
        done: bool,
        result: JsonValue = None,
        reason: str = "Looked it up.",
        user: Person = "operator",
    ) -> JobView:
        """Settles an effect of unknown outcome by the operator's word.

        Raises `RequestError`: `job.conflict`, `effect.not_found`, `effect.not_unknown`, `effect.result`.
        """
        by = _person(user).id

        def verb(record: JobRecord, now_ms: int) -> Change:
            return verbs.resolve(
                record,
                effect,
                done=done,
                result=result,
                reason=reason,
                by=by,
                now_ms=now_ms,
                check_result=self._check_result,
            )

        return self._apply(job, verb)

    def discard(self, job: JobView | str, *, reason: str, user: Person = "operator") -> JobView:
        """Gives up the rest of a `PARTIAL` job. Raises `RequestError`: `job.conflict`, `approval.reason`."""
        by = _person(user).id
        return self._apply(job, lambda record, now: verbs.discard(record, by=by, reason=reason, now_ms=now))

    # --- what surrounds the jobs ------------------------------------------------------------

    def forward(self, seconds: float) -> None:
        """Lets time pass, with all that happens by itself then, such as the expiry of parked plans."""
        self._parts.forward(seconds)
        self._parts.deliver()

    def apply_rules(self, rules: Text) -> None:
        """Makes these the active rules, also for plans that wait. Raises `SettingsError` with file and line."""
        where = f"{rules}" if isinstance(rules, Path) else "The rules"
        try:
            self._parts.apply_rules(_read(rules))
        except RulesError as error:
            message = f"{where}{' is' if isinstance(rules, Path) else ' are'} not valid: {error.message}"
            if isinstance(rules, str) and rules.endswith((".yaml", ".yml")):
                message += f'. To read the file, give Path("{rules}").'
            elif len(problems := error.details.get("problems", ())) > 1:
                message += "".join(f"\n  line {each['line']}: {each['message']}" for each in problems)
            raise SettingsError(message, details=error.details) from error

    def rule_warnings(self) -> tuple[RuleWarning, ...]:
        """What is certain about active rules that hold but do nothing."""
        return self._parts.engine.warnings(self._parts.rules.current(), self._parts.host.catalogue())

    def save_recipe(
        self,
        name: str,
        source: Text,
        *,
        params_schema: JsonObject | Path | None = None,
        description: str = "",
        judge: bool = False,
        envelope: Envelope | JsonObject | None = None,
        reviewed_by: str = "reviewer",
    ) -> Recipe:
        """Saves a recipe, as `vardy recipes save` does. Raises `RequestError` `recipe.invalid` with every finding."""
        schema = json.loads(_read(params_schema)) if isinstance(params_schema, Path) else params_schema
        draft = RecipeDraft(
            name=name,
            source=_read(source),
            description=description,
            params_schema={"type": "object"} if schema is None else schema,
            judge=judge,
            envelope=_envelope(envelope),
        )
        return recipes.save(self._parts, draft, reviewed_by)

    def load_recipe(self, path: Path | str) -> Recipe:
        """Saves the recipe of a `.recipe.js` file, as `vardy recipes import` does.

        Raises `RequestError` `recipe.invalid` with every finding at its line of the file.
        """
        return recipes.load(self._parts, Path(path), _read(Path(path)))

    def prompt(
        self,
        request: str,
        *,
        kind: str = "run",
        params: JsonObject | None = None,
        user: Person | None = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
    ) -> str:
        """What the model would be shown first, as `vardy prompts show` prints it. Nothing is sent.

        With the `kind` `explore`, for a question.
        """
        messages = first_prompt(
            JobKind(kind),
            catalogue=self._parts.host.catalogue(),
            user=self._user if user is None else _person(user),
            functions=None if functions is None else tuple(functions),
            request=request,
            params=params or {},
            limits=self._parts.settings.limits,
            judge=judge,
        )
        return "\n\n".join(message.content for message in messages)

    # --- inside -----------------------------------------------------------------------------

    def _work(
        self,
        submission: Submission,
        answers: Text | Sequence[Text],
        *,
        kind: JobKind = JobKind.RUN,
        recipe: Recipe | None = None,
    ) -> JobView:
        """One job, with these answers of the model, until it settles."""
        if not self._is_open:
            msg = "Use the Harness in a with block, which starts the functions' hooks and ends its processes."
            raise RuntimeError(msg)
        job_id = self._parts.new_job(submission, recipe, kind=kind)
        texts = [answers] if isinstance(answers, str | Path) else list(answers) or [""]
        self._parts.deliver(ScriptedModel([_read(text) for text in texts]), self._sandbox)
        if self._sandbox.failure is not None:
            raise self._sandbox.failure
        if self._judge is not None and self._judge.failure is not None:
            failure, self._judge.failure = self._judge.failure, None
            raise failure
        return self._settled(job_id)

    def _decide(self, job: JobView, choice: Choice, user: Person, reason: str) -> JobView:
        message = DecisionMessage(
            job_id=job.id, digest=_digest(job), decision=choice, user=_person(user), reason=reason, via="test"
        )
        four_eyes = self._parts.settings.four_eyes
        return self._apply(
            job, lambda record, now: verbs.decide(record, message=message, now_ms=now, four_eyes=four_eyes)
        )

    def _apply(self, job: JobView | str, verb: Callable[[JobRecord, int], Change | None]) -> JobView:
        change = verb(self._parts.job(_id(job)), self._parts.clock.now_ms())
        if change is not None:
            self._parts.change(change)
        return self._settled(_id(job))

    def _settled(self, job_id: str) -> JobView:
        self._parts.settle(job_id)
        return job_view(self._parts.job(job_id))

    def _recipe(self, name: str) -> Recipe:
        recipe = read_recipe(self._parts.documents, name)
        if recipe is None:
            raise RequestError(f"There is no recipe {name!r}.", code="recipe.not_found", details={"recipe": name})
        return recipe

    def _check_result(self, function: str, result: JsonValue) -> str | None:
        spec = self._parts.host.catalogue().get(function)
        return f"There is no function {function}." if spec is None else result_problem(spec, result)


def _id(job: JobView | str) -> str:
    return job if isinstance(job, str) else job.id


def _digest(job: JobView) -> str:
    return "" if job.plan is None else job.plan.digest


def _read(text: Text) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise SettingsError(f"{text} cannot be read: {reason}.", details={"file": str(text)}) from error


def _person(person: Person) -> User:
    if isinstance(person, User):
        return person
    try:
        return User.model_validate({"id": person} if isinstance(person, str) else person)
    except ValidationError as error:
        raise _invalid(error) from error


def _envelope(envelope: Envelope | JsonObject | None) -> Envelope | None:
    try:
        return None if envelope is None else Envelope.model_validate(envelope)
    except ValidationError as error:
        raise _invalid(error) from error


def _submission(**fields: Any) -> Submission:
    try:
        return Submission.model_validate(fields)
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> RequestError:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return RequestError(f"{place}: {first['msg']}", details={"at": place})

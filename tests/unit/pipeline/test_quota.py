"""A day's ceiling of tokens or money: what a worker asks no model for, and what of a job is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from tests.support.factories import ANA, NOW_MS, submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced, threw
from tests.support.judge import JudgingModel, make_judge, sorts
from tests.support.runs import ANSWER, QUESTION, READS, explore, outcome, run
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.execution import CallFailure
from vardy_worker.contracts.job import JobKind, Usage
from vardy_worker.contracts.model import ModelReply, ModelRequest
from vardy_worker.contracts.quota import DAY_SECONDS, Quota, QuotaOf, Quotas, Used
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed
from vardy_worker.verbs import cancel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.worker import WorkerParts
    from vardy_worker.contracts.job import JobRecord

KEY = "key_1"
CALL_TOKENS = 110
"""What each call of the model takes here, and half a dollar."""
PROGRAM = fenced(READS)
JUDGING = "async function run(params) {\n  return await classify(params.texts, ['good', 'bad']);\n}"


def quotas(of: QuotaOf = QuotaOf.USER, **fields: Any) -> Quotas:
    return Quotas(**{of.value: Quota(**fields)})


def job_under(parts: WorkerParts, held: Quotas, kind: JobKind = JobKind.RUN, **fields: Any) -> JobRecord:
    given = {"request": QUESTION, **fields}
    return parts.submit(submission(**given), kind=kind, key_id=KEY, quotas=held)


def spend(parts: WorkerParts, tokens: int, cost_usd: float = 0) -> None:
    """Another job of the same key and person takes so much of the day."""
    other = job_under(parts, Quotas())
    taken = Usage(prompt_tokens=tokens, cost_usd=cost_usd)
    change = Change(other.id, frozenset({Status.QUEUED}), Status.CANCELLED, set={"usage": taken})
    assert isinstance(parts.store.change(change), Changed)


def used(parts: WorkerParts) -> Used:
    """What both the key and the person use, which is the same here."""
    key, user = parts.store.used(QuotaOf.KEY, KEY), parts.store.used(QuotaOf.USER, ANA.id)
    assert key == user
    return key


def count(guest: Guest) -> object:
    return guest.value("count_orders", city="Porto")


@pytest.mark.parametrize("of", QuotaOf)
@pytest.mark.parametrize(
    ("limit", "maximum", "words"),
    [("tokens_per_day", 1_000, "1,000 tokens"), ("cost_usd_per_day", 2.5, "2.5 US dollars")],
)
def test_once_a_days_ceiling_is_reached_no_model_is_asked(
    parts: WorkerParts, of: QuotaOf, limit: str, maximum: float, words: str
) -> None:
    job = job_under(parts, quotas(of, **{limit: maximum}))
    spend(parts, 1_000, 2.5)
    model = AnsweringModel(PROGRAM)
    ended = run(parts, model=model, job=job)
    assert outcome(ended) == (Status.GENERATION_ERROR, "generation.quota")
    assert model.requests == []
    assert ended.error is not None
    left = DAY_SECONDS - NOW_MS // 1000 % DAY_SECONDS
    assert ended.error.details == {
        "of": of.value,
        "limit": limit,
        "maximum": maximum,
        "used": maximum,
        "retry_after_seconds": left,
    }
    whose = "key" if of is QuotaOf.KEY else "person"
    assert f"The {whose} may spend {words} of model calls a day" in ended.error.message
    assert "the next day begins at 00:00 UTC, in 1 h 47 min" in ended.error.message


def test_below_the_ceiling_the_model_is_asked_and_may_end_above_it(parts: WorkerParts) -> None:
    held = quotas(tokens_per_day=1_000)
    spend(parts, 999)
    assert outcome(run(parts, count, job=job_under(parts, held))) == (Status.SUCCESS, "")
    assert used(parts).tokens == 999 + CALL_TOKENS


def test_the_next_day_the_model_is_asked_again(parts: WorkerParts) -> None:
    today, tomorrow = (job_under(parts, quotas(tokens_per_day=100)) for _ in range(2))
    spend(parts, 100)
    assert run(parts, job=today).status is Status.GENERATION_ERROR
    parts.clock.forward(DAY_SECONDS)
    assert run(parts, count, job=tomorrow).status is Status.SUCCESS


def test_a_recipe_that_asks_no_model_runs_whatever_was_spent(parts: WorkerParts) -> None:
    spec = parts.host.catalogue().get("count_orders")
    assert spec is not None
    recipe = Recipe(name="porto", source=READS, functions={"count_orders": spec.version})
    spend(parts, 1_000)
    given = submission(request=None, recipe="porto")
    job = parts.submit(given, recipe=recipe, key_id=KEY, quotas=quotas(tokens_per_day=1))
    assert outcome(run(parts, count, job=job)) == (Status.SUCCESS, "")


def test_a_ceiling_that_is_reached_by_an_answer_that_did_not_do_ends_the_repair(parts: WorkerParts) -> None:
    job = job_under(parts, quotas(tokens_per_day=CALL_TOKENS))
    model = AnsweringModel("no program", PROGRAM)
    ended = run(parts, model=model, job=job)
    assert outcome(ended) == (Status.GENERATION_ERROR, "generation.quota")
    assert (len(model.requests), len(ended.attempts)) == (1, 1)
    assert used(parts).tokens == CALL_TOKENS


def test_an_explore_that_reaches_the_ceiling_keeps_its_rounds(parts: WorkerParts) -> None:
    job = job_under(parts, quotas(tokens_per_day=2 * CALL_TOKENS), JobKind.EXPLORE)
    model = AnsweringModel(PROGRAM, PROGRAM, ANSWER)
    ended = explore(parts, count, count, model=model, job=job)
    assert outcome(ended) == (Status.GENERATION_ERROR, "generation.quota")
    assert [each.summary for each in ended.rounds] == [3, 3]
    assert (len(model.requests), used(parts).tokens) == (2, 2 * CALL_TOKENS)


# --- the judge ------------------------------------------------------------------------------


def judging(parts: WorkerParts) -> JudgingModel:
    model = JudgingModel(sorts(lambda _: "good"))
    parts.judge = make_judge(model)
    return model


def classify(guest: Guest, *texts: str) -> object:
    return guest.value("classify", texts=list(texts), labels=["good", "bad"])


def test_the_judge_is_not_asked_beyond_the_ceiling_and_the_program_may_go_on(parts: WorkerParts) -> None:
    model = judging(parts)
    job = job_under(parts, quotas(QuotaOf.KEY, tokens_per_day=CALL_TOKENS), judge=True)
    seen: list[object] = []

    def play(guest: Guest) -> object:
        [reply] = guest.batch(("classify", {"texts": ["a"], "labels": ["good", "bad"]}, ()))
        seen.append(reply)
        return "went on"

    ended = run(parts, play, model=AnsweringModel(fenced(JUDGING)), job=job)
    assert (ended.status, ended.output, model.waves) == (Status.SUCCESS, "went on", [])
    [reply] = seen
    assert isinstance(reply, CallFailure)
    assert reply.code == "execution.judge_budget"
    assert f"The key may spend {CALL_TOKENS} tokens of model calls a day" in reply.message


def test_a_program_that_does_not_catch_it_ends_with_the_ceiling_named(parts: WorkerParts) -> None:
    judging(parts)
    job = job_under(parts, quotas(tokens_per_day=CALL_TOKENS), judge=True)
    ended = run(
        parts,
        lambda guest: guest.call("classify", texts=["a"], labels=["good", "bad"]) and threw(0),
        model=AnsweringModel(fenced(JUDGING)),
        job=job,
    )
    assert outcome(ended) == (Status.EXECUTION_ERROR, "execution.judge_budget")


def test_between_two_questions_to_the_judge_it_is_looked_again(parts: WorkerParts) -> None:
    model = judging(parts)
    job = job_under(parts, quotas(tokens_per_day=CALL_TOKENS + 1), judge=True)

    def play(guest: Guest) -> object:
        first = classify(guest, "a")
        [second] = guest.batch(("classify", {"texts": ["b"], "labels": ["good", "bad"]}, ()))
        return [first is not None, isinstance(second, CallFailure)]

    ended = run(parts, play, model=AnsweringModel(fenced(JUDGING)), job=job)
    assert (ended.output, len(model.waves)) == ([True, True], 1)
    assert used(parts).tokens == ended.usage.spent.tokens > CALL_TOKENS


def test_what_the_judge_answered_before_costs_nothing_and_comes_whatever_was_spent(parts: WorkerParts) -> None:
    model = judging(parts)
    held = quotas(tokens_per_day=10_000)
    run(
        parts,
        lambda guest: classify(guest, "a"),
        model=AnsweringModel(fenced(JUDGING)),
        job=job_under(parts, held, judge=True),
    )

    def play(guest: Guest) -> object:
        spend(parts, 10_000)
        return classify(guest, "a")

    ended = run(parts, play, model=AnsweringModel(fenced(JUDGING)), job=job_under(parts, held, judge=True))
    assert (ended.status, len(model.waves)) == (Status.SUCCESS, 1)


# --- looks ----------------------------------------------------------------------------------


class Looks:
    """A store that counts how often it is asked for ceilings."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        self.count += name == "exceeded"
        return getattr(self._store, name)


def test_each_call_of_the_model_and_each_tick_of_the_judge_is_one_look(parts: WorkerParts) -> None:
    judging(parts)
    looks = Looks(parts.store)
    parts.store = looks
    job = job_under(parts, quotas(tokens_per_day=10_000), judge=True)
    run(
        parts,
        lambda guest: classify(guest, "a") and classify(guest, "b"),
        model=AnsweringModel("no", fenced(JUDGING)),
        job=job,
    )
    assert looks.count == 4


# --- what is counted ------------------------------------------------------------------------


def test_all_that_a_job_took_is_counted_also_where_it_failed(parts: WorkerParts) -> None:
    ended = run(parts, model=AnsweringModel("no", "no"), job=job_under(parts, Quotas()))
    assert ended.status is Status.GENERATION_ERROR
    assert used(parts) == Used(tokens=2 * CALL_TOKENS, cost_usd=1.0)


def cancel_now(parts: WorkerParts, job: JobRecord) -> None:
    change = cancel(parts.job(job.id), by="ana", now_ms=parts.clock.now_ms())
    assert change is not None
    parts.store.change(change)


class Meanwhile(AnsweringModel):
    """A model during whose answer something happens."""

    def __init__(self, happens: Callable[[], object], *answers: str) -> None:
        super().__init__(*answers)
        self._happens = happens

    def complete(self, request: ModelRequest) -> ModelReply:
        self._happens()
        return super().complete(request)


@pytest.mark.parametrize("kind", JobKind)
def test_what_a_call_took_during_which_its_job_was_cancelled_is_counted_once_it_ends(
    parts: WorkerParts, kind: JobKind
) -> None:
    job = job_under(parts, Quotas(), kind)

    parts.runner(Meanwhile(lambda: cancel_now(parts, job), PROGRAM), PlayedSandbox()).run(job.id)
    ended = parts.job(job.id)
    assert outcome(ended) == (Status.CANCELLED, "job.cancelled")
    assert (ended.usage.spent.tokens, used(parts)) == (CALL_TOKENS, Used(tokens=CALL_TOKENS, cost_usd=0.5))


class Refusing:
    """A store that cannot be reached for changes of jobs that were cancelled."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def change(self, change: Change) -> Any:
        if change.expect_status == {Status.CANCELLED}:
            msg = "Redis cannot be reached."
            raise StoreUnavailable(msg)
        return self._store.change(change)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_what_cannot_be_counted_of_a_cancelled_job_is_said_in_the_log(parts: WorkerParts) -> None:
    job = job_under(parts, Quotas())
    parts.store = Refusing(parts.store)
    with capture_logs() as lines:
        parts.runner(Meanwhile(lambda: cancel_now(parts, job), PROGRAM), PlayedSandbox()).run(job.id)
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["run.taken_over", "run.usage_lost"]
    assert used(parts).tokens == 0


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_worker_whose_job_is_another_ones_by_now_adds_nothing_to_it(parts: WorkerParts, cancelled: bool) -> None:
    job = job_under(parts, Quotas())

    def taken_over() -> None:
        parts.clock.forward(parts.settings.generate_lease_seconds + 1)
        parts.store.claim(job.id, expect=frozenset({Status.RUNNING}), to=Status.RUNNING, worker="w2", lease_ms=60_000)
        if cancelled:
            cancel_now(parts, job)

    parts.runner(Meanwhile(taken_over, PROGRAM), PlayedSandbox()).run(job.id)
    assert (parts.job(job.id).usage, used(parts)) == (Usage(), Used(jobs=int(not cancelled)))


def test_a_job_that_is_cancelled_while_its_program_runs_is_not_written_again(parts: WorkerParts) -> None:
    job = job_under(parts, Quotas())
    ended = run(parts, lambda _: cancel_now(parts, job), job=job)
    assert (ended.status, ended.version) == (Status.CANCELLED, 5), "a claim, two stages, and the cancelling"
    assert used(parts).tokens == CALL_TOKENS

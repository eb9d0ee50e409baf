"""Jobs of recipes: no model, the functions it is pinned to, params, and what rules know of its envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.factories import LEA, submission
from tests.support.fakes import AnsweringModel, PlayedSandbox
from tests.support.runs import READS, UNKNOWN, WRITES, outcome, run
from tests.support.worker import WorkerParts
from vardy_worker import FunctionError, Functions, verbs
from vardy_worker.active_rules import evaluate_plan
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.programs.recipes import RecipeDraft, make_recipe

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fakes import Guest
    from vardy_worker.contracts.job import JobRecord

LEDGER = "async function run(params) {\n  return await read_ledger();\n}"
INSIDE_ALLOWED = (
    "default: approve\nrules:\n  - {name: reviewed, on: [pay], when: recipe.within_envelope, then: allow}\n"
)
OUTSIDE_BLOCKED = (
    "default: allow\nrules:\n  - {name: reviewed, on: [pay], when: '!recipe.within_envelope', then: block}\n"
)
ENVELOPE = {"functions": {"pay": {"effects_max": 2, "arguments": {"amount": {"min": 1, "max": 50, "sum_max": 60}}}}}


@pytest.fixture
def functions() -> Functions:
    functions = Functions()

    @functions.read
    def count_orders(city: str) -> int:
        """How many orders a city has."""
        return len(city)

    @functions.write
    def pay(amount: int) -> dict[str, int]:
        """Pays, unless it is 13."""
        if amount == 13:
            raise FunctionError("nobody pays 13")
        return {"id": amount}

    @functions.read(roles=("finance",))
    def read_ledger() -> int:
        """For finance alone."""
        return 0

    return functions


def recipe(parts: WorkerParts, source: str = READS, *, versions: dict[str, str] | None = None, **fields: Any) -> Recipe:
    """A recipe as it is saved; with other `versions` of its functions where the test says so."""
    made, _ = make_recipe(
        RecipeDraft(name="orders", source=source, **fields),
        parts.host.catalogue(),
        program_bytes_max=65_536,
        reviewed_by="lea",
        now_ms=0,
    )
    return made.model_copy(update={"functions": {**made.functions, **(versions or {})}})


def with_envelope(parts: WorkerParts, **fields: Any) -> Recipe:
    made = recipe(parts, WRITES, **fields)
    return Recipe.model_validate({**made.model_dump(mode="json"), "envelope": ENVELOPE})


def run_recipe(parts: WorkerParts, made: Recipe, *plays: Callable[[Guest], object], **fields: Any) -> JobRecord:
    model = AnsweringModel()
    job = parts.submit(submission(recipe=made.name, **fields), recipe=made)
    ended = run(parts, *(plays or (lambda guest: guest.value("count_orders", city="Porto"),)), model=model, job=job)
    assert model.requests == []
    return ended


def pays(*amounts: int) -> Callable[[Guest], object]:
    return lambda guest: [guest.effect("pay", amount=amount) for amount in amounts] and None


# --- without a model ----------------------------------------------------------------------------------


def test_a_recipe_runs_without_a_model(parts: WorkerParts) -> None:
    job = run_recipe(parts, recipe(parts))
    assert (job.status, job.output) == (Status.SUCCESS, 5)
    assert job.usage.prompt_tokens == 0
    assert job.warnings == ()


# --- params -------------------------------------------------------------------------------------------


def test_params_that_do_not_fit_a_recipe_name_the_field_and_not_the_value(parts: WorkerParts) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params={"days": "PRIVATE"})
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.params")
    assert job.error is not None
    assert "`days` must be of type integer" in job.error.message
    assert "PRIVATE" not in job.error.model_dump_json()


SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["customer", "mode", "token"],
    "properties": {
        "customer": {
            "type": "object",
            "required": ["id", "name"],
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
            "additionalProperties": False,
        },
        "mode": {"enum": ["soft", "hard"]},
        "days": {"type": "integer", "minimum": 1},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"cents": {"type": ["integer", "null"]}}}},
        "token": {"type": "string", "pattern": "^t-[a-z]+$"},
        "when": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "a/b": {"const": 1},
    },
}


def test_all_that_is_wrong_with_params_is_told_at_once_by_pointer_without_a_value(parts: WorkerParts) -> None:
    params = {
        "customer": {"id": "SECRET-1", "nam": "SECRET-2"},
        "mode": "SECRET-3",
        "days": -4711,
        "lines": [{"cents": 1}, {"cents": "SECRET-4"}],
        "token": "SECRET-5",
        "when": ["SECRET-6"],
        "a/b": "SECRET-7",
        "tokn": "SECRET-8",
    }
    job = run_recipe(parts, recipe(parts, params_schema=SCHEMA), params=params)
    assert job.error is not None
    told = [(each["at"], each["rule"], each["message"]) for each in job.error.details["problems"]]
    assert told == [
        ("/a~1b", "const", "`a/b` does not fit `const: 1`."),
        ("/customer/id", "type", "`customer.id` must be of type integer."),
        ("/customer/nam", "additionalProperties", "`customer.nam` is not known; did you mean `name`?"),
        ("/customer/name", "required", "`customer.name` is missing."),
        ("/days", "minimum", "`days` does not fit `minimum: 1`."),
        ("/lines/1/cents", "type", "`lines.1.cents` must be of type integer or null."),
        ("/mode", "enum", '`mode` must be one of ["soft", "hard"].'),
        ("/token", "pattern", '`token` does not fit `pattern: "^t-[a-z]+$"`.'),
        ("/tokn", "additionalProperties", "`tokn` is not known; did you mean `token`?"),
        ("/when", "oneOf", "`when` must fit exactly one of the 2 forms in its schema."),
    ]
    assert job.error.message.endswith("(9 more)")
    assert not any(value in job.error.model_dump_json() for value in ("SECRET", "4711"))


def test_every_field_that_is_missing_is_told_once(parts: WorkerParts) -> None:
    job = run_recipe(parts, recipe(parts, params_schema=SCHEMA), params={})
    assert job.error is not None
    assert [each["at"] for each in job.error.details["problems"]] == ["/customer", "/mode", "/token"]


def test_a_schema_of_which_much_is_expected_is_not_quoted_whole(parts: WorkerParts) -> None:
    schema = {"type": "object", "properties": {"city": {"enum": [f"city {number}" for number in range(500)]}}}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params={"city": "Atlantis"})
    assert job.error is not None
    assert job.error.details["problems"][0]["message"] == "`city` does not fit `enum` in its schema."


def test_a_field_that_may_not_be_there_is_named_itself(parts: WorkerParts) -> None:
    schema = {"type": "object", "properties": {"a": {"properties": {"internal": False}}, "b": {"$ref": "#/$defs/no"}}}
    schema["$defs"] = {"no": False}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params={"a": {"internal": "SECRET"}, "b": "SECRET"})
    assert job.error is not None
    assert job.error.details["problems"] == [
        {"at": "/a/internal", "rule": "false", "message": "`a.internal` is not allowed."},
        {"at": "/b", "rule": "false", "message": "`b` is not allowed."},
    ]
    assert "SECRET" not in job.error.model_dump_json()


def test_thousands_of_unknown_fields_are_told_in_short(parts: WorkerParts) -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {f"city_{n}": {} for n in range(20)}}
    params = {f"cty_{n}": 1 for n in range(20_000)}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params=params)
    assert job.error is not None
    assert job.error.message.endswith("(19999 more)")
    assert len(job.error.details["problems"]) == 50


@pytest.mark.parametrize(
    ("count", "rest"), [(0, "there are no fields."), (20, "`a18`, `a19`."), (21, "`a19` and 1 more.")]
)
def test_of_many_known_fields_the_first_are_told(parts: WorkerParts, count: int, rest: str) -> None:
    schema = {"type": "object", "additionalProperties": False, "properties": {f"a{n}": {} for n in range(count)}}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params={"quantity": 1})
    assert job.error is not None
    assert job.error.message.endswith(rest)


def test_names_of_any_length_are_told_in_short(parts: WorkerParts) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    job = run_recipe(parts, recipe(parts, params_schema=schema), params={"k" * 200_000: "x"})
    assert job.error is not None
    assert len(job.error.model_dump_json()) < 1000


# --- functions ----------------------------------------------------------------------------------------


def test_the_program_gets_only_the_functions_that_it_is_pinned_to(parts: WorkerParts) -> None:
    made = recipe(parts)
    sandbox = PlayedSandbox(lambda _: None)
    job = parts.submit(submission(recipe=made.name), recipe=made)
    parts.runner(AnsweringModel(), sandbox).run(job.id)
    assert sandbox.runs[0].functions == ("count_orders",)


def test_a_function_that_is_not_pinned_does_not_pass_the_checks(parts: WorkerParts) -> None:
    made = recipe(parts).model_copy(update={"functions": {}})
    assert outcome(run_recipe(parts, made)) == (Status.VALIDATION_BLOCKED, "validation.recipe")


def test_a_recipe_that_does_not_fit_the_functions_any_more_is_blocked(parts: WorkerParts) -> None:
    made = recipe(parts).model_copy(update={"source": UNKNOWN})
    job = run_recipe(parts, made)
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.recipe")
    assert job.error is not None
    assert "its program has to be changed" in job.error.message
    assert job.error.details["findings"][0]["line"] == 2


def test_a_recipe_is_blocked_whose_user_may_not_use_one_of_its_functions(parts: WorkerParts) -> None:
    job = run_recipe(parts, recipe(parts, LEDGER))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.functions")
    assert job.error is not None
    assert "calls functions that ana may not use with the roles given: read_ledger." in job.error.message
    assert job.error.details["functions"] == ["read_ledger"]
    assert "finance" not in job.error.model_dump_json(), "who has it is nobody's business"


def test_the_same_recipe_runs_for_somebody_with_the_role(parts: WorkerParts) -> None:
    user = User(id="rita", roles=("finance",))
    job = run_recipe(parts, recipe(parts, LEDGER), lambda guest: guest.value("read_ledger"), user=user)
    assert (job.status, job.output) == (Status.SUCCESS, 0)


def test_a_request_that_leaves_out_a_function_of_its_recipe_is_blocked(parts: WorkerParts) -> None:
    job = run_recipe(parts, recipe(parts), functions=("pay",))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.functions")
    assert job.error is not None
    assert "leaves out functions that recipe orders calls: count_orders" in job.error.message


def test_a_request_may_name_more_functions_than_its_recipe_calls(parts: WorkerParts) -> None:
    assert run_recipe(parts, recipe(parts), functions=("count_orders", "pay")).status is Status.SUCCESS


def test_a_changed_recipe_that_still_fits_runs_with_a_warning(parts: WorkerParts) -> None:
    job = run_recipe(parts, recipe(parts, versions={"count_orders": "old"}))
    assert (job.status, job.output) == (Status.SUCCESS, 5)
    assert job.warnings == ("Recipe orders needs a review: since that of version 1, count_orders changed.",)


# --- envelopes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amounts", "status"),
    [
        ((1, 50), Status.COMMITTING),
        ((51,), Status.PENDING_APPROVAL),
        ((50, 11), Status.PENDING_APPROVAL),
        ((1, 2, 3), Status.PENDING_APPROVAL),
        ((-1,), Status.PENDING_APPROVAL),
    ],
)
def test_inside_its_envelope_a_plan_may_be_allowed_and_outside_it_waits(
    parts: WorkerParts, amounts: tuple[int, ...], status: Status
) -> None:
    parts.apply_rules(INSIDE_ALLOWED)
    job = run_recipe(parts, with_envelope(parts), pays(*amounts))
    assert job.status is status


@pytest.mark.parametrize(("amount", "status"), [(50, Status.COMMITTING), (51, Status.POLICY_BLOCKED)])
def test_outside_its_envelope_a_plan_may_be_blocked(parts: WorkerParts, amount: int, status: Status) -> None:
    parts.apply_rules(OUTSIDE_BLOCKED)
    assert run_recipe(parts, with_envelope(parts), pays(amount)).status is status


def test_a_recipe_without_an_envelope_has_no_plan_within_it(parts: WorkerParts) -> None:
    parts.apply_rules(INSIDE_ALLOWED)
    assert run_recipe(parts, recipe(parts, WRITES), pays(1)).status is Status.PENDING_APPROVAL


def test_a_recipe_that_needs_a_review_has_no_plan_within_its_envelope(parts: WorkerParts) -> None:
    parts.apply_rules(INSIDE_ALLOWED)
    job = run_recipe(parts, with_envelope(parts, versions={"pay": "old"}), pays(1))
    assert job.status is Status.PENDING_APPROVAL
    assert job.warnings[0].startswith("Recipe orders needs a review, and until then no plan is within its envelope")


@pytest.mark.parametrize(("four_eyes", "status"), [(True, Status.PENDING_APPROVAL), (False, Status.COMMITTING)])
def test_a_plan_of_the_reviewer_is_within_the_envelope_only_without_four_eyes(
    parts: WorkerParts, four_eyes: bool, status: Status
) -> None:
    parts.settings = parts.settings.model_copy(update={"four_eyes": four_eyes})
    parts.apply_rules(INSIDE_ALLOWED)
    job = run_recipe(parts, with_envelope(parts), pays(1), user=User(id="lea"))
    assert job.status is status
    told = ("lea reviewed recipe orders, so a plan of theirs is not within its envelope.",)
    assert job.warnings == (told if four_eyes else ())


@pytest.mark.parametrize("written", ["Jos\u00e9", "Jose\u0301"])
def test_a_reviewer_is_known_again_in_every_form_of_the_same_letters(parts: WorkerParts, written: str) -> None:
    parts.apply_rules(INSIDE_ALLOWED)
    made = Recipe.model_validate({**with_envelope(parts).model_dump(mode="json"), "reviewed_by": written})
    for person in ("Jos\u00e9", "Jose\u0301"):
        assert run_recipe(parts, made, pays(1), user=User(id=person)).status is Status.PENDING_APPROVAL


@pytest.mark.parametrize("four_eyes", [True, False])
def test_the_reviewers_own_plan_is_judged_alike_when_it_is_committed(parts: WorkerParts, four_eyes: bool) -> None:
    parts.settings = parts.settings.model_copy(update={"four_eyes": four_eyes})
    parts.apply_rules("default: allow\n")
    job = run_recipe(parts, with_envelope(parts), pays(1), user=User(id="lea"))
    parts.apply_rules(OUTSIDE_BLOCKED)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is (Status.POLICY_BLOCKED if four_eyes else Status.SUCCESS)


def test_the_advice_of_what_to_leave_out_knows_the_envelope(parts: WorkerParts) -> None:
    parts.apply_rules(INSIDE_ALLOWED)
    job = run_recipe(parts, with_envelope(parts), pays(20, 51))
    assert job.policy is not None
    assert job.policy.avoidable is not None
    assert job.policy.avoidable.without == (1,)


@pytest.mark.parametrize(("amount", "verdict"), [(50, Verdict.ALLOW), (51, Verdict.APPROVE)])
def test_a_planned_commit_is_judged_by_the_envelope(parts: WorkerParts, amount: int, verdict: Verdict) -> None:
    job = run_recipe(parts, with_envelope(parts), pays(amount), mode=Mode.PLAN)
    assert job.status is Status.PLANNED
    parts.apply_rules(INSIDE_ALLOWED)
    judged = evaluate_plan(job, rules=parts.rules, store=parts.store, catalogue=parts.host.catalogue(), four_eyes=True)
    assert judged.verdict is verdict


@pytest.mark.parametrize(("amount", "status"), [(50, Status.SUCCESS), (51, Status.POLICY_BLOCKED)])
def test_a_commit_is_checked_once_more_by_the_envelope(parts: WorkerParts, amount: int, status: Status) -> None:
    job = run_recipe(parts, with_envelope(parts), pays(amount))
    parts.apply_rules(OUTSIDE_BLOCKED)
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is status


def test_a_requeued_commit_is_judged_by_the_envelope(parts: WorkerParts) -> None:
    job = run_recipe(parts, with_envelope(parts), pays(1, 13, 1))
    parts.committer().commit(job.id)
    assert parts.job(job.id).status is Status.PARTIAL
    parts.apply_rules(OUTSIDE_BLOCKED)
    change = verbs.requeue(parts.job(job.id), catalogue=parts.host.catalogue(), by=LEA.id, now_ms=parts.clock.now_ms())
    parts.change(change)
    parts.committer().commit(job.id)
    assert outcome(parts.job(job.id)) == (Status.PARTIAL, "policy.changed")

import pytest

from tests.support.factories import ANA, submission
from tests.support.fakes import AnsweringModel, Guest, PlayedSandbox, fenced, threw
from tests.support.runs import READS, UNKNOWN, WRITES, outcome, run
from tests.support.worker import WorkerParts
from vardy_worker.contracts.errors import ModelRejected, ModelUnavailable
from vardy_worker.contracts.execution import ConsoleLine, LimitHit, Ref, Returned
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.model import ModelReply
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.view import job_view

APPROVE = "default: approve\n"
BLOCK = "default: block\n"


# --- programs that only read ----------------------------------------------------------------


def test_a_question_ends_as_success_with_its_output(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: {"orders": guest.value("count_orders", city="Porto")})
    assert outcome(job) == (Status.SUCCESS, "")
    assert job.output == {"orders": 3}
    assert job.plan is None
    assert job.settled_at_ms is not None


def test_usage_cost_and_model_are_recorded(parts: WorkerParts) -> None:
    job = run(parts, model=AnsweringModel(fenced(UNKNOWN), fenced(READS)))
    assert (job.usage.model, job.usage.prompt_tokens, job.usage.cost_usd) == ("fake/model", 200, 1.0)


def test_the_program_sees_only_the_functions_of_its_user(parts: WorkerParts) -> None:
    sandbox = PlayedSandbox(lambda _: None)
    job = parts.submit(submission())
    parts.runner(AnsweringModel(fenced(READS)), sandbox).run(job.id)
    assert sandbox.runs[0].functions == ("count_orders", "pay")


def test_date_and_random_are_those_of_the_job(parts: WorkerParts) -> None:
    sandbox = PlayedSandbox(lambda _: None)
    job = parts.submit(submission())
    parts.runner(AnsweringModel(fenced(READS)), sandbox).run(job.id)
    assert (sandbox.runs[0].seed, sandbox.runs[0].now_ms) == (job.id, parts.job(job.id).started_at_ms)


def test_a_failed_read_that_the_program_catches_is_a_success_with_a_warning(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("count_orders", city="Atlantis") and "went on")
    assert job.status is Status.SUCCESS
    assert job.warnings == ("count_orders failed (function.failed) and the program went on.",)


def test_a_failed_read_that_is_not_caught_is_a_function_error_with_its_message(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("count_orders", city="Atlantis") and threw(0))
    assert outcome(job) == (Status.FUNCTION_ERROR, "function.failed")
    assert job.error is not None
    assert "there is no such city" in job.error.message


def test_a_crash_of_a_function_shows_a_correlation_id_and_no_secret(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("count_orders", city="Hell") and threw(0))
    assert outcome(job) == (Status.FUNCTION_ERROR, "function.crashed")
    assert job.error is not None
    assert job.error.details["correlation_id"]
    assert "SECRET" not in job.model_dump_json()


def test_wrong_arguments_of_a_read_name_the_field(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("count_orders", town="Porto") and threw(0))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.arguments")
    assert job.error is not None
    assert "city" in str(job.error.details["problems"])


def test_a_wrong_argument_shows_its_field_and_the_expected_type(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("count_orders", city=7) and threw(0))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.arguments")
    assert job.error is not None
    assert "argument /city: " in job.error.message
    [problem] = job.error.details["problems"]
    assert (problem["at"], problem["expected"]) == ("/city", "a string")


def test_a_thrown_error_has_its_place_and_text(parts: WorkerParts) -> None:
    job = run(parts, lambda _: threw(message="no such thing"))
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.thrown")
    assert job.error is not None
    assert "no such thing" in job.error.message
    assert job.error.details["column"] == 3


def test_a_limit_names_itself_its_setting_and_its_size(parts: WorkerParts) -> None:
    hit = LimitHit(code="execution.timeout", limit="execute_seconds_max", limit_value=30, value=30.1)
    job = run(parts, lambda _: hit)
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.timeout")
    assert job.error is not None
    assert "VARDY_EXECUTE_SECONDS_MAX" in job.error.message
    assert job.error.details == {"limit": "execute_seconds_max", "limit_value": 30, "value": 30.1}


def test_a_limit_that_a_call_broke_names_the_call_and_its_place(parts: WorkerParts) -> None:
    hit = LimitHit(
        code="execution.args_too_large",
        limit="call_args_bytes_max",
        limit_value=1024,
        function="count_orders",
        line=2,
        column=9,
    )
    job = run(parts, lambda _: hit)
    assert job.error is not None
    assert job.error.message.endswith("(VARDY_CALL_ARGS_BYTES_MAX), in a call of count_orders.")
    assert (job.error.details["line"], job.error.details["column"]) == (4, 9), "the line the model wrote"
    assert job.error.details["program_line"] == 2, "the line of the program that the job shows"


def test_the_console_is_kept_apart_from_the_job(parts: WorkerParts) -> None:
    job = run(parts, lambda _: Returned(output=1, console=(ConsoleLine(level="log", text="a row"),)))
    assert "a row" not in job.model_dump_json()
    console = parts.store.console(job.id)
    assert console is not None
    assert console.lines[0].text == "a row"


# --- programs that write -------------------------------------------------------------------------


def pays(guest: Guest) -> object:
    return {"effect": guest.effect("pay", amount=1)}


def test_what_the_rules_allow_goes_to_the_commit_queue(parts: WorkerParts) -> None:
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)))
    assert job.status is Status.COMMITTING
    assert parts.queue.take("commit") == job.id
    assert not job.settled_at_ms


def test_what_needs_an_approval_is_parked_until_it_expires(parts: WorkerParts) -> None:
    parts.apply_rules(APPROVE)
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)))
    assert outcome(job) == (Status.PENDING_APPROVAL, "")
    assert job.expires_at_ms == parts.clock.now_ms() + 86_400_000
    assert parts.queue.depth("commit") == 0
    view = job_view(job)
    assert view.plan is not None
    assert view.plan.counts.pending == view.plan.counts.total == 1


def test_what_a_rule_blocks_is_blocked_with_its_explanation(parts: WorkerParts) -> None:
    parts.apply_rules("default: allow\nrules: [{name: no, on: [pay], then: block, message: 'Never.'}]\n")
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)))
    assert outcome(job) == (Status.POLICY_BLOCKED, "policy.blocked")
    assert job.error is not None
    assert (job.error.message, job.error.details["rule"]) == ("Never.", "no")


def test_a_rule_that_cannot_be_evaluated_blocks_by_name(parts: WorkerParts) -> None:
    odd = "{name: odd, on: [pay], when: 10 / (args.amount - 1) > 1, then: allow}"
    parts.apply_rules(f"default: allow\nrules: [{odd}]\n")
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)))
    assert outcome(job) == (Status.POLICY_BLOCKED, "policy.rule_failed")
    assert job.error is not None
    assert job.error.details["rule"] == "odd"


@pytest.mark.parametrize("rules", ["default: allow\n", APPROVE, BLOCK])
def test_plan_mode_plans_whatever_the_rules_say_and_shows_the_verdict(parts: WorkerParts, rules: str) -> None:
    parts.apply_rules(rules)
    job = run(parts, pays, model=AnsweringModel(fenced(WRITES)), mode=Mode.PLAN)
    assert outcome(job) == (Status.PLANNED, "")
    assert job.policy is not None
    assert f"default: {job.policy.verdict}\n" == rules
    assert parts.queue.depth("commit") == 0


def test_plan_mode_without_effects_is_a_success(parts: WorkerParts) -> None:
    assert run(parts, mode=Mode.PLAN).status is Status.SUCCESS


def test_references_are_kept_apart_from_arguments(parts: WorkerParts) -> None:
    def refers(guest: Guest) -> object:
        first = guest.effect("pay", amount=1)
        guest.effect("pay", refs=(Ref(at="/amount", effect=first, path="/id"),))
        return None

    job = run(parts, refers, model=AnsweringModel(fenced(WRITES)))
    assert job.plan is not None
    second = job.plan.body().effects[1]
    assert (second.args, second.refs) == ({}, (Ref(at="/amount", effect=0, path="/id"),))


def test_wrong_arguments_of_a_write_end_the_job_even_when_they_are_caught(parts: WorkerParts) -> None:
    job = run(parts, lambda guest: guest.call("pay", amount="much"), model=AnsweringModel(fenced(WRITES)))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.arguments")
    assert job.plan is None


def test_a_read_cannot_take_the_result_of_a_write(parts: WorkerParts) -> None:
    def reads_too_early(guest: Guest) -> object:
        effect = guest.effect("pay", amount=1)
        guest.call("count_orders", refs=(Ref(at="/city", effect=effect),))
        return threw(1)

    job = run(parts, reads_too_early, model=AnsweringModel(fenced(WRITES)))
    assert outcome(job) == (Status.EXECUTION_ERROR, "execution.placeholder")


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"effects_max": 2}, "execution.effects_budget"), ({"plan_bytes_max": 200}, "execution.plan_too_large")],
)
def test_a_plan_has_its_budgets(parts: WorkerParts, limits: dict[str, float], code: str) -> None:
    planned: list[int] = []

    def pays_often(guest: Guest) -> object:
        planned.extend(guest.effect("pay", amount=number) for number in range(50))
        return None

    job = run(parts, pays_often, model=AnsweringModel(fenced(WRITES)), limits=limits)
    assert outcome(job) == (Status.EXECUTION_ERROR, code)
    assert len(planned) <= 2, "the program ends at the write that is one too many"


def test_a_plan_may_be_as_large_as_its_budget(parts: WorkerParts) -> None:
    def pays_twice(guest: Guest) -> object:
        return [guest.effect("pay", amount=number) for number in range(2)]

    job = run(parts, pays_twice, model=AnsweringModel(fenced(WRITES)), limits={"effects_max": 2})
    assert job.plan is not None
    assert len(job.plan.body().effects) == 2


# --- getting a program -----------------------------------------------------------------------------


def test_a_program_that_does_not_pass_is_repaired(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(UNKNOWN), fenced(READS))
    job = run(parts, model=model)
    assert job.status is Status.SUCCESS
    assert job.program is not None
    assert job.program.attempts == 2
    assert "count_orders" in model.requests[1].messages[-1].content


def test_a_warning_stops_no_program_and_is_kept_with_it(parts: WorkerParts) -> None:
    job = run(parts, model=AnsweringModel(fenced("async function run(params) {\n  console.log(1);\n}")))
    assert job.status is Status.SUCCESS
    assert job.program is not None
    assert [finding.code for finding in job.program.warnings] == ["program.no_return"]


def test_nothing_of_a_program_runs_that_does_not_pass(parts: WorkerParts) -> None:
    late = "async function run(params) {\n  await count_orders({ city: 'Recife' });\n  return await cont_orders();\n}"
    ran: list[Guest] = []
    job = run(parts, ran.append, model=AnsweringModel(fenced(late), fenced(late)))
    assert job.status is Status.VALIDATION_BLOCKED
    assert ran == []


def test_a_program_that_never_passes_is_blocked_with_its_findings(parts: WorkerParts) -> None:
    job = run(parts, model=AnsweringModel(fenced(UNKNOWN), fenced(UNKNOWN)))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.program")
    assert job.error is not None
    assert job.error.details["findings"][0]["line"] == 4, "the line the model wrote, fence and prose included"


def test_answers_without_a_program_end_after_the_attempts(parts: WorkerParts) -> None:
    model = AnsweringModel("I am sorry.", "I really am.")
    job = run(parts, model=model)
    assert outcome(job) == (Status.GENERATION_ERROR, "generation.no_program")
    assert [attempt.text for attempt in job.attempts] == ["I am sorry.", "I really am."]
    assert len(model.requests) == 2


def test_no_more_of_an_answer_is_kept_than_a_program_may_have(parts: WorkerParts) -> None:
    job = run(parts, model=AnsweringModel("No. " * 1_000, "No."), limits={"program_bytes_max": 1_024})
    assert [len(attempt.text) for attempt in job.attempts] == [1_024, 3]


def test_an_answer_that_was_cut_has_its_own_code(parts: WorkerParts) -> None:
    cut = ModelReply(text="```js\nasync function run(params) {\n  const a =", finish_reason="length", model="m")
    job = run(parts, model=AnsweringModel(cut, cut))
    assert outcome(job) == (Status.GENERATION_ERROR, "generation.truncated")


@pytest.mark.parametrize("error", [ModelUnavailable("No model answered."), ModelRejected("The key is wrong.")])
def test_a_model_that_cannot_be_asked_is_a_generation_error(
    parts: WorkerParts, error: ModelUnavailable | ModelRejected
) -> None:
    assert outcome(run(parts, model=AnsweringModel(error))) == (Status.GENERATION_ERROR, error.code)


def test_the_number_of_attempts_is_a_limit(parts: WorkerParts) -> None:
    model = AnsweringModel("no")
    run(parts, model=model, limits={"generation_attempts": 1})
    assert len(model.requests) == 1


def test_an_execution_error_is_not_repaired_unless_the_request_allows_it(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), fenced(READS))
    job = run(parts, lambda _: threw(), model=model)
    assert job.status is Status.EXECUTION_ERROR
    assert len(model.requests) == 1


def test_an_execution_error_is_repaired_as_often_as_the_request_allows(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), fenced(READS), fenced(READS))
    job = run(parts, lambda _: threw(), lambda _: threw(), lambda _: 1, model=model, execution_repairs=2)
    assert job.status is Status.SUCCESS
    assert len(model.requests) == 3


def test_arguments_that_turn_out_wrong_are_repaired_with_the_field_and_what_it_expects(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), fenced(READS))
    plays = [lambda guest: guest.call("count_orders", city=7) and threw(0), lambda _: 1]
    job = run(parts, *plays, model=model, execution_repairs=1)
    assert job.status is Status.SUCCESS
    assert "`city` must be a string" in model.requests[1].messages[-1].content


def test_wrong_arguments_of_a_write_that_are_caught_are_repaired_too(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(WRITES), fenced(READS))
    job = run(parts, lambda guest: guest.call("pay", amount="much"), lambda _: 1, model=model, execution_repairs=1)
    assert (job.status, job.plan) == (Status.SUCCESS, None)
    assert len(model.requests) == 2


@pytest.mark.parametrize("city", ["Atlantis", "Hell"])
def test_what_a_function_reports_is_not_repaired(parts: WorkerParts, city: str) -> None:
    model = AnsweringModel(fenced(READS), fenced(READS))
    job = run(parts, lambda guest: guest.call("count_orders", city=city) and threw(0), model=model, execution_repairs=3)
    assert job.status is Status.FUNCTION_ERROR
    assert len(model.requests) == 1


def test_the_answer_to_a_repair_has_the_attempts_of_a_first_answer(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(READS), fenced(UNKNOWN), fenced(READS))
    job = run(parts, lambda _: threw(), lambda _: 1, model=model, execution_repairs=1)
    assert job.status is Status.SUCCESS
    assert len(model.requests) == 3


def test_a_repair_tells_the_model_neither_what_was_thrown_nor_what_was_read(parts: WorkerParts) -> None:
    def leaks(guest: Guest) -> object:
        guest.call("count_orders", city="Atlantis")
        return threw(message="MARKED row")

    model = AnsweringModel(fenced(READS), fenced(READS))
    run(parts, leaks, lambda _: 1, model=model, execution_repairs=1)
    asked = model.requests[1].model_dump_json()
    assert "MARKED" not in asked
    assert "no such city" not in asked


def test_a_program_of_a_narrowed_request_may_call_no_other_function(parts: WorkerParts) -> None:
    model = AnsweringModel(fenced(WRITES), fenced(WRITES))
    job = run(parts, model=model, functions=("count_orders",))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.program")


def test_functions_that_the_user_does_not_have_are_named(parts: WorkerParts) -> None:
    job = run(parts, functions=("read_ledger",))
    assert outcome(job) == (Status.VALIDATION_BLOCKED, "validation.functions")
    assert job.error is not None
    assert job.error.details["functions"] == ["read_ledger"]


# --- what approvers see ---------------------------------------------------------------------------------


def test_identical_effects_are_a_warning_for_the_approver(parts: WorkerParts) -> None:
    parts.apply_rules(APPROVE)
    job = run(
        parts,
        lambda guest: [guest.effect("pay", amount=1), guest.effect("pay", amount=1)],
        model=AnsweringModel(fenced(WRITES)),
    )
    view = job_view(job)
    assert view.plan is not None
    assert view.plan.warnings == ("Effects 0 and 1 are identical: pay with the same arguments.",)
    assert [effect.state for effect in view.effects] == [EffectState.PENDING] * 2
    assert view.user.id == ANA.id

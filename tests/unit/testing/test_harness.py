from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.testing.conftest import REFUND, RULES, Shop
from vardy_worker import FunctionError, Functions
from vardy_worker.contracts.errors import RequestError, SettingsError
from vardy_worker.contracts.view import JobView
from vardy_worker.testing import Harness, Status, User

LEA = User(id="lea", roles=("lead",))
NOTES = """async function run(params) {
  for (const text of params.texts) {
    await write_note({ text });
  }
  return params.texts.length;
}"""


def large(harness: Harness) -> JobView:
    return harness.run(REFUND, params={"cents": 5000})


def code(error: pytest.ExceptionInfo[RequestError]) -> str:
    return error.value.code


def test_what_the_rules_allow_is_committed_at_once(harness: Harness, shop: Shop) -> None:
    job = harness.run(REFUND, params={"cents": 500})
    assert job.status == "SUCCESS"
    assert job.output == {"refund": "re_70", "payments": 1}
    assert [(effect.function, effect.rules, effect.state) for effect in job.effects] == [
        ("refund", ("small-refunds",), "SUCCEEDED"),
        ("write_note", ("notes",), "SUCCEEDED"),
    ]
    assert list(shop.refunds) == [job.effects[0].idempotency_key]
    assert shop.notes == ["re_70"]
    assert harness.console(job) == ("planned 500",)
    assert [(entry.seq, entry.state) for entry in harness.journal(job)] == [
        (0, "STARTED"),
        (0, "SUCCEEDED"),
        (1, "STARTED"),
        (1, "SUCCEEDED"),
    ]


def test_what_needs_an_approval_waits_for_it(harness: Harness, shop: Shop) -> None:
    job = large(harness)
    assert job.status == "PENDING_APPROVAL"
    assert job.plan is not None
    assert job.plan.verdict == "approve"
    assert [(need.rule, need.roles) for need in job.plan.approvals] == [("refunds", ("lead",))]
    assert job.effects[0].message == "A lead approves larger refunds."
    assert job.effects[1].refs[0].at == "/text"
    assert not shop.refunds

    done = harness.approve(job, user=LEA)
    assert done.status is Status.SUCCESS
    assert shop.contexts[0].user.id == "ana"
    assert [person.id for person in shop.contexts[0].approved_by] == ["lea"]
    assert shop.contexts[0].job_id == job.id


def test_what_a_rule_blocks_ends_with_its_sentence(harness: Harness) -> None:
    job = harness.run(REFUND, params={"cents": 100_001})
    assert job.status == "POLICY_BLOCKED"
    assert job.error is not None
    assert (job.error.code, job.error.message) == ("policy.blocked", "Nobody refunds that much.")


def test_decisions_are_refused_as_the_api_refuses_them(harness: Harness) -> None:
    job = large(harness)
    with pytest.raises(RequestError) as requester:
        harness.approve(job, user={"id": "ana", "roles": ["lead"]})
    with pytest.raises(RequestError) as role:
        harness.approve(job, user="olga")
    with pytest.raises(RequestError) as reason:
        harness.deny(job, user=LEA, reason=" ")
    assert [code(requester), code(role), code(reason)] == ["approval.requester", "approval.role", "approval.reason"]
    denied = harness.deny(job, user=LEA, reason="Not now.")
    assert denied.status == "POLICY_BLOCKED"
    assert denied.decisions[0].reason == "Not now."
    with pytest.raises(RequestError) as twice:
        harness.approve(job, user=LEA)
    assert code(twice) == "job.conflict"


def test_four_eyes_can_be_switched_off_like_every_setting(functions: Functions) -> None:
    ana = User(id="ana", roles=("support", "lead"))
    with Harness(functions, rules=RULES, user=ana, four_eyes=False) as harness:
        assert harness.approve(large(harness), user=ana).status == "SUCCESS"


def test_a_ceiling_of_people_refuses_a_job_as_the_service_does(functions: Functions) -> None:
    inside: list[RequestError] = []

    @functions.read
    def ask_again() -> int:
        """Submits another job while this one runs."""
        with pytest.raises(RequestError) as refused:
            harness.run("async function run() { return 1; }")
        inside.append(refused.value)
        return 1

    with Harness(functions, user_jobs_max=1) as harness:
        assert harness.run("async function run() { return await ask_again(); }").status == "SUCCESS"
        assert harness.run("async function run() { return 1; }").status == "SUCCESS"
    [refused] = inside
    assert (refused.code, refused.details["limit"]) == ("quota.exceeded", "jobs_max")
    assert "The person may have 1 job at once, and has 1 under way." in refused.message


def test_a_plan_that_nobody_decides_expires_when_time_passes(functions: Functions, shop: Shop) -> None:
    ana = User(id="ana", roles=("support",))
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    with Harness(functions, rules=RULES, user=ana, now=now, approval_ttl_seconds=3600) as harness:
        job = large(harness)
        assert job.plan is not None
        assert job.plan.expires_at == datetime(2026, 3, 1, 13, tzinfo=UTC)
        harness.forward(3599)
        assert harness.job(job).status == "PENDING_APPROVAL"
        harness.forward(1)
        expired = harness.job(job.id)
    assert expired.error is not None
    assert (expired.status, expired.error.code) == ("POLICY_BLOCKED", "policy.expired")
    assert not shop.refunds


def test_the_date_of_a_program_is_the_harness_one(functions: Functions) -> None:
    program = "async function run(params) { return new Date().toISOString(); }"
    with Harness(functions, now=datetime(2026, 3, 1, 12, tzinfo=UTC)) as harness:
        assert harness.run(program).output == "2026-03-01T12:00:00.000Z"


def test_plan_mode_makes_the_plan_and_a_commit_asks_the_rules(harness: Harness, shop: Shop) -> None:
    job = harness.run(REFUND, params={"cents": 500}, mode="plan")
    assert (job.status, job.plan and job.plan.verdict) == ("PLANNED", "allow")
    assert not shop.refunds
    assert harness.commit(job).status == "SUCCESS"

    large_one = harness.run(REFUND, params={"cents": 5000}, mode="plan")
    parked = harness.commit(large_one)
    assert parked.status == "PENDING_APPROVAL"
    assert harness.approve(parked, user=LEA).status == "SUCCESS"


def test_stricter_rules_hold_for_plans_that_wait(harness: Harness, shop: Shop) -> None:
    job = large(harness)
    harness.apply_rules("default: block\n")
    blocked = harness.approve(job, user=LEA)
    assert blocked.error is not None
    assert (blocked.status, blocked.error.code) == ("POLICY_BLOCKED", "policy.changed")
    assert not shop.refunds


def test_rules_that_ask_for_more_park_the_plan_again(harness: Harness) -> None:
    job = large(harness)
    harness.apply_rules(RULES.replace("{roles: [lead]}", "{roles: [lead], quorum: 2}"))
    again = harness.approve(job, user=LEA)
    assert again.plan is not None
    assert (again.status, again.plan.revision) == ("PENDING_APPROVAL", 2)
    with pytest.raises(RequestError) as stale:
        harness.approve(job, user=LEA)
    assert code(stale) == "digest.mismatch"
    assert harness.approve(again, user=LEA).status == "PENDING_APPROVAL"
    assert harness.approve(again, user={"id": "leo", "roles": ["lead"]}).status == "SUCCESS"


def test_a_retry_costs_no_time_and_keeps_its_key(harness: Harness, shop: Shop) -> None:
    shop.failing = [FunctionError("The bank is closed.", retryable=True, retry_after_seconds=3600)]
    job = harness.run(REFUND, params={"cents": 500})
    assert (job.status, job.effects[0].attempts) == ("SUCCESS", 2)
    assert [(context.attempt, context.idempotency_key) for context in shop.contexts] == [
        (attempt, job.effects[0].idempotency_key) for attempt in (1, 2)
    ]


def test_a_failed_commit_can_be_requeued(harness: Harness, shop: Shop) -> None:
    shop.failing = [FunctionError("The payment is locked.")]
    job = harness.run(REFUND, params={"cents": 500})
    assert job.error is not None
    assert (job.status, job.error.message) == ("FUNCTION_ERROR", "refund failed: The payment is locked.")
    assert harness.requeue(job).status == "SUCCESS"


def test_an_unknown_outcome_is_resolved_and_requeued(harness: Harness, shop: Shop) -> None:
    shop.failing = [OSError("connection lost")] * 3
    job = harness.run(REFUND, params={"cents": 500})
    assert (job.status, [effect.state for effect in job.effects]) == ("PARTIAL", ["UNKNOWN", "PENDING"])
    with pytest.raises(RequestError) as needed:
        harness.resolve(job, 0, done=True)
    assert code(needed) == "effect.result"
    resolved = harness.resolve(job, 0, done=True, result={"id": "re_by_hand"}, reason="Seen in the bank's portal.")
    assert resolved.effects[0].state == "RESOLVED_DONE"
    assert harness.requeue(resolved).output == {"refund": "re_by_hand", "payments": 1}
    assert shop.notes == ["re_by_hand"]


def test_the_rest_of_a_partial_commit_can_be_discarded(harness: Harness, shop: Shop) -> None:
    shop.failing = [OSError("connection lost")] * 3
    job = harness.discard(harness.run(REFUND, params={"cents": 500}), reason="Done by hand.")
    assert job.error is not None
    assert (job.status, job.error.code) == ("PARTIAL", "commit.discarded")


def test_a_cancelled_job_commits_nothing(harness: Harness, shop: Shop) -> None:
    job = harness.cancel(large(harness))
    assert job.status == "CANCELLED"
    assert not shop.refunds


def test_a_cancel_from_inside_a_function_stops_the_commit_before_the_next_effect() -> None:
    functions = Functions()
    noted: list[str] = []

    @functions.write
    def note(text: str) -> None:
        """Note it."""
        noted.append(text)
        harness.cancel(job_id)

    program = "async function run(p) { await note({text: 'a'}); await note({text: 'b'}); return 1; }"
    with Harness(functions) as harness:
        parked = harness.run(program)
        job_id = parked.id
        job = harness.approve(parked, user="lea")
    assert job.error is not None
    assert (job.status, job.error.code, noted) == ("PARTIAL", "commit.cancelled", ["a"])


def test_a_program_that_does_not_fit_is_blocked_with_every_finding(harness: Harness) -> None:
    job = harness.run("async function run(params) {\n  await refnd({});\n  return await fetch('x');\n}")
    assert job.error is not None
    assert (job.status, job.error.code) == ("VALIDATION_BLOCKED", "validation.program")
    assert [finding["line"] for finding in job.error.details["findings"]] == [2, 3]


def test_a_whole_answer_of_a_model_is_taken_too(harness: Harness) -> None:
    assert harness.run(f"Gladly:\n```js\n{REFUND}\n```\nThat is all.", params={"cents": 1}).status == "SUCCESS"


def test_several_answers_are_repairs_in_order(harness: Harness) -> None:
    throws = "async function run(params) { throw new Error('no'); }"
    job = harness.run([throws, REFUND], params={"cents": 500}, execution_repairs=1)
    assert (job.status, job.program and job.program.attempts) == ("SUCCESS", 2)
    assert harness.run(throws).status == "EXECUTION_ERROR"


def test_who_has_not_the_role_has_not_the_function(harness: Harness) -> None:
    assert harness.run(REFUND, params={"cents": 1}, user="olga").status == "VALIDATION_BLOCKED"
    narrowed = harness.run(REFUND, params={"cents": 1}, functions=["list_payments"])
    assert narrowed.status == "VALIDATION_BLOCKED"


def test_limits_hold_for_all_jobs_or_for_one(functions: Functions) -> None:
    texts = {"texts": ["a", "b", "c"]}
    with Harness(functions, rules="default: allow\n", limits={"effects_max": 2}) as harness:
        job = harness.run(NOTES, params=texts)
        assert (job.status, job.error and job.error.code) == ("EXECUTION_ERROR", "execution.effects_budget")
        assert harness.run(NOTES, params={"texts": ["a"]}, limits={"effects_max": 0}).status == "EXECUTION_ERROR"
        assert harness.run(NOTES, params={"texts": ["a"]}).status == "SUCCESS"


def test_the_environment_has_no_say(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_EFFECTS_MAX", "0")
    monkeypatch.setenv("VARDY_APPROVAL_TTL_SECONDS", "no number")
    with Harness(functions, rules="default: allow\n") as harness:
        assert harness.run(NOTES, params={"texts": ["a"]}).status == "SUCCESS"


def test_a_recipe_runs_with_params_that_are_checked(harness: Harness, tmp_path: Path) -> None:
    source, schema = tmp_path / "refund.js", tmp_path / "refund.json"
    source.write_text(REFUND)
    schema.write_text(
        json.dumps({"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]})
    )
    recipe = harness.save_recipe("refund", source, params_schema=schema)
    assert set(recipe.functions) == {"list_payments", "refund", "write_note"}
    job = harness.run(recipe="refund", params={"cents": 10})
    assert (job.status, job.recipe) == ("SUCCESS", "refund")
    wrong = harness.run(recipe="refund", params={"cents": "ten"})
    assert (wrong.status, wrong.error and wrong.error.code) == ("VALIDATION_BLOCKED", "validation.params")
    with pytest.raises(RequestError) as missing:
        harness.run(recipe="refunds")
    assert code(missing) == "recipe.not_found"


@pytest.mark.parametrize(
    ("name", "source", "schema"),
    [
        ("notes", "async function run() { await nothing({}); }", None),
        ("notes", NOTES, {"type": "list"}),
        ("Notes", NOTES, None),
    ],
)
def test_a_recipe_that_is_wrong_is_not_saved(
    harness: Harness, name: str, source: str, schema: dict[str, str] | None
) -> None:
    with pytest.raises(RequestError):
        harness.save_recipe(name, source, params_schema=schema)


def test_the_prompt_shows_exactly_the_functions_of_the_user(harness: Harness) -> None:
    shown = harness.prompt("refund the last payment", params={"secret": 42})
    assert "declare function refund(" in shown
    assert "refund the last payment" in shown
    assert "secret" in shown
    assert "42" not in shown
    assert "declare function refund(" not in harness.prompt("refund it", user="olga")


# --- explore ----------------------------------------------------------------------------


COUNT = "async function run(params) { return (await list_payments({ customer_id: params.customer })).length; }"


def test_an_explore_goes_through_its_rounds_to_the_answer(harness: Harness, shop: Shop) -> None:
    writes = "async function run() { return await write_note({ text: 'x' }); }"
    throws = "async function run() { throw new Error('no'); }"
    answers = [writes, throws, f"```js\n{COUNT}\n```", "One."]
    job = harness.explore("how many payments?", answers, params={"customer": 7})
    assert (job.kind, job.status, job.request, job.answer) == ("explore", "SUCCESS", "how many payments?", "One.")
    assert [each.error and each.error.code for each in job.rounds] == ["validation.program", "execution.thrown", None]
    assert job.rounds[2].summary == 1
    assert not job.effects
    assert not shop.notes


def test_places_in_a_round_are_those_of_the_program_that_it_shows(harness: Harness) -> None:
    unknown = "I look first.\n\nThen:\n\n```js\nasync function run() {\n  return await list_bills();\n}\n```\n"
    throws = "Now:\n\n```js\nasync function run() {\n  throw new Error('no');\n}\n```\n"
    checked, ran = harness.explore("how many payments?", [unknown, throws, "I cannot say."]).rounds
    assert checked.error is not None
    assert ran.error is not None
    assert "line 2, column 16" in checked.error.message
    assert ran.error.details["line"] == 2


def test_an_explore_ends_at_its_rounds_or_at_those_of_the_harness(harness: Harness, functions: Functions) -> None:
    throws = "async function run() { throw new Error('no'); }"
    job = harness.explore("how many payments?", throws, rounds_max=2)
    assert (job.status, len(job.rounds), job.answer) == (Status.EXECUTION_ERROR, 2, None)
    with Harness(functions, limits={"explore_rounds_max": 1}) as strict:
        assert len(strict.explore("how many payments?", throws).rounds) == 1


def test_the_prompt_of_a_question_shows_reads_alone(harness: Harness) -> None:
    shown = harness.prompt("how many payments?", kind="explore", params={"customer": 7})
    assert "how many payments?" in shown
    assert "list_payments" in shown
    assert "write_note" not in shown


def test_the_hooks_run_around_the_block(functions: Functions, shop: Shop) -> None:
    with Harness(functions):
        assert shop.opened == ["open"]
    assert shop.opened == ["open", "closed"]


def test_a_rules_file_that_is_wrong_is_named_with_its_line(functions: Functions, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.replace("args.amount_cents <= 1000", "args.amount <= 1000"))
    with pytest.raises(SettingsError) as error:
        Harness(functions, rules=file)
    assert str(file) in error.value.message
    assert error.value.details["line"] == 5
    with pytest.raises(SettingsError, match=r"\n  line 1: `default` must be .*\n  line 2: .*`noone`"):
        Harness(functions, rules="default: alow\nrules: [{name: a, on: [noone], then: block}]\n")
    with pytest.raises(SettingsError, match=r"give Path\(\"rules.yaml\"\)"):
        Harness(functions, rules="rules.yaml")
    with pytest.raises(SettingsError, match="No such file"):
        Harness(functions, rules=tmp_path / "missing.yaml")


def test_a_setting_that_is_wrong_is_named(functions: Functions) -> None:
    with pytest.raises(SettingsError, match="no setting 'four_eye'"):
        Harness(functions, four_eye=False)
    with pytest.raises(SettingsError, match="approval_ttl_seconds is wrong"):
        Harness(functions, approval_ttl_seconds=0)
    with pytest.raises(SettingsError, match="effects_max"):
        Harness(functions, limits={"effects_max": -1})


def test_a_request_that_is_wrong_is_refused(harness: Harness) -> None:
    with pytest.raises(RequestError, match="exactly one"):
        harness.run()
    with pytest.raises(RequestError, match="mode"):
        harness.run(NOTES, mode="dry")
    with pytest.raises(RequestError, match="id"):
        harness.run(NOTES, user={"roles": ["support"]})


def test_rules_that_do_nothing_are_warned_of(functions: Functions) -> None:
    rules = RULES + "  - {name: nobody, on: [write_note], when: 'false', then: block}\n"
    assert [warning.rule for warning in Harness(functions, rules=rules).rule_warnings()] == ["nobody"]


def test_without_a_with_block_nothing_runs(functions: Functions) -> None:
    harness = Harness(functions, rules=RULES)
    assert "declare function write_note(" in harness.prompt("note it")
    with pytest.raises(RuntimeError, match="with block"):
        harness.run(NOTES, params={"texts": []})

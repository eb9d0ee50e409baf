"""`vardy jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.factories import RULES_DIGEST, effect, policy
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.execution import ConsoleLine, Ref
from vardy_worker.contracts.job import ConsoleRecord, JudgeUsage, Usage
from vardy_worker.contracts.policy import ApprovalNeed, EffectVerdict, PolicyResult, SmallestChange, Verdict
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    import pytest

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker


def test_jobs_are_listed_newest_first_with_filters(cli: Cli, world: ApiWorld) -> None:
    first = world.job(Status.SUCCESS)
    world.clock.forward(10)
    second = world.job(Status.PARTIAL)
    lines = cli("jobs", "list").out.splitlines()
    assert lines[0].split() == ["JOB", "STATUS", "FOR", "MADE", "ASKED"]
    assert [line.split()[0] for line in lines[1:]] == [second.id, first.id]
    only = cli("jobs", "list", "--status", "partial", "--status", "PENDING_APPROVAL", "--user", "ana", "--json").json
    assert [item["id"] for item in only["items"]] == [second.id]
    assert cli("jobs", "list", "--kind", "explore").out == "No job matches.\n"
    assert cli("jobs", "list", "--created-after", "2h").out == "No job matches.\n"
    assert len(cli("jobs", "list", "--created-after", "2020-01-01", "--json").json["items"]) == 2


def test_pages_go_on_where_the_last_one_ended(cli: Cli, world: ApiWorld) -> None:
    ids = []
    for _ in range(5):
        ids.append(world.job().id)
        world.clock.forward(1)
    page = cli("jobs", "list", "--limit", "2", "--json").json
    assert [item["id"] for item in page["items"]] == [ids[4], ids[3]]
    rest = cli("jobs", "list", "--limit", "2", "--cursor", page["next"], "--json").json
    assert [item["id"] for item in rest["items"]] == [ids[2], ids[1]]
    whole = cli("jobs", "list", "--all", "--json").json
    assert [item["id"] for item in whole["items"]] == ids[::-1]
    assert whole["next"] is None
    after = cli("jobs", "list", "--all", "--cursor", page["next"], "--json").json
    assert [item["id"] for item in after["items"]] == ids[2::-1]
    assert "--cursor" in cli("jobs", "list", "--limit", "2").out
    wrong = cli("jobs", "list", "--cursor", "nonsense", "--json")
    assert (wrong.code, wrong.problem["code"]) == (ExitCode.ERROR, "cursor.invalid")


def test_a_whole_report_cuts_nothing(cli: Cli, world: ApiWorld) -> None:
    long = "a note that goes on " * 40
    args = {"payment_id": 1, "note": long}
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(args=args, refs=(Ref(at="/x", effect=0, path="/id"),)),))
    brief, whole = cli("jobs", "show", job.id), cli("jobs", "show", job.id, "--full")
    assert long not in brief.out
    assert "…" in brief.out
    assert long in whole.out
    assert "/x = result of effect 0, its /id" in whole.out
    assert "async function run() {}" in whole.out
    assert "Because." in whole.out
    assert "async function run() {}" not in brief.out


def test_what_the_judge_took_is_shown_apart_where_it_took_anything(cli: Cli, world: ApiWorld) -> None:
    judge = JudgeUsage(calls=3, prompt_tokens=2100, completion_tokens=90, cost_usd=0.0012)
    usage = Usage(model="openai/gpt", prompt_tokens=10, completion_tokens=5, judge=judge)
    judged = cli("jobs", "show", world.job(Status.SUCCESS, usage=usage).id, "--full")
    assert "judge  3 calls, 2100 + 90 tokens, 0.0012 USD" in judged.out
    plain = cli("jobs", "show", world.job(Status.SUCCESS, usage=Usage(model="openai/gpt")).id, "--full")
    assert "judge" not in plain.out


def test_the_arguments_of_a_function_stand_in_one_order_in_all_rows(cli: Cli, world: ApiWorld) -> None:
    rows = ({"amount_cents": 100, "to": "a"}, {"amount_cents": 20000, "to": "b"}, {"amount_cents": 1, "to": "crash"})
    job = world.job(Status.PENDING_APPROVAL, effects=tuple(effect(seq, args=args) for seq, args in enumerate(rows)))
    shown = [line for line in cli("jobs", "show", job.id).out.splitlines() if '"to"' in line]
    assert [line.index('"amount_cents"') < line.index('"to"') for line in shown] == [True, True, True]


def test_text_from_outside_cannot_pose_as_something_else(cli: Cli, world: ApiWorld) -> None:
    job = world.job(
        Status.PENDING_APPROVAL,
        effects=(effect(args={"to": "\x1b[2Jana\u202e@evil", "b": "[red]x[/red] :smile:"}),),
        output="\x9b31m\u2066hidden",
    )
    for ran in (cli("jobs", "show", job.id), cli("approvals", "show", job.id)):
        assert not {"\x1b", "\x9b", "\u202e", "\u2066"} & set(ran.out)
        assert "\\u001b[2Jana\\u202e@evil" in ran.out
        assert "[red]x[/red] :smile:" in ran.out
        assert "\\u009b31m\\u2066hidden" in ran.out


def test_json_spells_the_same_value_without_such_characters(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS, output="\x9b31m\u202e\U000e0041 São 😀")
    ran = cli("jobs", "show", job.id, "--json")
    assert ran.json["output"] == "\x9b31m\u202e\U000e0041 São 😀"
    assert not {"\x9b", "\u202e", "\U000e0041"} & set(ran.out)
    assert "São 😀" in ran.out


def test_waiting_ends_when_the_job_settles(cli: Cli, world: ApiWorld) -> None:
    good, bad = world.job(Status.SUCCESS), world.job(Status.PARTIAL)
    assert cli("jobs", "wait", good.id).code == ExitCode.OK
    assert cli("jobs", "wait", bad.id).code == ExitCode.ERROR
    assert cli("jobs", "show", bad.id).code == ExitCode.OK
    late = cli("jobs", "wait", world.job(Status.RUNNING).id, "--timeout", "0.1")
    assert late.code == ExitCode.WAIT_TIMED_OUT
    assert "RUNNING" in late.out
    assert "it goes on" in late.err


def test_the_console_is_printed_as_the_program_wrote_it(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS)
    assert "printed nothing" in cli("jobs", "console", job.id).out
    lines = (ConsoleLine(level="log", text="one [bold]"), ConsoleLine(level="error", text="two\x07"))
    world.store.put_console(job.id, ConsoleRecord(lines=lines, truncated=True))
    ran = cli("jobs", "console", job.id)
    assert ran.out.splitlines()[:2] == ["one [bold]", "two\\u0007"]
    assert "cut" in ran.out
    first = {"level": "log", "text": "one [bold]", "round": None}
    assert cli("jobs", "console", job.id, "--json").json["lines"][0] == first


def test_the_console_of_an_explore_is_printed_by_rounds(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.SUCCESS)
    printed = ((1, "one"), (1, "two"), (2, "three"))
    lines = tuple(ConsoleLine(level="log", text=text, round=n) for n, text in printed)
    world.store.put_console(job.id, ConsoleRecord(lines=lines))
    assert cli("jobs", "console", job.id).out.splitlines() == ["round 1", "one", "two", "round 2", "three"]


def test_one_job_is_cancelled_without_a_question(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    tried = cli("jobs", "cancel", job.id, "--dry-run", "--json")
    assert tried.json["items"][0] | {"note": ""} == {
        "target": job.id,
        "status": "PENDING_APPROVAL",
        "allowed": True,
        "note": "",
    }
    assert tried.json["dry_run"] is True
    ran = cli("jobs", "cancel", job.id, "--user", "ana")
    assert ran.code == ExitCode.OK
    assert "CANCELLED" in ran.out
    again = cli("jobs", "cancel", job.id, "--user", "ana", "--json")
    assert (again.code, again.problem["code"]) == (ExitCode.CONFLICT, "job.conflict")
    assert cli("jobs", "cancel", job.id, "--dry-run").code == ExitCode.CONFLICT


def test_several_jobs_are_cancelled_only_after_a_confirmation(cli: Cli, world: ApiWorld) -> None:
    jobs = [world.job(Status.PENDING_APPROVAL).id, world.job(Status.SUCCESS).id, world.job(Status.PLANNED).id]
    asked = cli("jobs", "cancel", *jobs, "--user", "ana")
    assert asked.code == ExitCode.CONFIRMATION_NEEDED
    assert "--yes" in asked.err
    assert cli("jobs", "show", jobs[0], "--json").json["status"] == "PENDING_APPROVAL"
    ran = cli("jobs", "cancel", *jobs, jobs[0], "--user", "ana", "--yes", "--json")
    assert ran.code == ExitCode.BULK_FAILED
    assert {key: ran.json[key] for key in ("total", "succeeded", "failed")} == {"total": 3, "succeeded": 2, "failed": 1}
    assert [item["ok"] for item in ran.json["items"]] == [True, False, True]
    assert ran.json["items"][1]["error"]["code"] == "job.conflict"
    assert ran.problem["code"] == "cli.bulk_failed"


def test_a_planned_job_is_committed_by_the_digest_that_was_shown(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    assert cli("rules", "apply", "-", "--user", "lea", stdin="default: allow\n").code == ExitCode.OK
    job = world.job(Status.PLANNED)
    assert f"vardy jobs commit {job.id} --digest {job.digest[:12]}" in cli("jobs", "show", job.id).out
    assert cli("jobs", "commit", job.id, "--user", "ana").code == ExitCode.CONFIRMATION_NEEDED
    assert cli("jobs", "commit", job.id, "--digest", "f" * 64).code == ExitCode.CONFLICT
    tried = cli("jobs", "commit", job.id, "--digest", job.digest, "--dry-run", "--json")
    assert tried.json["items"][0]["note"] == f"plan {job.digest}"
    worker.commits_to(Status.SUCCESS)
    ran = cli("jobs", "commit", job.id, "--digest", job.digest[:12], "--user", "ana", "--json")
    assert (ran.code, ran.json["status"]) == (ExitCode.OK, "SUCCESS")


def test_a_job_without_a_plan_cannot_be_committed(cli: Cli, world: ApiWorld) -> None:
    ran = cli("jobs", "commit", world.job().id, "--yes", "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.CONFLICT, "plan.none")


def test_a_rule_that_failed_is_named_where_it_blocks(cli: Cli, world: ApiWorld) -> None:
    blocked = EffectVerdict(seq=0, verdict=Verdict.BLOCK, message="Rule `sums` failed.", failed_rule="sums")
    judged = PolicyResult(verdict=Verdict.BLOCK, rules_digest=RULES_DIGEST, effects=(blocked,))
    job = world.job(Status.POLICY_BLOCKED, effects=(effect(),), policy=judged)
    assert "sums (failed)" in cli("jobs", "show", job.id).out
    assert cli("jobs", "show", job.id, "--json").json["effects"][0]["failed_rule"] == "sums"


def test_what_takes_a_plan_outside_its_envelope_is_shown_to_approvers(cli: Cli, world: ApiWorld) -> None:
    reason = "`amount_cents` of effect 0 is above 5000."
    judged = policy(Verdict.APPROVE, 1, ApprovalNeed(rule="a-rule")).model_copy(update={"outside": (reason,)})
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(),), policy=judged)
    for command in ("approvals", "jobs"):
        assert f"Outside the recipe's envelope: {reason}" in cli(command, "show", job.id).out
    assert cli("jobs", "show", job.id, "--json").json["plan"]["outside"] == [reason]


def test_a_long_sentence_goes_on_under_its_beginning(
    cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    judged = policy(Verdict.APPROVE, 1, ApprovalNeed(rule="a-rule")).model_copy(update={"outside": ("more " * 20,)})
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(),), policy=judged)
    lines = cli("jobs", "show", job.id).out.splitlines()
    assert [line[:6] for line in lines if "more" in line] == ["  Outs", "  more", "  more"]


def test_how_an_approval_could_be_avoided_is_shown_while_it_can_be(cli: Cli, world: ApiWorld) -> None:
    judged = policy(Verdict.APPROVE, 2, ApprovalNeed(rule="a-rule")).model_copy(
        update={"avoidable": SmallestChange(without=(1,), message="Without effect 1 the rest would be allowed.")}
    )
    job = world.job(Status.PENDING_APPROVAL, effects=(effect(0), effect(1)), policy=judged)
    for command in ("approvals", "jobs"):
        assert "Without effect 1 the rest would be allowed." in cli(command, "show", job.id).out
    told = cli("jobs", "show", job.id, "--json").json["plan"]["avoidable"]
    assert told == {"without": [1], "message": "Without effect 1 the rest would be allowed."}
    done = world.job(Status.SUCCESS, effects=(effect(0), effect(1)), policy=judged)
    assert "Without effect 1" not in cli("jobs", "show", done.id).out

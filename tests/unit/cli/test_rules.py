"""`vardy rules test`, and the warnings of `check` and `apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import effect, policy
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli
    from vardy_worker.contracts.job import JobRecord

RULES = """\
default: allow
rules:
- {name: ceiling, on: [refund_payment], when: args.payment_id > 5, then: block, message: "Too high a number."}
- {name: mad, on: [refund_payment], when: plan.counts.refund_payment > 900, then: approve}
"""
WARNED = "default: approve\nrules:\n- {name: a, on: [refund_payment], when: 'false', then: block}\n"


def planned(world: ApiWorld, *payment_ids: int, **fields: Any) -> JobRecord:
    world.clock.forward(1)
    effects = tuple(effect(seq, args={"payment_id": payment}) for seq, payment in enumerate(payment_ids))
    given = {"effects": effects, "policy": policy(Verdict.ALLOW, len(effects)), **fields}
    return world.job(Status.SUCCESS, **given)


def test_a_test_sums_up_and_names_every_plan_that_would_be_other(cli: Cli, world: ApiWorld) -> None:
    same, other = planned(world, 1, 2), planned(world, 1, 7, 8)
    ran = cli("rules", "test", "-", stdin=RULES)
    assert ran.code == ExitCode.OK
    lines = ran.out.splitlines()
    assert lines[0] == "2 plans: 1 unchanged, 1 stricter, 0 laxer."
    assert lines[1] == "Of these 1 newly blocked."
    assert lines[2] == "Matched nothing: mad."
    assert f"{other.id}  allow → block  stricter" in ran.out
    assert "  effects 1 and 2: allow → block by ceiling: Too high a number." in lines
    assert same.id not in ran.out


def test_json_has_every_plan_and_the_summary(cli: Cli, world: ApiWorld) -> None:
    planned(world, 1)
    blocked = planned(world, 7)
    report = cli("rules", "test", "-", "--json", stdin=RULES).json
    counts = {name: report[name] for name in ("plans", "unchanged", "stricter", "laxer", "unknown", "newly_blocked")}
    assert counts == {"plans": 2, "unchanged": 1, "stricter": 1, "laxer": 0, "unknown": 0, "newly_blocked": 1}
    assert [(item["job"], item["after"]) for item in report["items"][:1]] == [(blocked.id, "block")]
    assert report["unmatched"] == ["mad"]


def test_many_plans_are_asked_for_page_by_page(cli: Cli, world: ApiWorld) -> None:
    jobs = [planned(world, number % 9) for number in range(120)]
    for _ in range(60):
        world.job(Status.QUEUED)
    before = len(world.transport.requests)
    report = cli("rules", "test", "-", "--last", "110", "--json", stdin=RULES).json
    assert report["plans"] == 110
    assert [item["job"] for item in report["items"]] == [job.id for job in jobs[:9:-1]]
    assert len(world.transport.requests) - before == 4
    assert cli("rules", "test", "-", "--last", "3", "--json", stdin=RULES).json["plans"] == 3
    assert cli("rules", "test", "-", "--last", "999", "--status", "success", "--json", stdin=RULES).json["plans"] == 120


def test_the_plan_of_one_job_is_tried_alone(cli: Cli, world: ApiWorld) -> None:
    job = planned(world, 7)
    planned(world, 8)
    assert cli("rules", "test", "-", "--job", job.id, "--json", stdin=RULES).json["plans"] == 1
    assert cli("rules", "test", "-", "--job", job.id, "--last", "5", stdin=RULES).code == ExitCode.USAGE
    assert cli("rules", "test", "-", "--job", "job_none", stdin=RULES).code == ExitCode.NOT_FOUND


def test_other_approvals_and_what_cannot_be_judged_are_named(cli: Cli, world: ApiWorld) -> None:
    judged = policy(Verdict.APPROVE, 1, ApprovalNeed(rule="old"))
    planned(world, 1, policy=judged)
    lead = "rules: [{name: lead, then: approve, approvers: {roles: [lead, boss], quorum: 2}}]\n"
    out = cli("rules", "test", "-", stdin=lead).out
    assert "1 with other approvals" in out
    assert "approvals: 1 from anyone who may decide → 2 from lead or boss" in out
    failing = "default: approve\nrules: [{name: sums, when: params.days > 1, then: allow}]\n"
    assert "Could not be evaluated in 1 plan, and blocks there: sums." in cli("rules", "test", "-", stdin=failing).out
    world.forget_function("refund_payment")
    gone = cli("rules", "test", "-", stdin="default: approve\n")
    assert gone.code == ExitCode.OK
    assert "1 not evaluated" in gone.out
    assert "approve → ?  not evaluated" in gone.out
    assert "No worker has `refund_payment` any more." in gone.out


def test_without_plans_there_is_nothing_to_say(cli: Cli) -> None:
    ran = cli("rules", "test", "-", stdin=RULES)
    assert (ran.code, ran.out) == (ExitCode.OK, "No stored plan matches.\n")


def test_a_bad_file_is_refused_with_its_line(cli: Cli) -> None:
    ran = cli("rules", "test", "-", stdin="default: perhaps\n")
    assert ran.code == ExitCode.ERROR
    assert "line 1" in ran.err.lower()


def test_check_and_apply_warn_and_refuse_nothing(cli: Cli) -> None:
    for words in (("check", "-"), ("apply", "-", "--dry-run"), ("apply", "-", "--user", "lea")):
        ran = cli("rules", *words, stdin=WARNED)
        assert ran.code == ExitCode.OK
        assert "line 3, rule a: warning: The rule never matches: its condition is false whatever happens." in ran.out
        assert "hint: Correct the condition, or remove the rule." in ran.out
    assert cli("rules", "check", "-", "--json", stdin=WARNED).json["warnings"][0]["rule"] == "a"
    assert cli("rules", "show", "--json").json["version"] == 1

"""`vardy approvals`: decisions bind to the plan that was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli, Worker

LEAD = ("--user", "lea", "--role", "support_lead")


def test_only_plans_that_wait_are_listed(cli: Cli, world: ApiWorld) -> None:
    assert cli("approvals", "list").out == "No plan was found that waits for approval.\n"
    world.job(Status.PLANNED)
    waiting = world.job(Status.PENDING_APPROVAL)
    lines = cli("approvals", "list").out.splitlines()
    assert len(lines) == 2
    assert lines[0].split() == ["JOB", "FOR", "EFFECTS", "EXPIRES", "ASKED"]
    assert lines[1].split()[:3] == [waiting.id, "ana", "2"]
    assert [item["id"] for item in cli("approvals", "list", "--json").json["items"]] == [waiting.id]


def test_who_must_approve_and_who_has_is_shown(cli: Cli, world: ApiWorld) -> None:
    need = ApprovalNeed(rule="mass-mail", roles=("support_lead",), quorum=2, message="More than 20 mails.")
    job = world.job(Status.PENDING_APPROVAL, needs=(need,))
    assert "mass-mail: 0 of 2 from support_lead" in cli("approvals", "show", job.id).out
    ran = cli("approvals", "approve", job.id, "--digest", job.digest, *LEAD, "--reason", "Seen.", "--no-wait")
    assert ran.code == ExitCode.OK
    assert "mass-mail: 1 of 2 from support_lead, given by lea" in ran.out
    assert "lea approved: Seen." in ran.out


@pytest.mark.parametrize("characters", [12, 40, 64])
def test_the_digest_that_was_shown_approves_and_the_commit_is_waited_for(
    cli: Cli, world: ApiWorld, worker: Worker, characters: int
) -> None:
    worker.commits_to(Status.SUCCESS)
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("approvals", "approve", job.id, "--digest", job.digest[:characters], *LEAD, "--json")
    assert (ran.code, ran.json["status"]) == (ExitCode.OK, "SUCCESS")
    assert ran.json["decisions"][0]["via"] == "cli"
    assert ran.json["decisions"][0]["digest"] == job.digest


def test_a_commit_that_stops_half_way_is_an_error_of_the_approval(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    worker.commits_to(Status.PARTIAL, error=ErrorInfo(code="commit.failed", message="Effect 1 failed."))
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("approvals", "approve", job.id, "--digest", job.digest, *LEAD)
    assert ran.code == ExitCode.ERROR
    assert "Effect 1 failed." in ran.out
    assert f"vardy commits requeue {job.id}" in ran.out


def test_another_plan_than_the_one_shown_is_not_approved(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("approvals", "approve", job.id, "--digest", "0" * 12, *LEAD, "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.CONFLICT, "digest.mismatch")
    assert cli("jobs", "show", job.id, "--json").json["decisions"] == []


@pytest.mark.parametrize("digest", ["", "abc", "f" * 65])
def test_a_digest_that_names_no_plan_is_a_usage_error(cli: Cli, world: ApiWorld, digest: str) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    assert cli("approvals", "approve", job.id, "--digest", digest, *LEAD).code == ExitCode.USAGE


def test_without_a_terminal_somebody_must_say_which_plan(cli: Cli, world: ApiWorld, worker: Worker) -> None:
    worker.commits_to(Status.SUCCESS)
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("approvals", "approve", job.id, *LEAD)
    assert ran.code == ExitCode.CONFIRMATION_NEEDED
    assert f"--digest {job.digest[:12]}" in ran.err
    assert cli("approvals", "approve", job.id, *LEAD, "--yes").code == ExitCode.OK


def test_a_dry_run_decides_nothing(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    assert cli("approvals", "approve", job.id, "--dry-run").code == ExitCode.OK
    assert cli("approvals", "deny", job.id, "--reason", "No.", "--dry-run").code == ExitCode.OK
    assert cli("jobs", "show", job.id, "--json").json["status"] == "PENDING_APPROVAL"
    done = world.job(Status.SUCCESS)
    refused = cli("approvals", "approve", done.id, "--dry-run", "--json")
    assert (refused.code, refused.json["items"][0]["allowed"]) == (ExitCode.CONFLICT, False)


def test_who_asked_cannot_approve(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    ran = cli("approvals", "approve", job.id, "--digest", job.digest, "--user", "ana", "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.ERROR, "approval.requester")


def test_a_denial_ends_the_job_and_says_why(cli: Cli, world: ApiWorld) -> None:
    job = world.job(Status.PENDING_APPROVAL)
    assert cli("approvals", "deny", job.id, *LEAD).code == ExitCode.USAGE
    ran = cli("approvals", "deny", job.id, *LEAD, "--reason", "Too many mails.")
    assert ran.code == ExitCode.OK
    assert "POLICY_BLOCKED" in ran.out
    assert "lea denied: Too many mails." in ran.out
    again = cli("approvals", "deny", job.id, *LEAD, "--reason", "Once more.", "--json")
    assert (again.code, again.problem["code"]) == (ExitCode.CONFLICT, "job.conflict")

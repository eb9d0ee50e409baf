"""The Python client against the real application, and against a network in trouble."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.clients import Kind, client_of
from tests.support.factories import ANA, LEA, LEO
from vardy_api.client import Decision, Vardy
from vardy_api.client_errors import (
    ClientError,
    Conflict,
    Forbidden,
    Invalid,
    InvalidArguments,
    NotFound,
    PlanChanged,
    Unauthorized,
    WaitTimeout,
)
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.api import ApiWorld
    from vardy_worker.contracts.view import JobView

SOURCE = "async function run(params) {\n  return await list_payments();\n}\n"


@pytest.fixture(params=list(Kind))
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


@pytest.fixture
def vardy(api: ApiWorld, kind: Kind) -> Vardy:
    return client_of(api, kind)


def worker(api: ApiWorld, finish: Callable[[str], None]) -> None:
    """Stands for a worker that handles the next published job at once."""
    publish = api.queue.publish

    def take(queue: Any, job_id: str) -> None:
        publish(queue, job_id)
        finish(job_id)

    api.queue.publish = take  # type: ignore[method-assign] # the worker hears of it like this


def succeed(api: ApiWorld, output: Any = None) -> Callable[[str], None]:
    def finish(job_id: str) -> None:
        api.move(job_id, Status.QUEUED, Status.RUNNING)
        api.move(job_id, Status.RUNNING, Status.SUCCESS, {"output": output})

    return finish


# --- jobs -----------------------------------------------------------------------------------------------------


def test_run_waits_until_the_job_settles(api: ApiWorld, vardy: Vardy) -> None:
    worker(api, succeed(api, {"open": 3}))
    job = vardy.run("how much is open?", user={"id": "ana", "roles": ["support"]}, params={"customer": 3})
    assert (job.status, job.output, job.user.roles, job.params) == (
        "SUCCESS",
        {"open": 3},
        ("support",),
        {"customer": 3},
    )


def test_run_returns_at_once_when_it_need_not_wait(api: ApiWorld, vardy: Vardy) -> None:
    job = vardy.run("how much is open?", user="ana", wait=False)
    assert (job.status, job.user.id) == ("QUEUED", "ana")
    assert vardy.get(job) == vardy.get(job.id)
    assert api.transport.requests[0].headers["idempotency-key"]


def test_a_wait_that_takes_too_long_says_how_the_job_stands(vardy: Vardy) -> None:
    with pytest.raises(WaitTimeout) as raised:
        vardy.run("how much is open?", user="ana", timeout_seconds=0.2)
    assert raised.value.job.status is Status.QUEUED
    assert raised.value.job.id in raised.value.message


def test_a_job_is_waited_for_over_several_polls(api: ApiWorld) -> None:
    job = api.job(Status.RUNNING)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            api.move(job.id, Status.RUNNING, Status.SUCCESS)

    def unheld(request: httpx.Request) -> httpx.Response:
        """A proxy between that does not hold answers back."""
        url = request.url.copy_set_param("wait", "0")
        return api.transport.handle_request(httpx.Request(request.method, url, headers=request.headers))

    key = api.token()
    vardy = Vardy(
        "http://vardy", api_key=key, transport=httpx.MockTransport(unheld), pause=pause, now=api.clock.monotonic
    )
    assert vardy.wait(job.id).status is Status.SUCCESS
    assert pauses == [0.5, 0.5, 0.5]


def test_lists_are_pages_or_everything(api: ApiWorld, vardy: Vardy) -> None:
    ids = {api.job().id for _ in range(3)}
    api.job(Status.PENDING_APPROVAL)
    page = vardy.list_jobs(status=Status.QUEUED, limit=2)
    assert len(page.items) == 2
    assert len(vardy.list_jobs(status=["QUEUED"], cursor=page.next, limit=2).items) == 1
    assert {item.id for item in vardy.iterate_jobs(status="QUEUED", kind="run", user="ana")} == ids
    assert vardy.list_jobs(created_after=datetime(2100, 1, 1, tzinfo=UTC)).items == ()


def test_the_plan_is_checked_against_its_digest(api: ApiWorld, vardy: Vardy) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    plan = vardy.plan(job.id)
    assert plan == job.plan
    assert plan.body().effects[0].function == "refund_payment"

    def forged(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"ETag": f'"{job.digest}"'}, content=plan.text.replace("refund", "grant_"))

    with pytest.raises(ClientError, match="digest"):
        Vardy("http://vardy", api_key="k", transport=httpx.MockTransport(forged)).plan(job.id)


def test_the_console_is_there(api: ApiWorld, vardy: Vardy) -> None:
    assert vardy.console(api.job().id).lines == ()


# --- decisions and commits -----------------------------------------------------------------------------------


def test_commit_approves_exactly_the_plan_that_was_shown(api: ApiWorld, vardy: Vardy) -> None:
    shown = vardy.get(api.job(Status.PENDING_APPROVAL).id)
    worker(api, lambda job_id: api.move(job_id, Status.COMMITTING, Status.SUCCESS))
    done = vardy.commit(shown, user=LEA)
    assert (done.status, done.decisions[0].digest) == ("SUCCESS", shown.plan and shown.plan.digest)


def test_commit_of_a_planned_job_commits_it(api: ApiWorld, vardy: Vardy) -> None:
    shown = vardy.get(api.job(Status.PLANNED).id)
    assert vardy.commit(shown, user=ANA).status is Status.PENDING_APPROVAL


def test_a_job_given_by_id_needs_the_digest_of_its_plan(api: ApiWorld, vardy: Vardy) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    with pytest.raises(InvalidArguments) as raised:
        vardy.approve(job.id, user=LEA)
    assert (raised.value.code, raised.value.status) == ("digest.missing", 428)
    with pytest.raises(PlanChanged):
        vardy.approve(job.id, user=LEA, digest="0")
    assert vardy.approve(job.id, user=LEA, digest=job.digest, wait=False).status is Status.COMMITTING


def test_a_job_without_a_plan_has_nothing_to_decide(api: ApiWorld, vardy: Vardy) -> None:
    worker(api, succeed(api, 3))
    answered = vardy.run("how much is open?", user=ANA)
    with pytest.raises(NotFound, match=f"{answered.id} is SUCCESS and has no plan"):
        vardy.commit(answered, user=LEA)


def test_deny_ends_the_job(api: ApiWorld, vardy: Vardy) -> None:
    shown = vardy.get(api.job(Status.PENDING_APPROVAL).id)
    denied = vardy.deny(shown, user=LEA, reason="Not today.")
    assert (denied.status, denied.decisions[0].reason) == ("POLICY_BLOCKED", "Not today.")


def test_the_program_is_asked_about_every_plan_that_waits_once(api: ApiWorld, kind: Kind) -> None:
    needs = (ApprovalNeed(rule="r", quorum=2),)
    job = api.job(Status.PENDING_APPROVAL, needs=needs)
    asked: list[str] = []

    def on_approval(seen: JobView) -> Decision:
        asked.append(seen.id)
        return Decision(approve=True, user=LEA)

    waiting = client_of(api, kind, on_approval=on_approval).wait(job.id)
    assert (waiting.status, asked) == ("PENDING_APPROVAL", [job.id])
    worker(api, lambda job_id: api.move(job_id, Status.COMMITTING, Status.SUCCESS))
    done = client_of(api, kind, on_approval=lambda _: Decision(approve=True, user="leo")).wait(job.id)
    assert done.status is Status.SUCCESS


def test_a_coroutine_may_be_asked_about_a_plan(api: ApiWorld) -> None:
    worker(api, lambda job_id: api.move(job_id, Status.COMMITTING, Status.SUCCESS))

    async def on_approval(seen: JobView) -> Decision:
        await asyncio.sleep(0)
        return Decision(approve=seen.plan is not None, user=LEA)

    vardy = client_of(api, Kind.ASYNC, on_approval=on_approval)
    assert vardy.wait(api.job(Status.PENDING_APPROVAL).id).status is Status.SUCCESS


def test_a_program_that_has_no_answer_leaves_the_job_pending(api: ApiWorld, kind: Kind) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    assert client_of(api, kind, on_approval=lambda _: None).wait(job.id).status is Status.PENDING_APPROVAL
    asked = client_of(api, kind, on_approval=lambda _: Decision(approve=False, user=LEA, reason="No."), via="cli")
    denied = asked.wait(job.id)
    assert (denied.status, denied.decisions[0].via) == (Status.POLICY_BLOCKED, "cli")


def test_operators_repair_a_partial_job(api: ApiWorld, vardy: Vardy) -> None:
    job = api.job(Status.PARTIAL, records=(EffectRecord(seq=0, state=EffectState.UNKNOWN),))
    with pytest.raises(Conflict) as raised:
        vardy.requeue(job.id, user=LEA)
    assert (raised.value.code, raised.value.details) == ("commit.unresolved", {"effects": [0]})
    resolved = vardy.resolve(job.id, 0, done=False, reason="No trace of it.", user=LEA)
    assert resolved.effects[0].state == "RESOLVED_NOT_DONE"
    assert vardy.requeue(resolved, user=LEA).status is Status.COMMITTING
    assert vardy.cancel(resolved, user=LEA).status is Status.COMMITTING
    other = api.job(Status.PARTIAL)
    assert vardy.discard(other.id, reason="By hand.", user=LEO).error is not None


# --- the rest ----------------------------------------------------------------------------------------------------


def test_recipes_are_saved_read_and_deleted(api: ApiWorld, vardy: Vardy) -> None:
    saved = vardy.save_recipe("payments", source=SOURCE, description="All.", expect_version=0)
    assert (saved.version, saved.functions) == (1, {"list_payments": "v1"})
    vardy.save_recipe("payments", from_job=api.job(Status.SUCCESS).id, params_schema={"type": "object"})
    assert [recipe.version for recipe in vardy.recipe_versions("payments")] == [1, 2]
    assert vardy.recipe("payments").version == 2
    assert [recipe.name for recipe in vardy.recipes()] == ["payments"]
    assert vardy.run(recipe="payments", user="ana", wait=False).recipe == "payments"
    vardy.delete_recipe("payments")
    with pytest.raises(NotFound):
        vardy.recipe("payments")
    with pytest.raises(Invalid) as raised:
        vardy.save_recipe("payments", source="async function run() { await fetch('x'); return 1; }")
    assert raised.value.problems[0]["line"] == 1


def test_rules_functions_prompts_keys_queues_and_health(vardy: Vardy) -> None:
    assert vardy.check_rules("default: block\n").dry_run
    assert vardy.apply_rules("default: block\n", user=LEA, expect_version=0).version == 1
    assert vardy.rules().text == "default: block\n"
    with pytest.raises(Invalid) as raised:
        vardy.apply_rules("default: perhaps\n", user=LEA)
    assert raised.value.code == "rules.invalid"
    assert vardy.functions().get("list_payments") is not None
    assert vardy.prompt("how much?", user="ana", functions=["list_payments"], params={"a": 1}).messages
    made = vardy.create_key(["read"], name="desk", expires_in_seconds=600)
    assert made.id in {key.id for key in vardy.keys()}  # noqa: SIM118 - no mapping
    assert vardy.key(made.id).quota.jobs_max is None
    assert vardy.change_key(made.id, quota={"jobs_max": 3}).quota.jobs_max == 3
    assert vardy.rotate_key(made.id, keep_seconds=60).key != made.key
    assert vardy.revoke_key(made.id).revoked_at is not None
    assert vardy.queues().queues[0].depth == 0
    assert vardy.health().ok


def test_problems_become_exceptions_of_their_kind(api: ApiWorld, kind: Kind, vardy: Vardy) -> None:
    with pytest.raises(NotFound) as missing:
        vardy.get("job_1")
    assert (missing.value.code, missing.value.status) == ("job.not_found", 404)
    with pytest.raises(Unauthorized):
        client_of(api, kind, "vk_wrong").get("job_1")
    with pytest.raises(Forbidden):
        client_of(api, kind, api.token(Scope.READ)).run("a", user="ana")
    with pytest.raises(Invalid):
        vardy.run("a", user="ana", limits={"no_such": 1})

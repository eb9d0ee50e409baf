"""A recipe with an envelope over the real processes: plan, rules, approval, commit, and no model at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.deployment import Deployment, running
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vardy_api.client import Vardy
    from vardy_api.embedded import EmbeddedServer
    from vardy_worker.contracts.view import JobView

ANA = User(id="ana", roles=("support",))
LEA = User(id="lea", roles=("support_lead",))
SECONDS = 60.0
RULES = """\
default: block
rules:
  - {name: inside, on: [refund_payment], when: recipe.within_envelope, then: allow}
  - name: outside
    on: [refund_payment]
    when: "!recipe.within_envelope && plan.sums.refund_payment.amount_cents <= 9000"
    then: approve
    approvers: {roles: [support_lead]}
"""
ONLY_INSIDE = 'default: allow\nrules:\n  - {name: only, on: ["*"], when: "!recipe.within_envelope", then: block}\n'
SOURCE = """\
async function run(params) {
  const refunds = [];
  for (const each of params.refunds) {
    refunds.push(await refund_payment({payment_id: each.payment, amount_cents: each.cents, reason: "Damaged."}));
  }
  return {refunds: refunds.length, first: refunds[0].id};
}
"""
SCHEMA = {
    "type": "object",
    "required": ["refunds"],
    "additionalProperties": False,
    "properties": {
        "refunds": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["payment", "cents"],
                "properties": {"payment": {"type": "integer"}, "cents": {"type": "integer", "minimum": 1}},
            },
        }
    },
}
ENVELOPE = {
    "functions": {
        "refund_payment": {"effects_max": 2, "arguments": {"amount_cents": {"min": 1, "max": 500, "sum_max": "800"}}}
    }
}


@pytest.fixture(scope="module")
def client(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vardy]:
    folder: Path = tmp_path_factory.mktemp("envelopes")
    (folder / "rules.yaml").write_text(RULES, encoding="utf-8")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(folder / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
        "VARDY_MODEL_RETRIES": "0",
    }
    with ScriptedModel() as unused:
        made = Deployment(acceptance_server, unused, folder, namespace="envelopes", settings=settings)
        with running(made, "api"), made.client() as vardy:
            # Nobody listens there: whoever asks the model fails.
            made.start("worker", OPENAI_API_BASE="http://127.0.0.1:1")
            vardy.save_recipe("damaged", source=SOURCE, params_schema=SCHEMA, envelope=ENVELOPE, reviewed_by="lea")
            yield vardy


def refund(client: Vardy, *pairs: tuple[int, Any], mode: str = "execute") -> JobView:
    params = {"refunds": [{"payment": payment, "cents": cents} for payment, cents in pairs]}
    return client.run(recipe="damaged", params=params, user=ANA, mode=mode, timeout_seconds=SECONDS)


def test_inside_its_envelope_a_recipe_is_committed_without_anybody_and_without_a_model(client: Vardy) -> None:
    job = refund(client, (1, 300), (2, 500))
    assert job.status is Status.SUCCESS
    assert [effect.state.value for effect in job.effects] == ["SUCCEEDED", "SUCCEEDED"]
    assert job.output["refunds"] == 2
    assert isinstance(job.output["first"], int), "what a write returned, put in after the commit"
    assert job.plan is not None
    assert (job.plan.verdict.value, job.plan.approvals) == ("allow", ())
    assert (job.usage.prompt_tokens, job.usage.completion_tokens, job.usage.model) == (0, 0, "")
    unreachable = client.run("Cancel order 17", user=ANA, timeout_seconds=SECONDS)
    assert unreachable.status is Status.GENERATION_ERROR, "the model really is gone"


def test_outside_its_envelope_it_waits_for_the_lead_and_is_then_committed(client: Vardy) -> None:
    job = refund(client, (3, 501))
    assert job.status is Status.PENDING_APPROVAL
    assert job.plan is not None
    assert [need.roles for need in job.plan.approvals] == [("support_lead",)]
    done = client.approve(job, user=LEA, timeout_seconds=SECONDS)
    assert (done.status, done.effects[0].state.value) == (Status.SUCCESS, "SUCCEEDED")


def test_what_to_leave_out_of_a_plan_that_waits_is_told(client: Vardy) -> None:
    job = refund(client, (4, 400), (4, 501))
    assert job.plan is not None
    assert job.plan.avoidable is not None
    assert job.plan.avoidable.without == (1,)


def test_far_outside_it_is_blocked_and_nothing_is_changed(client: Vardy) -> None:
    job = refund(client, (4, 9001))
    assert job.status is Status.POLICY_BLOCKED
    assert [effect.state.value for effect in job.effects] == ["PENDING"]


def test_wrong_params_name_their_field_and_change_nothing(client: Vardy) -> None:
    job = refund(client, (4, 0))
    assert (job.status, job.effects) == (Status.VALIDATION_BLOCKED, ())
    assert job.error is not None
    assert [each["at"] for each in job.error.details["problems"]] == ["/refunds/0/cents"]


def test_a_replay_and_the_commit_of_a_planned_job_know_the_envelope(client: Vardy) -> None:
    inside, outside = refund(client, (5, 100), mode="plan"), refund(client, (5, 501), mode="plan")
    assert [job.status for job in (inside, outside)] == [Status.PLANNED] * 2
    changes = {}
    for job in (inside, outside):
        [item] = client.test_rules(ONLY_INSIDE, job=job.id).items
        changes[job.id] = item.after
    assert {name: after and after.value for name, after in changes.items()} == {inside.id: "allow", outside.id: "block"}
    client.apply_rules(ONLY_INSIDE)
    try:
        assert client.commit(inside, user=ANA, timeout_seconds=SECONDS).status is Status.SUCCESS
        assert client.commit(outside, user=ANA, timeout_seconds=SECONDS).status is Status.POLICY_BLOCKED
    finally:
        client.apply_rules(RULES)

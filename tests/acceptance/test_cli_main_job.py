"""The main job from the first key to a repaired commit, by commands alone: exit codes and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.deployment import ROOT, Deployment, running
from vardy_api.cli.exits import ExitCode
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.store.connection import connect
from vardy_worker.store.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from vardy_api.embedded import EmbeddedServer

RULES = ROOT / "vardy_worker" / "demo" / "rules.yaml"
ANA = ("--user", "ana", "--role", "support")
LEA = ("--user", "lea", "--role", "support_lead")
BOOTSTRAP = ("keys", "create", "--bootstrap", "--name", "operations")
SCOPES = [f"--scope={scope}" for scope in ("submit", "read", "decide", "operate", "admin")]


@dataclass
class Cli:
    """Runs commands as somebody whose environment names the API and a key."""

    deployment: Deployment
    key: str = ""

    def __call__(self, *arguments: str, code: ExitCode = ExitCode.OK, **environment: str) -> str:
        """What the command printed; its exit code must be the expected one."""
        done = self.deployment.cli(*arguments, check=False, **{"VARDY_API_KEY": self.key, **environment})
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *arguments: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
        """The JSON that the command printed."""
        parsed: dict[str, Any] = json.loads(self(*arguments, "--json", code=code))
        return parsed

    def problem(self, *arguments: str, code: ExitCode, **environment: str) -> dict[str, Any]:
        """The problem document that the command wrote to standard error."""
        settings = {"VARDY_API_KEY": self.key, **environment}
        done = self.deployment.cli(*arguments, "--json", check=False, **settings)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.stdout == ""
        parsed: dict[str, Any] = json.loads(done.stderr)
        assert parsed["exit_code"] == code
        return parsed


@pytest.fixture(scope="module")
def cli(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A deployment without any key, and the key that the first command makes."""
    folder = tmp_path_factory.mktemp("cli")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(RULES),
        "VARDY_DEMO_DIR": str(folder / "shop"),
    }
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="cli", settings=settings)
        with running(made, "api", "worker", with_key=False):
            first = Cli(made)
            first.key = first.json(*BOOTSTRAP, *SCOPES)["key"]
            yield first


def ids(listed: dict[str, Any]) -> list[str]:
    return [item["id"] for item in listed["items"]]


def asked(cli: Cli, request: str, *options: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    return cli.json("run", request, *ANA, *options, code=code)


def sent_to_model(cli: Cli) -> list[Any]:
    """The messages of every request since the last `forget`."""
    return [request.json["messages"] for request in cli.deployment.model.requests]


def test_keys(cli: Cli) -> None:
    assert cli.problem(*BOOTSTRAP, "--scope=admin", code=ExitCode.CONFLICT)["code"] == "key.exists"
    made = cli.json("keys", "create", "--name", "billing", "--scope=submit")
    billing = Cli(cli.deployment, made["key"])
    assert asked(billing, "How much does customer 3 owe?")["status"] == "SUCCESS"
    assert billing.problem("keys", "list", code=ExitCode.ERROR)["code"] == "auth.scope"
    assert made["id"] in ids(cli.json("keys", "list"))
    assert made["key"] not in cli("keys", "list", "--json")
    cli("keys", "revoke", made["id"])
    refused = billing.problem("run", "How much does customer 3 owe?", *ANA, code=ExitCode.ERROR)
    assert refused["code"] == "auth.invalid"


def test_functions_rules_and_prompts(cli: Cli, tmp_path: Path) -> None:
    names = [spec["name"] for spec in cli.json("functions", "list", "--kind", "write")["functions"]]
    assert "refund_payment" in names
    assert "list_invoices" not in names
    assert "amount_cents" in cli("functions", "show", "refund_payment")
    assert cli.problem("functions", "show", "refund_paymnt", code=ExitCode.NOT_FOUND)["code"] == "function.not_found"

    before = cli.json("rules", "show")
    assert before["text"] == RULES.read_text(encoding="utf-8")
    assert cli("rules", "show").endswith(before["text"])
    file = tmp_path / "rules.yaml"
    file.write_text(
        f"{before['text']}\n  - name: couriers\n    on: [book_courier]\n    then: allow\n", encoding="utf-8"
    )
    checked = cli.json("rules", "check", str(file))
    assert checked["digest"] != before["digest"]
    assert cli.json("rules", "show") == before
    applied = cli.json("rules", "apply", str(file), "--user", "olga")
    assert applied["version"] == before["version"] + 1
    assert cli.json("rules", "show")["digest"] == checked["digest"]

    cli.deployment.model.forget()
    request = "What is the status of order 17?"
    shown = cli.json("prompts", "show", request, *ANA)
    assert sent_to_model(cli) == []
    assert asked(cli, request)["status"] == "SUCCESS"
    assert sent_to_model(cli) == [shown["messages"]]


def test_a_job_is_submitted_watched_and_cancelled(cli: Cli) -> None:
    job = asked(cli, "Which customers have overdue invoices?", "--metadata", "ticket=7")
    assert (job["status"], job["metadata"]) == ("SUCCESS", {"ticket": "7"})
    shown = cli.json("jobs", "show", job["id"])
    assert shown["output"] == job["output"]
    assert job["id"] in ids(cli.json("jobs", "list", "--user", "ana", "--status", "success"))
    assert "SUCCESS" in cli("jobs", "wait", job["id"])

    endless = asked(cli, "Count to infinity", "--no-wait", "--limit", "guest_cpu_seconds_max=2")
    cli("jobs", "wait", endless["id"], "--timeout", "0.1s", code=ExitCode.WAIT_TIMED_OUT)
    ended = cli.json("jobs", "wait", endless["id"], code=ExitCode.ERROR)
    assert (ended["status"], ended["error"]["code"]) == ("EXECUTION_ERROR", "execution.cpu")

    first, second = (asked(cli, "Refund 65.00 of payment 1")["id"] for _ in range(2))
    cli.problem("jobs", "cancel", first, second, code=ExitCode.CONFIRMATION_NEEDED)
    cancelled = cli.json("jobs", "cancel", first, second, "--user", "ana", "--yes")
    assert (cancelled["succeeded"], cancelled["failed"]) == (2, 0)
    assert cli.json("jobs", "show", first)["status"] == "CANCELLED"
    assert cli.problem("jobs", "cancel", job["id"], "--user", "ana", code=ExitCode.CONFLICT)["code"] == "job.conflict"
    unknown = "job_00000000000000000000000000"
    assert cli.problem("jobs", "show", unknown, code=ExitCode.NOT_FOUND)["code"] == "job.not_found"


def test_a_plan_is_approved_and_another_one_denied(cli: Cli) -> None:
    job = asked(cli, "Refund 60.00 of payment 1")
    assert job["status"] == "PENDING_APPROVAL"
    digest = job["plan"]["digest"]
    assert job["id"] in ids(cli.json("approvals", "list"))
    whole = cli("approvals", "show", job["id"])
    assert "refund_payment" in whole
    assert digest[:12] in whole

    approve = ("approvals", "approve", job["id"], "--digest")
    cli.problem(*approve, "0" * 12, *LEA, code=ExitCode.CONFLICT)
    own = cli.problem(*approve, digest, "--user", "ana", "--role", "support_lead", code=ExitCode.ERROR)
    assert own["code"] == "approval.requester"
    done = cli.json(*approve, digest[:12], *LEA)
    assert (done["status"], done["decisions"][0]["via"]) == ("SUCCESS", "cli")
    assert cli.problem(*approve, digest, *LEA, code=ExitCode.CONFLICT)["code"] == "job.conflict"

    other = asked(cli, "Refund 70.00 of payment 1")
    deny = ("approvals", "deny", other["id"], *LEA)
    cli.problem(*deny, code=ExitCode.USAGE)
    denied = cli.json(*deny, "--reason", "too much")
    assert (denied["status"], denied["error"]["code"]) == ("POLICY_BLOCKED", "policy.denied")
    assert ids(cli.json("approvals", "list")) == []


def test_a_planned_job_is_committed(cli: Cli) -> None:
    planned = asked(cli, "Cancel order 17", "--mode", "plan")
    assert planned["status"] == "PLANNED"
    done = cli.json("jobs", "commit", planned["id"], "--digest", planned["plan"]["digest"], *ANA)
    assert done["status"] == "SUCCESS"


def test_a_commit_of_unknown_outcome_is_resolved_and_requeued(cli: Cli) -> None:
    job = asked(cli, "Book a courier for order 5", code=ExitCode.ERROR)
    assert (job["status"], job["error"]["code"]) == ("PARTIAL", "commit.unknown")
    assert job["id"] in ids(cli.json("commits", "list", "--error", "commit.unknown"))
    assert "UNKNOWN" in cli("commits", "show", job["id"])
    cli("commits", "requeue", job["id"], *LEA, code=ExitCode.CONFLICT)
    booking = json.dumps({"id": 1, "order_id": 5, "collect_on": "2026-01-01"})
    resolve = ("commits", "resolve", job["id"], "0", "--done", "--result", booking, *LEA)
    cli.problem(*resolve, code=ExitCode.USAGE)
    resolved = cli.json(*resolve, "--reason", "the courier has it")
    assert (resolved["status"], resolved["effects"][0]["state"]) == ("PARTIAL", "RESOLVED_DONE")
    cli("commits", "requeue", job["id"], *LEA)
    assert cli.json("jobs", "show", job["id"])["status"] == "SUCCESS"


def test_requeueing_many_reports_those_that_could_not_be(cli: Cli) -> None:
    stuck = asked(cli, "Book a courier for order 5", code=ExitCode.ERROR)["id"]
    failed = asked(cli, "Cancel order 2", code=ExitCode.ERROR)
    assert failed["status"] == "FUNCTION_ERROR"
    done = cli.json("commits", "requeue", stuck, failed["id"], *LEA, "--yes", code=ExitCode.BULK_FAILED)
    assert done["total"] == 2
    assert {item["job"]: item["ok"] for item in done["items"]}[stuck] is False


def test_recipes(cli: Cli) -> None:
    job = asked(cli, "How much does this customer owe?", "--params", '{"customer_id": 3}')
    schema = json.dumps(
        {"type": "object", "properties": {"customer_id": {"type": "integer"}}, "required": ["customer_id"]}
    )
    save = ("recipes", "save", "owed", "--from-job", job["id"], "--reviewed-by", "rita", "--params-schema", schema)
    saved = cli.json(*save)
    assert saved["version"] == 1
    assert cli.problem(*save, "--expect-version", "0", code=ExitCode.CONFLICT)["code"] == "recipe.conflict"
    assert [item["name"] for item in cli.json("recipes", "list")["items"]] == ["owed"]
    assert cli.json("recipes", "show", "owed")["source"] == job["program"]["source"]
    cli.deployment.model.forget()
    done = cli.json("recipes", "run", "owed", "--params", '{"customer_id": 3}', *ANA)
    assert done["output"] == job["output"]
    wrong = cli.json("run", "--recipe", "owed", "--params", '{"customer_id": "3"}', *ANA, code=ExitCode.ERROR)
    assert (wrong["status"], wrong["error"]["code"]) == ("VALIDATION_BLOCKED", "validation.params")
    assert sent_to_model(cli) == []


def test_doctor_and_an_api_that_is_not_there(cli: Cli) -> None:
    assert cli.json("doctor")["ok"] is True
    gone = cli.problem("jobs", "list", code=ExitCode.UNREACHABLE, VARDY_URL="http://127.0.0.1:1")
    assert gone["code"] == "client.unreachable"
    assert "http://127.0.0.1:1" in gone["detail"]


# --- who did what ----------------------------------------------------------------------------------


def test_the_audit_trail_tells_who_did_what(cli: Cli) -> None:
    parked = asked(cli, "Refund 80.00 of payment 1")
    approve = ("approvals", "approve", parked["id"], "--digest", parked["plan"]["digest"], *LEA)
    assert cli.json(*approve)["status"] == "SUCCESS"
    cli.problem(*approve, code=ExitCode.CONFLICT)
    told = cli.json("audit", "list", "--job", parked["id"])["items"][::-1]
    assert [(entry["n"], entry["action"], entry["by"], entry["via"]) for entry in told] == [
        (1, "job.submitted", "ana", "cli"),
        (2, "plan.made", "vardy", "worker"),
        (3, "decision.approve", "lea", "cli"),
        (4, "job.settled", "vardy", "worker"),
    ]
    assert [entry["after"]["status"] for entry in told] == ["QUEUED", "PENDING_APPROVAL", "COMMITTING", "SUCCESS"]
    assert {entry["digest"] for entry in told[1:]} == {parked["plan"]["digest"]}
    assert told[0]["address"] == told[2]["address"] == "127.0.0.1"
    assert "Refund 80.00" not in json.dumps(told)
    settings = cli.json("audit", "list", "--chain", "settings", "--all")["items"]
    assert {"key.created", "rules.applied"} <= {entry["action"] for entry in settings}
    assert cli.json("audit", "list", "--by", "lea", "--action", "decision.approve", "--limit", "1")["items"] == [
        told[2]
    ]


def test_a_trail_is_exported_checked_and_held_against_what_it_was(cli: Cli, tmp_path: Path) -> None:
    job = asked(cli, "Cancel order 18", "--mode", "plan")
    file = str(tmp_path / "audit.jsonl")
    whole = cli.json("audit", "export", "--to", file)
    assert cli.json("audit", "verify")["ok"]
    cli("jobs", "cancel", job["id"], *ANA)
    assert cli.json("audit", "export", "--to", file, "--append")["entries"] == 1
    checked = cli.json("audit", "verify", "--file", file)
    assert (checked["ok"], checked["entries"]) == (True, whole["entries"] + 1)
    assert cli.json("audit", "verify", "--against", file)["ok"]
    assert len(cli("audit", "export").splitlines()) == checked["entries"]

    chain = Keys("cli").audit_chain(job["id"])
    redis = connect(cli.deployment.redis.url)
    honest = cast("list[bytes]", redis.lrange(chain, 0, -1))
    redis.lset(chain, 1, honest[1].replace(b'"vardy"', b'"lea"').decode())
    [broken] = cli.json("audit", "verify", code=ExitCode.ERROR)["broken"]
    assert (broken["chain"], broken["n"]) == (job["id"], 2)
    redis.lset(chain, 1, honest[1].decode())
    assert cli.json("audit", "verify")["ok"]

    # Somebody who can write everything leaves nothing to see but what was exported.
    for name in (Keys("cli").audit_heads, Keys("cli").audit_anchors):
        redis.hdel(name, job["id"])
    redis.zrem(Keys("cli").audit_chains, job["id"])
    redis.delete(chain)
    assert cli.json("audit", "verify")["ok"]
    [gone] = cli.json("audit", "verify", "--against", file, code=ExitCode.ERROR)["broken"]
    assert (gone["chain"], gone["n"]) == (job["id"], 3)
    redis.close()

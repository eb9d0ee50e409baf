"""Schemathesis against the API as it is deployed: what the description says is what is answered.

`VARDY_SCHEMATHESIS_SECONDS` is the time of the run, and `VARDY_SCHEMATHESIS_SEED` its seed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.api import CATALOGUE
from tests.support.factories import effect, plan, policy, queued_job
from tests.support.serving import served
from vardy_api.bootstrap import build_api
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.policy import ApprovalNeed, Verdict
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import RECIPES, publish_catalogue
from vardy_worker.ports import Change, Changed
from vardy_worker.settings import load_settings
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis import Redis

    from vardy_worker.ports import JobStore

SECONDS = int(os.environ.get("VARDY_SCHEMATHESIS_SECONDS", "25"))
RECIPE = "seeded"
SEED = os.environ.get("VARDY_SCHEMATHESIS_SEED", "1")
OPT_OUTS = Path(__file__).with_name("schemathesis.toml")
RATES_OFF = {"key_requests_per_minute": 0, "user_requests_per_minute": 0}


def seed(store: JobStore, status: Status, **fields: Any) -> str:
    """A job led to a status as a worker does; its id."""
    record = queued_job(created_at_ms=SystemClock().now_ms())
    store.submit(record, None, due_at_ms=0)
    steps = {
        Status.QUEUED: (),
        Status.RUNNING: (Status.RUNNING,),
        Status.PARTIAL: (Status.RUNNING, Status.COMMITTING, Status.PARTIAL),
    }.get(status, (Status.RUNNING, status))
    before = Status.QUEUED
    for after in steps:
        planned = {
            "program": Program(source="async function run() {}", sha256=sha256_text("program")),
            "plan": plan(record.id, effect(), effect(1)),
            "revision": 1,
            "policy": policy(Verdict.APPROVE, 2, ApprovalNeed(rule="a-rule")),
        }
        given = {} if after is Status.RUNNING else {**planned, **fields}
        records = given.pop("records", ())
        change = Change(record.id, frozenset({before}), after, set=given, effects=records)
        assert isinstance(store.change(change), Changed)
        before = after
    return record.id


def parameters(operation: str, **values: str) -> str:
    """A part of the configuration that gives an operation's parameters their values."""
    lines = "\n".join(f'"{name}" = "{value}"' for name, value in values.items())
    return f'\n[[operations]]\ninclude-operation-id = "{operation}"\n[operations.parameters]\n{lines}\n'


def seeded(store: JobStore, victim: str) -> str:
    """The parameters by which operations reach jobs in the status they are about."""
    unknown = (EffectRecord(seq=0, state=EffectState.UNKNOWN), EffectRecord(seq=1))
    about: Mapping[str, str] = {
        "decide": seed(store, Status.PENDING_APPROVAL),
        "commit": seed(store, Status.PLANNED),
        "cancel": seed(store, Status.QUEUED),
        "discard": seed(store, Status.PARTIAL, records=unknown),
        "requeue": seed(store, Status.PARTIAL, records=unknown),
        "read_plan": seed(store, Status.PENDING_APPROVAL),
        # One that has settled, since the stream of another one does not end.
        "follow_job": seed(store, Status.PENDING_APPROVAL),
    }
    seed(store, Status.SUCCESS)
    seed(store, Status.RUNNING)
    resolved = seed(store, Status.PARTIAL, records=unknown)
    return (
        "".join(parameters(operation, job_id=job_id) for operation, job_id in about.items())
        + parameters("resolve", job_id=resolved, seq="0")
        # Waiting for what no worker does would take all the time there is.
        + parameters("read_job", wait="0.1")
        + parameters("read_recipe_version", name=RECIPE, version="1")
        # The key that asks must outlive the run.
        + "".join(parameters(operation, key_id=victim) for operation in ("revoke_key", "rotate_key", "change_key"))
    )


@pytest.mark.timeout(SECONDS + 120)
def test_the_api_answers_as_its_description_says(
    redis_client: Redis, redis_url: str, namespace: str, tmp_path: Path
) -> None:
    documents = RedisDocuments(redis_client, namespace)
    publish_catalogue(documents, CATALOGUE)
    keys = KeyOperations(documents, SystemClock())
    _, token = keys.create(KeyCreate(owner="shop", scopes=tuple(Scope)))
    victim, _ = keys.create(KeyCreate(owner="victim", scopes=(Scope.READ,)))
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        OPT_OUTS.read_text(encoding="utf-8") + seeded(RedisJobStore(redis_client, namespace), victim.id),
        encoding="utf-8",
    )
    recipe = Recipe(name=RECIPE, source="async function run() {\n  return 1;\n}\n", reviewed_by="lea")
    documents.put(RECIPES, RECIPE, recipe.model_dump(mode="json", exclude={"version"}))
    settings = load_settings(redis_url=redis_url, namespace=namespace, **RATES_OFF)
    with served(build_api(settings)) as server:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"),
            *("--max-time", str(SECONDS), "--seed", SEED, "--max-examples", "15", "--request-timeout", "20"),
            *("--header", f"Authorization: Bearer {token}", f"{server.url}/openapi.json"),
        ]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr

"""Wrong settings, files, requests and absent servers: one clear error each, naming what to fix."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.deployment import KEY, VARDY, Deployment, clean_environment
from vardy_api.client_errors import Invalid
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

if TYPE_CHECKING:
    from pathlib import Path

    from vardy_api.client import Vardy

ANA = User(id="ana", roles=("support",))
SECONDS = 60.0
NOBODY = "redis://127.0.0.1:1/0"
SHOP = "vardy_worker.demo.shop:functions"

BROKEN_MODULES = {
    "crooked": "raise OSError('the disk of the company')\n",
    "hollow": "from vardy_worker import Functions\nfunctions = Functions()\n",
    "reserved": (
        "from vardy_worker import Functions\nfunctions = Functions()\n"
        "@functions.read(name='delete')\ndef remove() -> int:\n    return 1\n"
    ),
    "untyped": (
        "from vardy_worker import Functions\nfunctions = Functions()\n"
        "@functions.read\ndef find(name) -> int:\n    return 1\n"
    ),
    "unopened": (
        "from vardy_worker import Functions\nfunctions = Functions()\n"
        "@functions.read\ndef find() -> int:\n    return 1\n"
        "@functions.on_start\ndef open_pool() -> None:\n    raise OSError('the password of the company')\n"
    ),
}
BROKEN_RULES = {
    "no yaml": ("rules: [\n", r"[Ll]ine 2"),
    "an unknown verdict": (
        "rules:\n  - name: a\n    on: [send_email]\n    then: perhaps\n",
        "must be allow, approve or block",
    ),
    "an unknown function": ("rules:\n  - name: a\n    on: [send_emails]\n    then: allow\n", "send_emails"),
    "a condition with a typo": (
        "rules:\n  - name: a\n    on: [refund_payment]\n    when: args.amount_cent > 1\n    then: allow\n",
        "amount_cent",
    ),
}


def fails(*arguments: str, folder: Path, **settings: str) -> str:
    """Runs a process of the Procfile that must not start; what it said, without Celery's own warnings."""
    done = subprocess.run(
        [VARDY, *arguments],
        env=clean_environment(**settings),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    return said


@pytest.mark.parametrize(
    ("process", "settings", "named"),
    [
        ("api", {}, "VARDY_REDIS_URL is not set"),
        ("worker", {}, "VARDY_REDIS_URL is not set"),
        ("worker", {"VARDY_REDIS_URL": NOBODY}, "VARDY_FUNCTIONS is not set"),
        ("api", {"VARDY_REDIS_URL": "http://127.0.0.1:1/0"}, "VARDY_REDIS_URL is not a Redis address"),
        ("api", {"VARDY_REDIS_URL": NOBODY, "VARDY_API_PORT": "eighty"}, "VARDY_API_PORT is wrong"),
        ("api", {"VARDY_REDIS_URL": NOBODY, "VARDY_RULES": "nowhere.yaml"}, "VARDY_RULES names nowhere.yaml"),
        ("worker", {"VARDY_REDIS_URL": NOBODY, "VARDY_WORKER_QUEUES": "runs"}, "VARDY_WORKER_QUEUES is wrong"),
        (
            "worker",
            {"VARDY_REDIS_URL": NOBODY, "VARDY_EXECUTE_SECONDS_MAX": "-1"},
            "VARDY_EXECUTE_SECONDS_MAX is wrong",
        ),
    ],
)
def test_a_wrong_or_missing_setting_stops_the_start_with_one_sentence_that_names_it(
    tmp_path: Path, process: str, settings: dict[str, str], named: str
) -> None:
    said = fails(process, folder=tmp_path, **settings)
    assert said.startswith(f"Error: {named}"), said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("functions", "named"),
    [
        ("nowhere:functions", "VARDY_FUNCTIONS names the module nowhere, which cannot be found"),
        ("vardy_worker.demo.shop", "VARDY_FUNCTIONS must look like module:attribute"),
        ("vardy_worker.demo.shop:tools", "it has vardy_worker.demo.shop:functions"),
        ("crooked:functions", "VARDY_FUNCTIONS names crooked, whose import fails with OSError"),
        ("hollow:functions", "in which no function is registered"),
        ("reserved:functions", "delete"),
        ("untyped:functions", "name"),
    ],
)
def test_a_wrong_functions_module_stops_the_worker_and_says_what_to_fix(
    tmp_path: Path, functions: str, named: str
) -> None:
    for name, text in BROKEN_MODULES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    said = fails("worker", folder=tmp_path, VARDY_REDIS_URL=NOBODY, VARDY_FUNCTIONS=functions)
    assert named in said
    assert said.count("worker.not_started") == 1
    assert said.count("worker.runs_as_root") == (os.geteuid() == 0)
    assert "SecurityWarning" not in said
    assert "Traceback" not in said
    assert "of the company" not in said


def test_a_start_hook_that_fails_stops_the_worker_and_its_reason_is_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "unopened.py").write_text(BROKEN_MODULES["unopened"], encoding="utf-8")
    said = fails("worker", folder=tmp_path, VARDY_REDIS_URL=NOBODY, VARDY_FUNCTIONS="unopened:functions")
    (line,) = (line for line in said.splitlines() if "worker.not_started" in line)
    assert "The hook open_pool of VARDY_FUNCTIONS failed with OSError" in line
    assert "of the company" not in line
    found = re.search(r"err_\w+", line)
    assert found
    assert said.count(found[0]) == 2, "the log has the reason under the same id"


@pytest.mark.parametrize("process", ["api", "worker"])
def test_without_redis_a_process_that_needs_it_to_start_says_so(tmp_path: Path, process: str) -> None:
    (tmp_path / "rules.yaml").write_text("default: allow\n", encoding="utf-8")
    settings = {"VARDY_RULES": "rules.yaml", "VARDY_FUNCTIONS": SHOP, "VARDY_DEMO_DIR": str(tmp_path / "shop")}
    said = fails(process, folder=tmp_path, VARDY_REDIS_URL=NOBODY, **settings)
    assert "Redis cannot be reached; check that it runs and that VARDY_REDIS_URL is right." in said
    assert "Traceback" not in said


@pytest.mark.parametrize("case", BROKEN_RULES)
def test_a_broken_rules_file_is_refused_whole_and_the_active_rules_stay(
    deployment: Deployment, vardy: Vardy, tmp_path: Path, case: str
) -> None:
    text, named = BROKEN_RULES[case]
    file = tmp_path / "broken.yaml"
    file.write_text(text, encoding="utf-8")
    before = vardy.rules()
    applied = deployment.cli("rules", "apply", str(file), check=False)
    assert applied.returncode == 1
    assert re.search(named, applied.stderr), applied.stderr
    assert vardy.rules() == before


def test_an_api_does_not_start_with_a_broken_rules_file(deployment: Deployment, vardy: Vardy, tmp_path: Path) -> None:
    text, named = BROKEN_RULES["a condition with a typo"]
    file = tmp_path / "broken.yaml"
    file.write_text(text, encoding="utf-8")
    before = vardy.rules()
    said = fails("api", folder=tmp_path, **{**deployment.environment, "VARDY_RULES": str(file)})
    assert said.startswith(f"Error: VARDY_RULES names {file}, which is not valid"), said
    assert re.search(named, said), said
    file.write_text("default: alow\nrules:\n- {name: a, then: maybe}\n", encoding="utf-8")
    said = fails("api", folder=tmp_path, **{**deployment.environment, "VARDY_RULES": str(file)})
    assert "\n  line 1: `default` must be allow, approve or block" in said
    assert "\n  line 3: `then` must be allow, approve or block" in said
    assert vardy.rules() == before


Send = tuple[str, str, dict[str, object]]


@pytest.mark.parametrize(
    ("send", "status", "code", "named"),
    [
        (("POST", "/v1/run", {"content": b'{"request": '}), 422, "request.malformed", "JSON"),
        (("POST", "/v1/run", {"content": b"\xff\xfe"}), 422, "request.malformed", "JSON"),
        (("POST", "/v1/run", {"json": {"user": {"id": "ana"}}}), 422, "request.invalid", "request"),
        (
            ("POST", "/v1/run", {"json": {"request": "x", "user": {"id": "ana"}, "mod": 1}}),
            422,
            "request.invalid",
            "mod",
        ),
        (
            ("POST", "/v1/run", {"json": {"recipe": "no-such", "user": {"id": "ana"}}}),
            404,
            "recipe.not_found",
            "no-such",
        ),
        (("GET", "/v1/jobs/job_00000000000000000000000000", {}), 404, "job.not_found", "job"),
        (("GET", "/v1/jobs?cursor=nonsense", {}), 422, "cursor.invalid", "cursor"),
        (("GET", "/v2/run", {}), 404, "request.not_found", "/v2/run"),
    ],
)
def test_a_wrong_request_is_answered_with_a_problem_that_names_the_fault(
    deployment: Deployment, send: Send, status: int, code: str, named: str
) -> None:
    method, path, body = send
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    answer = httpx.request(method, deployment.url + path, headers=headers, timeout=30, **body)  # type: ignore[arg-type] # passed on
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert named in answer.text


def test_params_that_do_not_fit_a_recipe_settle_the_job_with_the_field(vardy: Vardy) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    source = "async function run(params) { return params.days; }"
    vardy.save_recipe("days", source=source, params_schema=schema, reviewed_by="rita")
    job = vardy.run(recipe="days", params={"days": "seven"}, user=ANA, timeout_seconds=SECONDS)
    assert job.status is Status.VALIDATION_BLOCKED
    assert job.error is not None
    assert job.error.code == "validation.params"
    assert "days" in job.error.message
    assert "seven" not in job.model_dump_json(include={"error"})


def test_a_request_for_a_function_that_does_not_exist_is_refused_with_the_nearest_name(vardy: Vardy) -> None:
    with pytest.raises(Invalid, match=r"cancel_orders.*Did you mean cancel_order"):
        vardy.run("Cancel order 17", user=ANA, functions=["cancel_orders"], timeout_seconds=SECONDS)


def test_a_model_that_cannot_be_reached_settles_the_job_and_the_next_one_finds_it_again(
    deployment: Deployment, vardy: Vardy
) -> None:
    deployment.model.stop()
    try:
        job = vardy.run("What is the status of order 17?", user=ANA, timeout_seconds=SECONDS)
    finally:
        deployment.model.start()
    assert job.status is Status.GENERATION_ERROR
    assert job.error is not None
    assert job.error.code == "generation.model_unavailable"
    assert "openai/scripted" in job.error.message
    again = vardy.run("What is the status of order 17?", user=ANA, timeout_seconds=SECONDS)
    assert again.status is Status.SUCCESS

"""`vardy demo`: the whole main job in a terminal, and an exit code that tells the truth."""

from __future__ import annotations

import json
import re
import subprocess
import time
from typing import TYPE_CHECKING

from tests.support.deployment import VARDY, clean_environment
from tests.support.process_table import naming, needs_proc

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_proc

SECONDS_MAX = 60
STEPS = (
    ("Which customers have overdue invoices?", "SUCCESS"),
    ("Which agent needs help?", "SUCCESS"),
    ("Cancel order 17", "PLANNED"),
    ("Refund 25.00 of payment 5", "SUCCESS"),
    ("Refund 60.00 of payment 1", "PENDING_APPROVAL"),
    ("Refund 1500.00 of payment 1", "POLICY_BLOCKED"),
    ("Remind every customer with an overdue invoice", "PENDING_APPROVAL"),
)


def demo(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [VARDY, "demo", "--data-dir", str(folder / "data"), *options],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_demo_shows_seven_steps_and_ends_well_within_a_minute(tmp_path: Path) -> None:
    began = time.monotonic()
    done = demo(tmp_path, "--json")
    spent = time.monotonic() - began
    shown = done.stderr
    assert done.returncode == 0, shown
    assert json.loads(done.stdout) == {"ok": True, "exit_code": 0}
    assert spent < SECONDS_MAX
    for number, (request, status) in enumerate(STEPS, start=1):
        step = shown.partition(f" {number}. ")[2].partition(f" {number + 1}. ")[0]
        assert f"“{request}”" in step
        assert f"{status}, as expected" in step
    assert re.findall(r"(\w+), as expected", shown)[-2:] == ["PARTIAL", "SUCCESS"]
    assert "the scripted model, which is no AI" in shown
    assert "what the model sees" in shown
    assert "declare function list_invoices" in shown
    assert "async function run(params)" in shown
    assert "round 2: the model is shown" in shown
    assert "Rui Madeira has 2 open tickets, 1 of them urgent" in shown
    assert "All 7 steps ended as they should" in shown
    assert naming(str(tmp_path)) == []


def test_a_demo_that_goes_wrong_says_where_and_ends_with_an_error(tmp_path: Path) -> None:
    unreachable = {"VARDY_MODEL": "openai/nobody", "OPENAI_API_BASE": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "none"}
    done = demo(tmp_path, **unreachable, VARDY_MODEL_RETRIES="0")
    assert done.returncode == 1
    assert "The demo did not go as it should" in done.stdout
    for number, (_, status) in enumerate(STEPS, start=1):
        assert f"step {number}: GENERATION_ERROR instead of {status}" in " ".join(done.stdout.split())
    assert naming(str(tmp_path)) == []

"""The guide says what the kit does: its examples pass as they stand, its tables are complete."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vardy_worker.testing import Harness
from vardy_worker.testing.crash_host import Moment

TEXT = (Path(__file__).parents[3] / "docs" / "testing.md").read_text(encoding="utf-8")
NAMED = re.compile(r"^```\w+\n(?:#|//) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCHEMA = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The examples as files."""
    for name, content in NAMED.findall(TEXT):
        (tmp_path / name).write_text(content, encoding="utf-8")
    [schema] = SCHEMA.findall(TEXT)
    (tmp_path / "refund.json").write_text(schema, encoding="utf-8")
    return tmp_path


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)


def test_the_examples_pass_as_they_stand(folder: Path) -> None:
    done = run_pytest(folder)
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)


def test_the_example_fails_when_the_key_is_forgotten(folder: Path) -> None:
    shop = folder / "shop.py"
    right = "REFUNDS.setdefault(context.idempotency_key, amount_cents)"
    assert right in shop.read_text()
    shop.write_text(shop.read_text().replace(right, "REFUNDS[str(len(REFUNDS))] = amount_cents"))
    for other in ("test_shop.py", "test_recipe.py"):
        (folder / other).unlink()
    done = run_pytest(folder)
    assert done.returncode == 1, done.stdout[-4000:]
    assert "refund_payment: its effect was applied 2 times." in done.stdout
    assert set(re.findall(r"^FAILED test_crashes.py::\w+\[([\w-]+)\]", done.stdout, re.MULTILINE)) >= {
        "lost-after-call",
        "answer-lost",
        "timed-out",
    }


def test_every_member_and_every_point_is_in_its_table() -> None:
    rows = " ".join(line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| `"))
    members = [name for name, _ in inspect.getmembers(Harness, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in members if not re.search(rf"`{name}[`(]", rows)] == []
    assert [moment for moment in Moment if f"`{moment.value}" not in rows] == []

"""Log events are constants of one style, and documented."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for package in ("vardy_api", "vardy_worker") for path in (ROOT / package).rglob("*.py"))
DEMO = ROOT / "vardy_worker" / "demo"
"""Its events are a company's own."""
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
STYLE = re.compile(r"[a-z_]+\.[a-z_]+")


def events(tree: ast.Module) -> Iterator[str]:
    """The first argument of every call of a logger; what is no constant as its source."""
    named = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS):
            continue
        if not node.args:
            continue
        event = node.args[0]
        known = event.value if isinstance(event, ast.Constant) else named.get(ast.unparse(event))
        yield known if isinstance(known, str) else ast.unparse(event)


def events_of(paths: Iterable[Path]) -> list[str]:
    return sorted({event for path in paths for event in events(ast.parse(path.read_text(encoding="utf-8")))})


@pytest.mark.parametrize("event", events_of(SOURCES))
def test_a_log_event_is_a_constant_that_names_area_and_event(event: str) -> None:
    assert STYLE.fullmatch(event)


def test_every_event_is_documented_and_no_other() -> None:
    text = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    documented = [event for row in rows for event in re.findall(r"`([^`]+)`", row)]
    assert sorted(documented) == events_of(path for path in SOURCES if DEMO not in path.parents)

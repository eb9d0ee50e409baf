"""What `docs/sandbox.md` says is shown by a test is shown by a test that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
THREATS = TEXT[TEXT.index("## Threats") : TEXT.index("### Fuzzing")]


def test_every_threat_is_shown_by_something() -> None:
    rows = re.findall(r"^\| (?!attack|---)([^|]+)\|[^|]+\|([^|]+)\|$", THREATS, re.MULTILINE)
    assert len(rows) > 8
    assert [attack for attack, shown in rows if "test_" not in shown and "corpus/" not in shown] == []


def test_every_test_that_is_named_exists() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    names = set(re.findall(r"`(test_\w+)`", THREATS))
    assert len(names) > 8
    assert [name for name in sorted(names) if f"def {name}(" not in tests] == []


def test_every_file_that_is_named_exists() -> None:
    sandbox = ROOT / "tests" / "sandbox"
    named = set(re.findall(r"`(corpus/[^`]+|test_\w+\.py)`", THREATS))
    assert [name for name in sorted(named) if not list(sandbox.glob(name))] == []
    paths = set(re.findall(r"`(tests/[^`]+\.py)`", THREATS))
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []

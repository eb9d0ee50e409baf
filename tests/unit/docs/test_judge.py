"""`docs/judge.md`: its example passes as it stands, and its numbers are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from vardy_worker.contracts.errors import JOB_ERRORS, PROBLEMS
from vardy_worker.contracts.limits import Limits
from vardy_worker.judge.ai import TRIES_MAX
from vardy_worker.judge.classify import BEGINNING_CHARACTERS, END_CHARACTERS, TEXTS_PER_CALL_MAX
from vardy_worker.programs.judge_arguments import (
    LABEL_CHARACTERS_MAX,
    LABELS_MAX,
    LABELS_MIN,
    TYPE_DEPTH_MAX,
    TYPE_FIELDS_MAX,
)
from vardy_worker.settings import Settings

TEXT = (Path(__file__).parents[3] / "docs" / "judge.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
NAMED = re.compile(r"^```\w+\n(?:#|//) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_passes_as_it_stands(tmp_path: Path) -> None:
    files = dict(NAMED.findall(TEXT))
    assert set(files) == {"topics.js", "test_topics.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "1 passed" in done.stdout


def test_its_numbers_are_those_of_the_code() -> None:
    defaults = Limits()
    days = Settings.model_fields["judge_cache_seconds"].default // 86_400
    for said in (
        f"| {LABELS_MIN} to {LABELS_MAX} different strings of 1 to {LABEL_CHARACTERS_MAX} characters",
        f"at most {TYPE_DEPTH_MAX} levels and {TYPE_FIELDS_MAX} fields",
        f"About {TEXTS_PER_CALL_MAX} texts share a call",
        f"the at most {TEXTS_PER_CALL_MAX - 1} beside it",
        f"more than {BEGINNING_CHARACTERS + END_CHARACTERS:,} characters is judged by",
        f"by its first {BEGINNING_CHARACTERS:,}",
        f"and its last {END_CHARACTERS:,}",
        f"asked for again, {('once', 'twice', 'three times')[TRIES_MAX - 1]} in all",
        f"`VARDY_JUDGE_CALLS_MAX` | {defaults.judge_calls_max} |",
        f"`VARDY_JUDGE_TOKENS_MAX` | {defaults.judge_tokens_max:,} |",
        f"`VARDY_JUDGE_CACHE_SECONDS` ({days} days",
    ):
        assert said in WORDS, said


def test_every_code_that_it_names_exists_and_every_code_of_the_judge_is_named() -> None:
    named = set(re.findall(r"`((?:execution|validation|auth)\.[a-z_]+)`", TEXT))
    assert named <= JOB_ERRORS.keys() | PROBLEMS.keys()
    assert {code for code in JOB_ERRORS if code.startswith("execution.judge_")} <= named

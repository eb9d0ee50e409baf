"""Every program of the corpus ends as its header says, in time and in bounds.

A header is comment lines at the top of the file: what it is about, and then

    expect: CODE [| CODE]      how it ends, or `returned JSON`
    says: TEXT                 in the message of the error
    at: LINE:COLUMN            where in the file the error is
    call: ID                   the failed call that is to blame
    value: NUMBER              how large what broke the limit was
    warns: TEXT                in the warnings; empty for none
    prints: TEXT               in the console
    truncated: true            the console was cut
    args: JSON                 the arguments of all calls, in order
    refs: JSON                 [at, effect, path] of all references in arguments
    output_refs: JSON          the same of the output
    ran: NUMBER                how many calls reached the host
    params: JSON               the parameters of the program
    judge: true                `classify` and `ai` exist
    limits: JSON               limits that differ
    within: SECONDS            when it must be over, instead of the deadline
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.execution import LimitHit, Returned, SandboxOutcome, Threw

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.js"))
MARGIN_SECONDS = 0.25
RSS_BYTES_MAX = 3 * 64 * 1024 * 1024


def header(source: str) -> dict[str, str]:
    found = {}
    for line in source.splitlines():
        if not line.startswith("// "):
            break
        name, colon, value = line[3:].partition(":")
        if colon and " " not in name:
            found[name] = value.strip()
    return found


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_program_of_the_corpus_ends_as_its_header_says(
    path: Path, run: Callable[..., SandboxOutcome], host: Any, sandbox: ChildSandbox, rss_bytes: Callable[[int], int]
) -> None:
    source = path.read_text(encoding="utf-8")
    expected = header(source)
    # What only its deadline can end need not wait long for it.
    default = {"execute_seconds_max": 0.6} if expected["expect"] == "execution.timeout" else {}
    limits = {**default, **json.loads(expected.get("limits", "{}"))}
    before = set(sandbox.child_pids())
    began = time.monotonic()
    judge = expected.get("judge") == "true"
    outcome = run(source, params=json.loads(expected.get("params", "{}")), judge=judge, **limits)
    seconds = time.monotonic() - began

    check_end(outcome, expected)
    check_details(outcome, expected)
    check_calls(host, expected)
    if sys.platform == "linux":
        alive = before & set(sandbox.child_pids())
        assert all(rss_bytes(pid) <= RSS_BYTES_MAX for pid in alive)
    began = time.monotonic()
    after = run("return 40 + 2;")
    idle_seconds = time.monotonic() - began
    assert isinstance(after, Returned)
    assert after.output == 42
    # What a run that does nothing takes on this machine, at this load, is not the program's doing.
    deadline = float(limits.get("execute_seconds_max", 1))
    assert seconds <= float(expected.get("within", deadline)) + idle_seconds + MARGIN_SECONDS


def check_end(outcome: SandboxOutcome, expected: dict[str, str]) -> None:
    if expected["expect"].startswith("returned"):
        assert isinstance(outcome, Returned)
        assert outcome.output == json.loads(expected["expect"].removeprefix("returned"))
        # True equals 1 in Python, so the text is compared too.
        assert json.dumps(outcome.output, sort_keys=True) == json.dumps(
            json.loads(expected["expect"].removeprefix("returned")), sort_keys=True
        )
        return
    assert isinstance(outcome, Threw | LimitHit)
    codes = [code.strip() for code in expected["expect"].split("|")]
    assert outcome.code in codes
    assert outcome.code in JOB_ERRORS
    if isinstance(outcome, Threw):
        assert len(outcome.message) <= 1500


def check_details(outcome: SandboxOutcome, expected: dict[str, str]) -> None:
    printed = "\n".join(line.text for line in outcome.console)
    if "says" in expected:
        assert isinstance(outcome, Threw)
        assert expected["says"] in outcome.message
    if "at" in expected:
        assert isinstance(outcome, Threw)
        assert f"{outcome.line}:{outcome.column}" == expected["at"]
    if isinstance(outcome, Threw):
        assert outcome.call_id == (int(expected["call"]) if "call" in expected else None)
    if "value" in expected:
        assert isinstance(outcome, LimitHit)
        assert outcome.value == float(expected["value"])
    if "warns" in expected:
        assert (
            any(expected["warns"] in text for text in outcome.warnings) if expected["warns"] else not outcome.warnings
        )
    assert expected.get("prints", "") in printed
    if "truncated" in expected:
        assert len(printed.encode()) <= 64 * 1024
        assert isinstance(outcome, LimitHit) or outcome.console_truncated
    if "output_refs" in expected:
        assert isinstance(outcome, Returned)
        assert [[ref.at, ref.effect, ref.path] for ref in outcome.output_refs] == json.loads(expected["output_refs"])


def check_calls(host: Any, expected: dict[str, str]) -> None:
    if "args" in expected:
        assert [call.args for call in host.calls] == json.loads(expected["args"])
    if "refs" in expected:
        found = [[ref.at, ref.effect, ref.path] for call in host.calls for ref in call.refs]
        assert found == json.loads(expected["refs"])
    if "ran" in expected:
        assert len(host.calls) == int(expected["ran"])

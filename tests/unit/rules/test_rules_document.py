"""The document about rules says what the code does: its examples load, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.rules import CATALOGUE, Court, condition, refund
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.policy import Verdict
from vardy_worker.rules.load import FILE_BYTES_MAX, RULES_MAX, WHEN_CHARACTERS_MAX
from vardy_worker.rules.smallest import MILLISECONDS_MAX, PARTS_MAX
from vardy_worker.rules.vocabulary import BY_ARGUMENT, BY_FUNCTION, FIXED, OPEN, ROOTS

TEXT = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
FILES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
CONDITIONS = [line for block in re.findall(r"```cel\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("text", FILES)
def test_every_example_file_loads(court: Court, text: str) -> None:
    assert court.load(text).rules


def test_the_first_example_does_what_it_says(court: Court) -> None:
    verdicts = [court.judge(FILES[0], refund(cents)).verdict for cents in (5000, 6000, 100_001)]
    assert verdicts == [Verdict.ALLOW, Verdict.APPROVE, Verdict.BLOCK]


def test_every_rule_of_the_example_of_warnings_but_the_first_is_warned_of(court: Court) -> None:
    [text] = [text for text in FILES if "contradiction" in text]
    rules = court.load(text)
    warned = [warning.rule for warning in court.engine.warnings(rules, CATALOGUE)]
    assert warned == [rule.name for rule in rules.rules[1:]]


def test_the_example_of_envelopes_does_what_it_says(court: Court) -> None:
    [text] = [text for text in FILES if "within_envelope" in text]
    envelope = Envelope.model_validate(
        {"functions": {"refund_payment": {"effects_max": 9, "arguments": {"amount_cents": {"max": 5000}}}}}
    )
    inside, outside = (
        court.judge(text, refund(cents), recipe_name="refunds", envelope=envelope) for cents in (5000, 5001)
    )
    assert inside.verdict is Verdict.ALLOW
    assert (outside.verdict, [need.roles for need in outside.approvals]) == (Verdict.APPROVE, [("support_lead",)])
    blocking = text.replace("then: approve", "then: block").replace("    approvers: {roles: [support_lead]}\n", "")
    assert court.judge(blocking, refund(5001), recipe_name="refunds", envelope=envelope).verdict is Verdict.BLOCK
    assert court.engine.warnings(court.load(text), CATALOGUE) == ()


def test_the_bounds_of_the_smallest_change_are_the_real_ones() -> None:
    assert f"evaluating {PARTS_MAX:,} parts" in TEXT
    assert f"{MILLISECONDS_MAX} ms of processor time" in TEXT


@pytest.mark.parametrize("when", CONDITIONS)
def test_every_example_condition_passes_the_check_for_a_function_that_it_fits(court: Court, when: str) -> None:
    arguments = {*re.findall(r"args\.(\w+)", when), *re.findall(r'"(\w+)" in refs', when)}
    fitting = [
        spec.name
        for spec in CATALOGUE.functions
        if spec.kind.value == "write" and arguments <= set(spec.input_schema["properties"])
    ]
    assert fitting
    for function in fitting:
        assert court.load(condition(when, on=function))


def test_there_are_examples() -> None:
    assert len(FILES) >= 1
    assert len(CONDITIONS) >= 10


def test_the_table_of_variables_is_complete() -> None:
    documented = set(re.findall(r"^\| `([a-z_.]+?)(?:\.<function>(?:\.<argument>)?)?` \|", TEXT, re.MULTILINE))
    known = {".".join(path) for path in (*FIXED, *OPEN, *BY_FUNCTION, *BY_ARGUMENT)} | {"args"}
    assert known <= documented
    assert {name.partition(".")[0] for name in known} == ROOTS


def test_the_limits_are_the_real_ones() -> None:
    assert f"{FILE_BYTES_MAX // 1024} KiB and {RULES_MAX} rules" in TEXT
    assert f"{WHEN_CHARACTERS_MAX:,} characters" in TEXT

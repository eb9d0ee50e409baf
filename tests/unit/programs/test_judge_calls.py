"""What the text of a program shows of its calls of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize(
    "call",
    [
        "classify(params.texts, ['a', 'b'])",
        "classify(params.texts, params.labels)",
        "classify(params.texts, `Is it about ${params.topic}?`)",
        "classify(params.texts, 'Is it late?', {instructions: 'Be strict.'})",
        "classify(params.texts, ['a', ...params.labels])",
        "classify(params.texts, [...params.labels])",
        "classify(params.texts, [params.one, params.two, 'c'])",
        "classify(['x', params.text, null, 3], ['a', 'b'])",
        "classify([], ['a', 'b'], undefined)",
        "classify(...params.arguments)",
        "classify(params.texts, ...params.rest)",
        "classify(params.texts, ['a', 'b'], params.options)",
        "classify(params.texts, ['a', 'b'], {...params.options})",
        "classify(params.texts, ['a', 'b'], {instructions: params.how})",
        "classify(params.texts, params.yes ? 'Is it?' : ['a', 'b'])",
        "ai('Sum it up', params, {type: 'string'})",
        "ai(`Sum up ${params.x}`, params, {type: params.type})",
        "ai('Read it', null, {type: {city: 'string', parts: [{n: 'number'}], late: 'boolean'}})",
        "ai('Read it', [undefined], {type: {city: params.kind, ...params.more}})",
        "ai('Read it', 1, {'type': ['string']})",
        "ai('Read it', 1, {type})",
        "ai('Read it', {...params}, {['type']: 'number'})",
        "ai(...['Read it', 1], {type: 'number'})",
    ],
)
def test_what_fits_or_cannot_be_seen_passes(codes: Codes, call: str) -> None:
    assert codes(f"const type = params.type;\nreturn await {call};", judge=True) == []


@pytest.mark.parametrize(
    ("call", "code", "argument"),
    [
        ("classify()", "argument_missing", "/texts"),
        ("classify(params.texts)", "argument_missing", "/labels"),
        ("classify(params.texts, undefined)", "argument_missing", "/labels"),
        ("classify('one text', ['a', 'b'])", "argument_type", "/texts"),
        ("classify(`${params.text}`, ['a', 'b'])", "argument_type", "/texts"),
        ("classify(['x', {}], ['a', 'b'])", "argument_type", "/texts/1"),
        ("classify(['x', true], ['a', 'b'])", "argument_type", "/texts/1"),
        ("classify(params.texts, [])", "argument_value", "/labels"),
        ("classify(params.texts, ['a'])", "argument_value", "/labels"),
        ("classify(params.texts, {a: 1})", "argument_type", "/labels"),
        ("classify(params.texts, true)", "argument_type", "/labels"),
        ("classify(params.texts, '')", "argument_value", "/labels"),
        ("classify(params.texts, ['late', params.x, 'Late '])", "argument_value", "/labels/2"),
        ("classify(params.texts, ['a', 2])", "argument_type", "/labels/1"),
        ("classify(params.texts, ['a', 'b'], 'be strict')", "argument_type", "/options"),
        ("classify(params.texts, ['a', 'b'], {instruction: 'x'})", "argument_unknown", "/options/instruction"),
        ("classify(params.texts, ['a', 'b'], {instructions: 5})", "argument_type", "/options/instructions"),
        ("ai()", "argument_missing", "/instruction"),
        ("ai('', params, {type: 'string'})", "argument_value", "/instruction"),
        ("ai('x', undefined, {type: 'string'})", "argument_missing", "/data"),
        ("ai('x', params)", "argument_missing", "/options/type"),
        ("ai('x', params, {})", "argument_missing", "/options/type"),
        ("ai('x', params, 'string')", "argument_type", "/options"),
        ("ai('x', params, {type: 'sting'})", "argument_value", "/options/type"),
        ("ai('x', params, {type: {when: 'date'}})", "argument_value", "/options/type/when"),
        ("ai('x', params, {type: {when: {}}})", "argument_value", "/options/type/when"),
        ("ai('x', params, {type: ['string', 'number']})", "argument_value", "/options/type"),
        ("ai('x', params, {type: null})", "argument_missing", "/options/type"),
        ("ai('x', params, {type: 'string', max: 3})", "argument_unknown", "/options/max"),
    ],
)
def test_literals_that_do_not_fit_are_found(findings: Findings, call: str, code: str, argument: str) -> None:
    found = findings(f"async function run(params) {{\n  return await {call};\n}}", judge=True)
    (first, *_) = [finding for finding in found if finding.details["argument"] == argument]
    assert (first.code, first.line) == (f"program.{code}", 2)
    assert first.hint or "did you mean" in first.message


def test_a_finding_stands_where_the_literal_stands(findings: Findings) -> None:
    source = "async function run(params) {\n  return await ai('x', params, {\n    type: {when: 'sting'},\n  });\n}"
    (found,) = findings(source, judge=True)
    assert (found.line, found.column) == (3, 18)
    assert found.message == '`options.type.when` of `ai` must be a known type; did you mean "string"?'


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("classify(params.t, ['a', 'b'], {instruction: ''})", "Did you mean `instructions`?"),
        ("classify(params.t, ['a', 'b'], {examples: []})", "The option is `instructions`."),
        ("classify('text', ['a', 'b'])", "Put it into brackets: `[…]`."),
        ("ai('x', params, 'number')", "Write `{type: 'number'}`."),
        ("classify(params.t)", "Write it as `classify(texts, labels, {instructions: …})`."),
    ],
)
def test_a_hint_says_what_to_write(findings: Findings, call: str, hint: str) -> None:
    found = findings(f"async function run(params) {{\n  return await {call};\n}}", judge=True)
    assert [finding.hint for finding in found] == [hint]


@pytest.mark.parametrize(
    "call",
    [
        "classify({texts: params.texts, labels: ['a', 'b']})",
        "ai({instruction: 'x', data: params})",
        "classify(params.texts, ['a', 'b'], {}, 4)",
        "classify`a`",
    ],
)
def test_arguments_that_are_not_by_position_are_one_finding(codes: Codes, call: str) -> None:
    assert codes(f"return await {call};", judge=True) == ["program.arguments_shape"]


@pytest.mark.parametrize("name", ["classify", "ai"])
def test_the_judge_is_no_callback_of_a_list(codes: Codes, name: str) -> None:
    body = f"return await Promise.all(params.texts.map({name}));"
    assert codes(body, judge=True) == ["program.arguments_shape"]


def test_without_a_judge_nothing_is_said_of_arguments(codes: Codes) -> None:
    assert codes("return await classify('x');") == ["program.judge_off"]


def test_deep_literals_are_read_without_end(codes: Codes) -> None:
    deep = "[" * 300 + "'string'" + "]" * 300
    assert codes(f"return await ai('x', 1, {{type: {deep}}});", judge=True) == ["program.argument_value"]

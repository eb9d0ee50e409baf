"""Characters that the grammar lets pass and engines refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.program import Finding

    Codes = Callable[..., list[str]]
    Findings = Callable[..., tuple[Finding, ...]]


@pytest.mark.parametrize("char", ["\u200b", "\u2060"])
def test_an_invisible_character_between_words_is_found_at_its_place(findings: Findings, char: str) -> None:
    (finding,) = findings(f"async function run(params) {{\n  return {char}1;\n}}")

    assert (finding.code, finding.line, finding.column) == ("program.syntax", 2, 10)
    assert f"U+{ord(char):04X}" in finding.message
    assert finding.hint == "Delete it."


@pytest.mark.parametrize(
    "body",
    [
        "return 'a\u200bb';",
        'return "\u2060";',
        "return `x\u200b${1}\u200b`;",
        "return /a\u200b/.test('a');",
        "return 1; // \u200b",
        "/* \u2060 */ return 1;",
        "return\u00a01;",
        "return 1;\ufeff",
    ],
)
def test_in_data_and_comments_it_may_stand_as_white_space_may_anywhere(codes: Codes, body: str) -> None:
    assert codes(body) == []


def test_in_what_a_template_computes_it_is_no_data(codes: Codes) -> None:
    assert codes("return `${1\u200b}`;") == ["program.syntax"]


@pytest.mark.parametrize(
    ("body", "sign", "column"),
    [
        ("return \u201cnone\u201d;", "\u201c", 8),
        ("const \u2018a\u2019 = 1; return 1;", "\u2018", 7),
        ("return params.\u00aba\u00bb;", "\u00ab", 15),
        ("const \u2192x = 1; return \u2192x;", "\u2192", 7),
        ("return { \U0001f642: 1 };", "\U0001f642", 10),
    ],
)
def test_a_sign_that_no_name_has_is_a_syntax_error(findings: Findings, body: str, sign: str, column: int) -> None:
    found = findings(f"async function run(params) {{\n{body}\n}}")

    assert (found[0].code, found[0].line, found[0].column) == ("program.syntax", 2, column)
    assert f"`{sign}`" in found[0].message
    assert ("straight quotes" in found[0].hint) is (sign in "\u201c\u2018\u00ab")


def test_a_text_in_typographic_quotes_is_one_finding_and_no_unknown_name(codes: Codes) -> None:
    assert codes("return \u201cnone\u201d;") == ["program.syntax"]


def test_letters_of_every_language_are_names(codes: Codes) -> None:
    names = ["café", "название", "名前", "שם", "\u2118", "x\u200dy", "_1", "$", "ﬁ", "ヽ"]

    assert codes("".join(f"const {name} = 1; " for name in names) + f"return [{', '.join(names)}];") == []

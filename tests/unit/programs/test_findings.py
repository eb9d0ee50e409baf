from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vardy_worker.programs import FINDING_CODES, check, excerpt, functions_called
from vardy_worker.programs.codes import FINDINGS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.program import Finding

    Findings = Callable[..., tuple[Finding, ...]]

ROOT = Path(__file__).parents[3]


def test_all_findings_come_at_once_and_in_order_of_place(findings: Findings) -> None:
    found = findings(
        "async function run(params) {\n"
        "  const rows = await listInvoice({customer_id: 1});\n"
        "  send_email({to: 5});\n"
        "  eval('1');\n"
        "}"
    )

    assert [(f.line, f.code) for f in found] == [
        (1, "program.no_return"),
        (2, "program.unknown_function"),
        (3, "program.unawaited_call"),
        (3, "program.argument_missing"),
        (3, "program.argument_type"),
        (4, "program.forbidden"),
    ]


def test_places_are_those_of_the_model_s_text(findings: Findings) -> None:
    source = "async function run(params) {\nreturn (\n  eval('1')\n);\n}"

    (finding,) = findings(source, line_map=(0, 0, 7, 0, 0))

    assert (finding.line, finding.column) == (7, 3)


def test_a_finding_in_an_added_line_points_to_the_line_before_it(findings: Findings) -> None:
    source = "async function main(params) {\n  return 1;\n}\nasync function run(params) { return eval('1'); }"

    (finding,) = findings(source, line_map=(4, 5, 6, 0))

    assert finding.line == 6


def test_lines_named_in_messages_are_those_of_the_model_s_text(findings: Findings) -> None:
    source = "async function run(params) {\n  const a = 1;\n  const a = 2;\n  return a;\n}"

    (finding,) = findings(source, line_map=(11, 12, 13, 14, 15))

    assert (finding.line, finding.message) == (13, "`a` is already declared in line 12.")


def test_columns_count_characters(findings: Findings) -> None:
    (finding,) = findings("async function run(params) { return 'äöü🙂' + eval('1'); }")

    assert finding.column == 46


def test_more_findings_than_anybody_reads_are_cut_but_errors_stay(findings: Findings) -> None:
    warnings = "(1).toLocaleString();\n" * (FINDINGS_MAX + 20)

    found = findings(f"async function run(params) {{\n{warnings}eval('1');\nreturn 1;\n}}")

    assert len(found) == FINDINGS_MAX
    assert found[-1].code == "program.forbidden"


def test_the_functions_a_program_may_call_are_those_it_names(shop: Catalogue) -> None:
    source = (
        "const mail = send_email;\n"
        "async function run(params) {\n"
        "  const get_customer = 1;\n"
        "  const rows = await globalThis.list_customers();\n"
        "  const note = 'refund_payment({})'; // create_ticket({})\n"
        "  return [rows, note, get_customer, params.refund_payment, await mail({to: 'a', body: 'b'})];\n"
        "}"
    )

    assert functions_called(source, shop) == ("list_customers", "send_email")


def test_the_functions_of_a_broken_program_are_read_without_failing(shop: Catalogue) -> None:
    assert functions_called("async function run(params) { const = await list_customers()", shop) == ("list_customers",)


def test_an_excerpt_shows_the_place_like_a_compiler() -> None:
    source = "async function run(params) {\n  const rows = await list();\n  return rows.lenght;\n}\n"

    assert excerpt(source, 3, 15) == (
        "  2 |   const rows = await list();\n> 3 |   return rows.lenght;\n    |               ^\n  4 | }"
    )


def test_an_excerpt_finds_the_model_s_line_in_the_extracted_program() -> None:
    source = "async function run(params) {\nreturn (\n  rows\n);\n}"

    assert excerpt(source, 12, 3, (0, 0, 12, 0, 0)) == "> 12 |   rows\n     |   ^"


def test_an_excerpt_of_a_line_that_is_not_there_is_empty() -> None:
    assert excerpt("a", 9, 1) == ""


def test_an_excerpt_of_a_very_long_line_stays_readable() -> None:
    text = "x" * 5_000 + "!" + "y" * 5_000

    shown = excerpt(text, 1, 5_001).split("\n")

    assert all(len(line) < 200 for line in shown)
    assert shown[0][shown[1].index("^")] == "!"


def test_a_caret_stands_below_its_place_behind_signs_that_are_two_cells_wide() -> None:
    shown = excerpt('f("\u65e5\u672c\U0001f600", x)', 1, 10).split("\n")

    assert shown[1] == "    |    \u3000\u3000\u3000   ^"


def test_a_caret_may_stand_behind_the_end_of_its_line() -> None:
    assert excerpt("f(\n", 1, 5).split("\n")[1] == "    |     ^"


def test_the_documented_codes_are_the_codes() -> None:
    table = re.findall(r"^\| `(program\.\w+)` \| (.+) \|$", (ROOT / "docs/programs.md").read_text(), re.MULTILINE)

    assert dict(table) == dict(FINDING_CODES)


def test_every_code_that_the_checks_use_is_in_the_table() -> None:
    sources = (ROOT / "vardy_worker/programs").glob("*.py")
    used = {code for source in sources for code in re.findall(r'"(program\.[a-z_]+)"', source.read_text())}

    assert used == set(FINDING_CODES)


def test_checking_is_repeatable(shop: Catalogue) -> None:
    source = "async function run(params) { return x + y + eval('1'); }"

    assert check(source, shop) == check(source, shop)


@pytest.mark.parametrize(
    "body",
    [
        "return get_customer({customer_id: [1]});",
        "return get_customer({customer_id: 'c' + params.id});",
        "return get_customer({customer_id: !params.id});",
        "return get_customer({customer_id: () => 1});",
        "return get_customer({customer_id: {id: 1}});",
        "const x = ; return 1;",
        "return [1, 2;",
        "return (1 + );",
        "for (const x of [1]) { break outer; } return 1;",
        "continue; return 1;",
        "const a\u00b7\u00d7 = 1; return 1;",
        "if (params.a { return 1; }",
        "await this is wrong; return 1;",
    ],
)
def test_every_finding_says_what_to_do(findings: Findings, body: str) -> None:
    found = findings(f"async function run(params) {{\n  {body}\n}}")

    assert found
    assert all(finding.hint for finding in found)

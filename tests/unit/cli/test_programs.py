"""`vardy programs`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from vardy_api.cli.exits import ExitCode

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Cli

DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"
GOOD = "async function run(params) {\n  return await list_payments();\n}\n"
MISSPELT = "async function run(params) {\n  const rows = await listPayments();\n  return rows.length;\n}\n"
WARNED = "async function run(params) {\n  console.log(1);\n}\n"
CHECK = ("programs", "check")


def test_findings_are_printed_like_a_compiler_s_as_documented(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "reminder.js"
    file.write_text(MISSPELT)
    found = re.search(r"```text\n(reminder\.js:.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None

    ran = cli(*CHECK, str(file))

    assert ran.code == ExitCode.ERROR
    assert ran.out.replace(str(tmp_path) + "/", "") == found[1]
    assert ran.err == ""


def test_the_caret_stands_under_the_column(cli: Cli) -> None:
    ran = cli(*CHECK, "-", stdin="async function run(params) {\n\treturn '🙂' + eval('1');\n}\n")

    place, line, caret = (ran.out.splitlines()[index] for index in (0, 2, 3))
    assert place.startswith("<stdin>:2:15: error: ")
    assert line[caret.index("^") :].startswith("eval(")


def test_a_program_without_findings_says_so(cli: Cli) -> None:
    ran = cli(*CHECK, "-", stdin=GOOD)

    assert (ran.code, ran.out) == (ExitCode.OK, "<stdin>: nothing found.\n")


def test_warnings_alone_leave_the_exit_code_at_zero(cli: Cli) -> None:
    ran = cli(*CHECK, "-", stdin=WARNED)

    assert ran.code == ExitCode.OK
    assert ran.out.startswith("<stdin>:1:")
    assert "warning: " in ran.out
    assert ran.out.endswith("\n<stdin>: 1 warning.\n")


def test_errors_and_warnings_are_counted_apart(cli: Cli) -> None:
    ran = cli(*CHECK, "-", stdin="async function run(params) {\n  eval(1);\n  fetch(2);\n}\n")

    assert ran.code == ExitCode.ERROR
    assert ran.out.endswith("\n<stdin>: 2 errors and 1 warning.\n")


def test_json_is_what_the_api_answers(cli: Cli) -> None:
    bad = cli(*CHECK, "-", "--json", stdin=MISSPELT)
    good = cli(*CHECK, "-", "--json", stdin=WARNED)

    assert (bad.code, bad.json["ok"], len(bad.json["findings"])) == (ExitCode.ERROR, False, 1)
    assert bad.json["findings"][0]["code"] == "program.unknown_function"
    assert (good.code, good.json["ok"], good.json["source"]) == (ExitCode.OK, True, WARNED)


def test_the_program_is_taken_out_of_a_model_s_answer(cli: Cli) -> None:
    answer = f"Sure!\n\n1. Read\n\n   ```js\n   {MISSPELT.strip().replace(chr(10), chr(10) + '   ')}\n   ```\n"

    ran = cli(*CHECK, "-", "--extract", stdin=answer)

    lines = ran.out.splitlines()
    assert ran.code == ExitCode.ERROR
    assert lines[0].startswith("<stdin>:7:25: error: `listPayments`")
    assert lines[2].lstrip().startswith("> 7 |")
    assert lines[2][lines[3].index("^") :].startswith("listPayments")
    assert cli(*CHECK, "-", stdin=answer).code == ExitCode.ERROR


def test_an_answer_without_a_program_is_an_error_at_its_beginning(cli: Cli) -> None:
    ran = cli(*CHECK, "-", "--extract", stdin="I cannot do that.")

    assert ran.code == ExitCode.ERROR
    assert ran.out.startswith("<stdin>:1:1: error: The model gave no program. [generation.no_program]\n")


def test_no_line_is_shown_where_several_came_from_one(cli: Cli) -> None:
    ran = cli(*CHECK, "-", "--extract", stdin=json.dumps({"code": MISSPELT}))

    assert ran.code == ExitCode.ERROR
    assert ran.out.startswith("<stdin>:1:")
    assert "^" not in ran.out


def test_a_byte_order_mark_and_carriage_returns_move_no_place(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "windows.js"
    file.write_bytes(b"\xef\xbb\xbf" + b"eval(1);\r\n" + MISSPELT.replace("\n", "\r\n").encode())

    ran = cli(*CHECK, str(file), "--json")

    places = [(finding["line"], finding["column"]) for finding in ran.json["findings"]]
    assert (1, 1) in places
    assert (3, 22) in places


def test_the_person_decides_which_functions_exist(cli: Cli) -> None:
    source = GOOD.replace("list_payments", "list_salaries")

    assert cli(*CHECK, "-", stdin=source).code == ExitCode.OK
    assert cli(*CHECK, "-", "--user", "ana", stdin=source).code == ExitCode.ERROR
    assert cli(*CHECK, "-", "--user", "ana", "--role", "hr", stdin=source).code == ExitCode.OK
    assert cli(*CHECK, "-", "--function", "refund_payment", stdin=source).code == ExitCode.ERROR


def test_characters_of_the_source_cannot_drive_the_terminal(cli: Cli) -> None:
    ran = cli(*CHECK, "-", stdin="async function run(params) {\n  return eval('\x1b[2J\u202e');\n}\n")

    assert "\x1b" not in ran.out
    assert "\\u001b[2J\\u202e" in ran.out


def test_a_file_that_cannot_be_read_is_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    ran = cli(*CHECK, str(tmp_path / "missing.js"))

    assert ran.code == ExitCode.USAGE
    assert "cannot be read" in ran.err

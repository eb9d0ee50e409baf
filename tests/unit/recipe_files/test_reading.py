"""A recipe's file: what is read of it, and what is refused with its line."""

from __future__ import annotations

import pytest

from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.recipe_files import read_recipe_file

PROGRAM = "async function run(params) {\n  return params.days;\n}\n"
WHOLE = """\
/*---
# Whoever reviews this: see the mails it sends.
name: overdue-reminder
version: 3
description: Reminds customers of invoices that are overdue.
judge: true
params_schema:
  type: object
  properties:
    days: {type: integer, minimum: 1}
  required: [days]
envelope:
  effects_max: 50
  functions:
    send_email:
      effects_max: 50
      arguments:
        amount: {min: 0, max: "10.50", sum_max: 100}
functions:
  list_invoices: 12345678
  send_email: 1e10
reviewed_by: lia
reviewed_at: 2026-03-01T09:00:00Z
---*/
"""


def file_of(*lines: str, program: str = PROGRAM) -> str:
    return "\n".join(["/*---", *lines, "---*/", program])


def paying(envelope: str) -> list[str]:
    return ["name: payments", f"envelope: {{functions: {{pay: {envelope}}}}}"]


def bounded(bounds: str) -> list[str]:
    return paying(f"{{effects_max: 1, arguments: {{a: {bounds}}}}}")


def problems_of(text: str, file_name: str = "") -> list[tuple[int, int, str]]:
    with pytest.raises(RequestError) as raised:
        read_recipe_file(text, file_name=file_name)
    assert raised.value.code == "recipe.invalid"
    return [(each["line"], each["column"], each["message"]) for each in raised.value.details["problems"]]


def test_a_file_is_read_as_the_recipe_that_it_says() -> None:
    read = read_recipe_file(WHOLE + PROGRAM, file_name="overdue-reminder.recipe.js")
    assert read.recipe == Recipe(
        name="overdue-reminder",
        version=3,
        description="Reminds customers of invoices that are overdue.",
        source=PROGRAM,
        params_schema={
            "type": "object",
            "properties": {"days": {"type": "integer", "minimum": 1}},
            "required": ["days"],
        },
        functions={"list_invoices": "12345678", "send_email": "1e10"},
        judge=True,
        envelope=Envelope(
            effects_max=50,
            functions={
                "send_email": FunctionEnvelope(
                    effects_max=50, arguments={"amount": Bounds(min=0, max="10.50", sum_max=100)}
                )
            },
        ),
        reviewed_by="lia",
        reviewed_at_ms=1_772_355_600_000,
    )


def test_a_file_needs_no_more_than_a_name_and_a_program() -> None:
    assert read_recipe_file(file_of("name: payments")).recipe == Recipe(name="payments", source=PROGRAM)


def test_places_are_those_of_the_file() -> None:
    read = read_recipe_file(WHOLE + PROGRAM)
    assert read.program_line == len(WHOLE.splitlines()) + 1
    lines = WHOLE.splitlines()
    for pointer, shown in {
        "/params_schema/properties/days/minimum": "days: {type: integer, minimum: 1}",
        "/params_schema/required/0": "required: [days]",
        "/params_schema/required/7": "required: [days]",
        "/envelope/functions/send_email/arguments/amount/max": 'amount: {min: 0, max: "10.50", sum_max: 100}',
        "/functions/send_email": "send_email: 1e10",
        "/nothing": "# Whoever reviews this: see the mails it sends.",
    }.items():
        assert lines[read.place(pointer).line - 1].strip() == shown


def test_a_problem_of_the_recipe_is_placed_in_the_file() -> None:
    read = read_recipe_file(WHOLE + PROGRAM)
    inside = {
        "line": 2,
        "column": 3,
        "message": "It is bad.",
        "hint": "Mend it.",
        "code": "a.code",
        "severity": "warning",
    }
    finding = read.finding({"at": "/source", **inside, "details": {}})
    assert (WHOLE + PROGRAM).splitlines()[finding.line - 1] == "  return params.days;"
    assert (finding.column, finding.message, finding.code, finding.severity) == (
        3,
        "It is bad. (Mend it.)",
        "a.code",
        "warning",
    )
    assert read.finding({"at": "/source", "message": "It is long."}).line == read.program_line
    unknown = read.finding({"at": "/params_schema", "message": "It is bad."})
    assert (unknown.line, unknown.column, unknown.severity) == (7, 1, "error")


def test_a_program_is_kept_byte_for_byte() -> None:
    for program in (
        "\n\n  return 1",
        "a\r\nb\n",
        "/* x */ \ufeff\u2028'*/'\t\n\n",
        "---*/\n/*---\nname: other\n---*/\n",
    ):
        assert read_recipe_file(file_of("name: payments", program=program)).recipe.source == program


def test_a_byte_order_mark_and_converted_line_ends_change_nothing() -> None:
    converted = "\ufeff" + (WHOLE + PROGRAM).replace("\n", "\r\n")
    assert read_recipe_file(converted) == read_recipe_file(WHOLE + PROGRAM)


@pytest.mark.parametrize(
    "word", ["no", "Yes", "on", "OFF", "012", "0x1F", "0o17", "1_000", "12:30", "+1", ".5", ".inf", ".nan", "="]
)
def test_words_that_readers_of_yaml_disagree_on_are_refused_with_what_to_write(word: str) -> None:
    (problem,) = problems_of(file_of("name: payments", "params_schema:", f"  const: {word}"))
    assert problem[0] == 4
    assert f'"{word}"' in problem[2]
    quoted = read_recipe_file(file_of("name: payments", "params_schema:", f'  const: "{word}"'))
    assert quoted.recipe.params_schema == {"const": word}


def test_what_is_one_thing_to_all_readers_needs_no_quotes() -> None:
    values = "[null, true, -3, 2.5, 1.0e+3, 2026-03-01, 1.2.3, a b, y, 9007199254740993]"
    read = read_recipe_file(file_of("name: payments", "params_schema:", f"  enum: {values}"))
    expected = [None, True, -3, 2.5, 1000.0, "2026-03-01", "1.2.3", "a b", "y", 9_007_199_254_740_993]
    assert read.recipe.params_schema["enum"] == expected


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029", "\r\r"])
def test_no_key_hides_in_what_looks_like_a_comment(end: str) -> None:
    ((line, column, message),) = problems_of(file_of("name: payments", f"# reviewed twice{end}judge: true"))
    assert (line, column) == (3, 17)
    assert "editors do not show" in message
    assert problems_of(file_of("name: payments", f'description: "a{end}b"'))
    assert not read_recipe_file(file_of("name: payments", "# reviewed twice\r", "judge: false\r")).recipe.judge


def test_a_number_is_never_rounded_in_silence() -> None:
    lines = [
        "name: payments",
        "envelope:",
        "  functions:",
        "    pay: {effects_max: 1, arguments: {a: {max: 0.12345678901234567890}}}",
    ]
    ((line, _, message),) = problems_of(file_of(*lines))
    assert line == 5
    assert 'write it as a text, "0.12345678901234567890"' in message
    for number in ("1e400", "9" * 1001):
        assert problems_of(file_of("name: payments", f"params_schema: {{maximum: {number}}}"))[0][0] == 3


def test_texts_are_read_as_they_are_written() -> None:
    read = read_recipe_file(file_of("name: on", "description: 2024", "reviewed_by: no"))
    assert (read.recipe.name, read.recipe.description, read.recipe.reviewed_by) == ("on", "2024", "no")


@pytest.mark.parametrize(
    ("lines", "line", "column", "words"),
    [
        (["name: payments", "judge: true", "judge: false"], 4, 1, "`judge` is written twice; it stands at line 3 too"),
        (["name: payments", "params_schema:", "  a: {b: 1, b: 2}"], 4, 13, "`b` is written twice"),
        (["name: payments", "descripton: x"], 3, 1, "(did you mean `description`?)"),
        (["name: payments", "params-schema: {}"], 3, 1, "(did you mean `params_schema`?)"),
        (["name: payments", "judge: no"], 3, 8, 'write "no", or true or false'),
        (["name: payments", "judge: 1"], 3, 1, "`judge` must be true or false"),
        (["name: payments", "params_schema: [1]"], 3, 1, "`params_schema` must be a mapping"),
        (["name: payments", "functions: {list_invoices: }"], 3, 13, "`list_invoices` must have the version"),
        (["name: payments", "version: 0"], 3, 1, "`version` must be a whole number from 1"),
        (["name: payments", "reviewed_at: 2026-03-01T09:00:00"], 3, 1, "a time with its offset"),
        (["name: payments", "reviewed_at: soon"], 3, 1, "a time with its offset"),
        (["name: payments", "reviewed_at: 0001-01-01T00:00:00+23:59"], 3, 1, "from 1970 to 9999"),
        (["name: payments", "reviewed_at: 9999-12-31T23:59:59-23:59"], 3, 1, "from 1970 to 9999"),
        (["name: payments", 'description: "a\\U00110000"'], 3, 16, "an escape stands for no character"),
        (["name: payments", 'description: "a\\UFFFFFFFF"'], 3, 16, "an escape stands for no character"),
        (["name: Payments"], 2, 1, "a name begins with a small letter"),
        (["name: [a]"], 2, 1, "`name` must be a text"),
        (["judge: true"], 2, 1, "the recipe has no `name`"),
        (paying("{effects: 2, effects_max: 2}"), 3, 30, "(did you mean `effects_max`?)"),
        (paying("{}"), 3, 24, "there is no `effects_max`"),
        (bounded("{maximum: 1}"), 3, 62, "`min`, `max`, `sum_max`"),
        (bounded("{max: lots}"), 3, 62, "`max`: is a number"),
        (paying("{effects_max: true}"), 3, 30, "`effects_max`: Input should be a valid integer"),
        (paying('{effects_max: "3"}'), 3, 30, "`effects_max`: Input should be a valid integer"),
        (["name: payments", "envelope: 3"], 3, 1, "`envelope` must be a mapping"),
        (["name: payments", "\tjudge: true"], 3, 1, "there is a tab"),
        (["name: payments", "params_schema: {a: [}"], 3, 21, "this is not YAML"),
        (["name: payments", "params_schema: &all {}", "envelope: *all"], 3, 16, "anchors and aliases"),
        (["name: !!python/name:os.system payments"], 2, 7, "tags (`!`) are not used here"),
        (["name: payments", "params_schema:", "  <<: {a: 1}"], 4, 3, "cannot be merged"),
        (["name: payments", "params_schema: {? [a] : 1}"], 3, 19, "a key must be a text"),
        (["name: payments", "---", "name: other"], 3, 1, "begins another document"),
        (["- name: payments"], 2, 1, "there must be keys here"),
        ([], 2, 1, "there must be keys here"),
        (['name: "a\\ud800b"'], 2, 7, "half of a surrogate pair"),
        (["name: payments", "description: a\x07b"], 3, 15, "a character that YAML does not allow"),
        (["name: payments", "description: see */ here"], 3, 18, "`*/` ends the comment"),
        (["name: payments", "  ---*/"], 3, 6, "alone on a line"),
        (["name: payments", f"params_schema: {'[' * 70}{']' * 70}"], 3, 76, "nested deeper than"),
        (["name: payments", f"params_schema: {'[' * 5000}{']' * 5000}"], 2, 1, "nested too deeply"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_wrong_is_told_with_its_place(lines: list[str], line: int, column: int, words: str) -> None:
    found = problems_of(file_of(*lines))
    assert [(at, beside) for at, beside, message in found if words in message] == [(line, column)], found


def test_the_whole_that_is_wrong_is_told_at_once() -> None:
    lines = ["name: Payments", "descripton: x", "judge: no", "functions: [a]"]
    assert [line for line, _, _ in problems_of(file_of(*lines, program="  \n"))] == [3, 4, 5, 7]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "must begin with a line `/*---`"),
        (PROGRAM, 1, "must begin with a line `/*---`"),
        ("/*---\nname: payments\n" + PROGRAM, 1, "has no end"),
        ("/*---\nname: payments\n---*/", 4, "no program"),
        ("/*---\nname: payments\n---*/\n", 4, "no program"),
        ("/*---\nname: payments\n---*/ async function run() {}", 3, "alone on a line"),
        ("/*---\nname: payments\ndescription: " + "x" * 2001 + "\n---*/\n" + PROGRAM, 3, "2000 characters"),
        ("/*---\nname: payments\nparams_schema: {a: " + "x" * 300_000 + "}\n---*/\nx", 1, "the comment has more"),
        ("/*---\nname: payments\n---*/\n" + "x" * 1_100_000, 1, "the most is 1048576"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_a_text_that_is_no_file_of_a_recipe_is_refused(text: str, line: int, words: str) -> None:
    ((at, _, message),) = problems_of(text)
    assert at == line
    assert words in message


def test_a_recipe_is_named_like_its_file() -> None:
    ((line, _, message),) = problems_of(file_of("name: payments"), file_name="refunds.recipe.js")
    assert line == 2
    assert message == "the recipe is named `payments`, but its file refunds.recipe.js: name both alike"

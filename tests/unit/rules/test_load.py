"""The file itself: what is read, and that a bad one is refused whole, with every problem and its line."""

from __future__ import annotations

import pytest

from tests.support.rules import CATALOGUE, Court
from vardy_worker.contracts.errors import RulesError
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.policy import Approvers, Rule, Verdict
from vardy_worker.rules.load import FILE_BYTES_MAX, RULES_MAX, WHEN_CHARACTERS_MAX

GOOD = """\
default: block
rules:
  - name: small-refunds
    on: ["refund_*"]
    when: args.amount_cents <= 5000 && plan.counts.refund_payment <= 3
    then: allow
  - name: mass-mail
    on: [send_email]
    when: plan.counts.send_email > 20
    then: approve
    approvers: {roles: [support_lead], quorum: 2}
    message: "More than 20 mails at once."
"""


def refused(court: Court, text: str) -> RulesError:
    with pytest.raises(RulesError) as caught:
        court.load(text)
    return caught.value


def problems(court: Court, text: str) -> list[tuple[int, str, str]]:
    error = refused(court, text)
    return [(each["line"], each["rule"], each["message"]) for each in error.details["problems"]]


def test_a_whole_file_is_read(court: Court) -> None:
    rules = court.load(GOOD)
    assert rules.default is Verdict.BLOCK
    assert rules.rules == (
        Rule(
            name="small-refunds",
            on=("refund_*",),
            when="args.amount_cents <= 5000 && plan.counts.refund_payment <= 3",
            then=Verdict.ALLOW,
            line=3,
        ),
        Rule(
            name="mass-mail",
            on=("send_email",),
            when="plan.counts.send_email > 20",
            then=Verdict.APPROVE,
            approvers=Approvers(roles=("support_lead",), quorum=2),
            message="More than 20 mails at once.",
            line=7,
        ),
    )


def test_without_a_default_what_no_rule_matches_asks_for_approval(court: Court) -> None:
    assert court.load("rules: []\n").default is Verdict.APPROVE


def test_on_is_a_word_here_and_no_boolean(court: Court) -> None:
    assert court.load("rules:\n- {name: a, on: [send_email], then: allow}\n").rules[0].on == ("send_email",)


def test_a_rule_without_on_and_when_is_for_every_write(court: Court) -> None:
    rule = court.load("rules:\n- {name: a, then: block}\n").rules[0]
    assert (rule.on, rule.when) == (("*",), "true")


def test_the_digest_is_over_what_the_rules_say_and_not_over_the_layout(court: Court) -> None:
    moved = "# a comment\n\n" + GOOD.replace('["refund_*"]', "\n      - refund_*").replace("quorum: 2", "quorum: 2 ")
    assert court.load(moved).digest == court.load(GOOD).digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("default: block", "default: allow"),
        ("5000", "5001"),
        ("then: allow", "then: block"),
        ("refund_*", "refund_payment"),
        ("quorum: 2", "quorum: 3"),
        ("support_lead", "boss"),
        ("More than", "Over"),
        ("small-refunds", "smaller-refunds"),
    ],
)
def test_every_change_of_content_changes_the_digest(court: Court, before: str, after: str) -> None:
    assert court.load(GOOD.replace(before, after)).digest != court.load(GOOD).digest


def test_the_window_over_a_users_plans_is_a_day_unless_the_file_says_otherwise(court: Court) -> None:
    assert court.load(GOOD).user_window_hours == 24
    week = court.load(f"user_window_hours: 168\n{GOOD}")
    assert week.user_window_hours == 168
    assert week.digest != court.load(GOOD).digest
    assert court.load(f"user_window_hours: 24\n{GOOD}").digest == court.load(GOOD).digest


@pytest.mark.parametrize("hours", ["0", "745", "-1", "1.5", "a day", "[24]", "''", "1000"])
def test_a_window_that_is_no_number_of_hours_is_refused_with_its_line(court: Court, hours: str) -> None:
    found = problems(court, f"default: allow\nuser_window_hours: {hours}\n")
    assert (2, "", "`user_window_hours` must be a number of hours from 1 to 744") in found


@pytest.mark.parametrize(
    ("when", "reads"),
    [
        ("user_window.counts.send_email > 1", True),
        ("plan.counts[effect.function] + user_window.counts[effect.function] > 1", True),
        ("plan.counts.send_email > 1", False),
    ],
)
def test_a_rule_set_knows_whether_it_looks_at_other_plans(court: Court, when: str, reads: bool) -> None:
    text = GOOD.replace("plan.counts.send_email > 20", when)
    assert court.load(text).reads_user_window is reads


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", 1, "must be a mapping"),
        ("- a\n", 1, "must be a mapping"),
        ("{}\n", 1, "must have `default`, `rules`, or both"),
        ("default: approve\nrules:\n  - name: [\n", 4, "this is not YAML"),
        ("default: a\tb: c\n", 1, "this is not YAML"),
        ("default: \x07\n", 1, "this is not YAML"),
        ("--- {default: allow}\n--- {default: block}\n", 2, "this is not YAML"),
        ("[" * 5000, 1, "nested too deeply"),
        ("default: maybe\n", 1, "`default` must be allow, approve or block"),
        ("default: allowed\n", 1, "did you mean `allow`?"),
        ("default: [allow]\n", 1, "`default` must be a plain text"),
        ("default: !!python/name:os.system x\n", 1, "`default` must be a plain text"),
        ("default: allow\ndefault: block\n", 2, "`default` is written twice"),
        ("default: allow\nrule: []\n", 2, "did you mean `rules`?"),
        ("? [a]\n: b\n", 1, "the keys of the file must be plain texts"),
        ("rules: {}\n", 1, "`rules` must be a list"),
        ("rules:\n  - just text\n", 2, "a rule must be a mapping"),
        ("rules:\n  - then: allow\n", 2, "the rule has no `name`"),
        ("rules:\n  - name: ''\n    then: allow\n", 2, "`name` is empty"),
        ("rules:\n  - name: two words\n    then: allow\n", 2, "a name is made of letters"),
        ("rules:\n  - name: a\n", 2, "the rule has no `then`"),
        ("rules:\n  - name: a\n    then: deny\n", 3, "`then` must be allow, approve or block"),
        ("rules:\n  - name: a\n    then: allow\n    then: block\n", 4, "`then` is written twice"),
        ("rules:\n  - name: a\n    then: allow\n    wenn: true\n", 4, "did you mean `when`?"),
        ("rules:\n  - name: a\n    then: allow\n    when:\n", 4, "`when` is empty"),
        ("rules:\n  - name: a\n    then: allow\n    when: {}\n", 4, "`when` must be a plain text"),
        ("rules:\n  - name: a\n    then: allow\n    on: send_email\n", 4, "`on` must be a list: `on: [send_email]`"),
        ("rules:\n  - name: a\n    then: allow\n    on: []\n", 4, "`on` names no function"),
        ("rules:\n  - name: a\n    then: allow\n    on: ['send email']\n", 4, "is no function name or glob"),
        ("rules:\n  - name: a\n    then: allow\n    on: ['[ab]*']\n", 4, "is no function name or glob"),
        ("rules:\n  - name: a\n    then: allow\n    approvers: {roles: [x]}\n", 4, "only goes with `then: approve`"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: lead\n", 4, "`approvers` must be a mapping"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: {role: [x]}\n", 4, "did you mean `roles`?"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: {roles: lead}\n", 4, "`roles` must be a list"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: {quorum: 0}\n", 4, "a number from 1 to 20"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: {quorum: 21}\n", 4, "a number from 1 to 20"),
        ("rules:\n  - name: a\n    then: approve\n    approvers: {quorum: two}\n", 4, "a number from 1 to 20"),
        ('rules:\n  - name: a\n    then: allow\n    message: "\\ud800"\n', 4, "half of a surrogate pair"),
        ("rules:\n  - &a {name: a, then: *a}\n", 2, "`then` must be a plain text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(court: Court, text: str, line: int, part: str) -> None:
    error = refused(court, text)
    assert error.code == "rules.invalid"
    assert part in error.message
    assert error.message.startswith(f"Line {line}")
    assert error.details["line"] == line


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("# " + "x" * FILE_BYTES_MAX, f"the most is {FILE_BYTES_MAX}"),
        ("rules:\n" + "- {name: a, then: allow}\n" * (RULES_MAX + 1), f"the most is {RULES_MAX}"),
        (
            f"rules:\n- name: a\n  then: allow\n  when: {'1' * (WHEN_CHARACTERS_MAX + 1)}\n",
            f"the most is {WHEN_CHARACTERS_MAX}",
        ),
        (f"rules:\n- name: a\n  then: allow\n  message: {'m' * 501}\n", "the most is 500"),
        (f"rules:\n- name: a\n  then: allow\n  on: [{', '.join(['a*'] * 201)}]\n", "the most is 200"),
    ],
)
def test_sizes_are_bounded_and_the_error_says_how_big_it_was(court: Court, text: str, part: str) -> None:
    message = refused(court, text).message
    assert part in message
    assert any(word.isdigit() for word in message.split())


def test_a_repeated_name_is_refused_and_both_places_are_named(court: Court) -> None:
    text = "rules:\n- {name: a, then: allow}\n- {name: b, then: allow}\n- {name: a, then: block}\n"
    assert problems(court, text) == [(4, "a", "the name is already taken by the rule at line 2")]
    text = "rules:\n- name: a\n  when: plan.total > 1\n  then: allow\n- name: a\n  when: nobody\n  then: block\n"
    assert [line for line, _, _ in problems(court, text)] == [5, 6]


def test_a_key_too_many_hides_no_other_problem_of_its_rule(court: Court) -> None:
    text = """\
rules:
  - name: mails
    on: [send_email]
    then: approve
  - name: mails
    on: [send_emial]
    then: approve
    mesage: "Mind the mails."
"""
    found = problems(court, text)
    assert [line for line, _, _ in found] == [5, 5, 8]
    said = " ".join(message for _, _, message in found)
    assert all(part in said for part in ("already taken", "did you mean `send_email`", "`mesage` is not known"))


def test_all_problems_are_listed_in_the_order_of_the_file(court: Court) -> None:
    text = """\
default: never
rules:
  - name: first
    on: [send_emial]
    when: args.amount > 1
    then: allow
  - name: second
    on: [refund_payment]
    when: args.amount_cents > "x"
    then: block
  - name: third
    then: approve
    approvers: {quorum: 99}
"""
    found = problems(court, text)
    assert [(line, rule) for line, rule, _ in found] == [(1, ""), (3, "first"), (9, "second"), (13, "third")]
    error = refused(court, text)
    assert error.message.startswith("Line 1: `default` must be")
    assert error.message.endswith("(and 3 more problems)")


def test_the_first_problem_names_its_rule(court: Court) -> None:
    error = refused(court, "rules:\n- {name: a, then: allow, when: nope}\n")
    assert error.message.startswith("Line 2, rule `a`: column 1: there is no variable `nope`")
    assert error.details["rule"] == "a"


def test_a_problem_inside_a_condition_of_many_lines_is_at_its_own_line(court: Court) -> None:
    text = "rules:\n- name: a\n  on: [refund_payment]\n  when: |\n    true &&\n    args.typo > 1\n  then: block\n"
    (problem,) = problems(court, text)
    assert problem[0] == 6
    assert "column 1: `refund_payment` has no argument `typo`" in problem[2]


def test_columns_count_characters_also_beyond_the_basic_plane(court: Court) -> None:
    text = 'rules:\n- name: a\n  on: [refund_payment]\n  when: \'"🙂é" == "🙂é" && args.typo > 1\'\n  then: block\n'
    (problem,) = problems(court, text)
    assert "column 17:" in problem[2]


def test_a_misspelt_function_is_refused_with_the_right_one(court: Court) -> None:
    (problem,) = problems(court, "rules:\n- {name: a, on: [refund_paymnt], then: block}\n")
    assert problem == (2, "a", "`on`: there is no function `refund_paymnt`; did you mean `refund_payment`?")


def test_a_read_function_is_refused_because_rules_could_never_see_it(court: Court) -> None:
    (problem,) = problems(court, "rules:\n- {name: a, on: [list_invoices], then: block}\n")
    assert problem == (2, "a", "`on`: `list_invoices` is a read function, and rules see only writes")


def test_a_glob_may_match_nothing_yet(court: Court) -> None:
    assert court.load("rules:\n- {name: a, on: ['delete_*'], then: block}\n").rules[0].on == ("delete_*",)


def test_while_no_catalogue_is_known_no_name_is_refused_but_the_language_is_checked() -> None:
    engine = Court().engine
    later = (
        "rules:\n- {name: a, on: [anything], when: args.x * args.y > 1 && plan.sums.anything.x > 2.0, then: block}\n"
    )
    assert engine.load(later, Catalogue()).rules[0].name == "a"
    with pytest.raises(RulesError, match="there is no variable `arg`"):
        engine.load(later.replace("args.x *", "arg.x *"), Catalogue())


def test_the_same_file_is_refused_once_the_catalogue_is_known() -> None:
    engine = Court().engine
    later = "rules:\n- {name: a, on: [anything], then: block}\n"
    engine.load(later, Catalogue())
    with pytest.raises(RulesError, match="there is no function `anything`"):
        engine.load(later, CATALOGUE)

from __future__ import annotations

import pytest

from vardy_worker.contracts.errors import RegistrationError
from vardy_worker.functions.names import check_argument_name, check_function_name, folded, suggest
from vardy_worker.programs.globals import ALLOWED_GLOBALS, JUDGE_GLOBALS, MISSING_GLOBALS

REFUSED = {
    "get-profile": "must begin with a letter",
    "github.list": "must begin with a letter",
    "2fa": "must begin with a letter",
    "_private": "must begin with a letter",
    "__proto__": "must begin with a letter",
    "two words": "must begin with a letter",
    "name\n": "must begin with a letter",
    "": "empty",
    "delete": "reserved word",
    "class": "reserved word",
    "await": "reserved word",
    "lambda": "reserved word",
    "namespace": "reserved word",
    "fetch": "global",
    "Promise": "global",
    "process": "global",
    "toString": "every object",
    "constructor": "every object",
    "then": "every object",
    "run": "Vardy gives that name",
    "ai": "Vardy gives that name",
    "AI": "Vardy gives that name",
    "classify": "Vardy gives that name",
    "console": "Vardy gives that name",
    "params": "Vardy gives that name",
    "Par_ams": "Vardy gives that name",
    "list_\u0441ustomers": "CYRILLIC SMALL LETTER ES",
    "\uff4cist": "FULLWIDTH LATIN SMALL LETTER L",
    "preço": "LATIN SMALL LETTER C WITH CEDILLA",
    "a" * 65: "65 characters",
}


@pytest.mark.parametrize(("name", "reason"), REFUSED.items(), ids=[name[:20] or "empty" for name in REFUSED])
def test_a_name_that_programs_could_misread_is_refused_with_reason_and_a_valid_suggestion(
    name: str, reason: str
) -> None:
    with pytest.raises(RegistrationError, match="cannot be named") as refused:
        check_function_name(name, ())
    assert reason in refused.value.message
    suggestion = refused.value.details["suggestion"]
    assert repr(suggestion) in refused.value.message
    check_function_name(suggestion, ())


@pytest.mark.parametrize("name", sorted({*ALLOWED_GLOBALS, *JUDGE_GLOBALS, *MISSING_GLOBALS}))
def test_no_function_takes_the_name_of_a_global_that_programs_have_or_miss(name: str) -> None:
    with pytest.raises(RegistrationError):
        check_function_name(name, ())


@pytest.mark.parametrize("name", ["list_invoices", "sendEmail", "x", "refund2", "find_customer", "dateOfOrder"])
def test_a_plain_identifier_is_a_name(name: str) -> None:
    check_function_name(name, ())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("read_only", "readOnly"),
        ("read_only", "readonly"),
        ("read_only", "Read_Only"),
        ("step_1", "step_l"),
        ("go", "g0"),
    ],
)
def test_two_names_that_differ_only_in_looks_collide(first: str, second: str) -> None:
    with pytest.raises(RegistrationError, match=f"mistaken for '{first}'") as refused:
        check_function_name(second, {first})
    check_function_name(refused.value.details["suggestion"], {first})


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(RegistrationError, match="registered already"):
        check_function_name("list_invoices", {"list_invoices"})


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("get-profile", "get_profile"),
        ("github.list", "github_list"),
        ("2fa", "get_2fa"),
        ("delete", "delete_record"),
        ("list_\u0441ustomers", "list_customers"),
        ("preço", "preco"),
        ("…", "function_record"),
    ],
)
def test_the_suggestion_stays_close_to_the_name(name: str, suggestion: str) -> None:
    assert suggest(name, ()) == suggestion


def test_a_suggestion_that_is_taken_is_not_made() -> None:
    assert suggest("get-profile", {"get_profile", "get_profile_record"}) == "get_profile_2"


def test_case_underscores_and_look_alike_digits_do_not_tell_names_apart() -> None:
    assert folded("Get_L1st_0") == folded("getLIst_o".replace("I", "1"))


@pytest.mark.parametrize("name", ["_hidden", "__proto__", "größe", "true", "null", "\u0430"])
def test_an_argument_that_programs_or_rules_cannot_name_is_refused(name: str) -> None:
    with pytest.raises(RegistrationError, match="argument") as refused:
        check_argument_name("f", name)
    check_argument_name("f", refused.value.details["suggestion"])

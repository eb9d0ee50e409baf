import pytest
from pydantic import ValidationError

from vardy_worker.contracts.base import Contract, make_pointer, pointer_get, pointer_parts, pointer_set

DOCUMENT = {"a": [{"b/c": 1, "m~n": 2}, None], "": 3}


@pytest.mark.parametrize(
    ("pointer", "value"), [("", DOCUMENT), ("/a/0/b~1c", 1), ("/a/0/m~0n", 2), ("/", 3), ("/a/1", None)]
)
def test_a_pointer_finds_its_place(pointer: str, value: object) -> None:
    assert pointer_get(DOCUMENT, pointer) == value


NO_INDEXES = ["-1", "-", "x", "01", "+1", "1.0", " 1", "1_0", "\u00b2", "\u0661", "9" * 5000]
"""What Python would read as a number, or fail at, and RFC 6901 does not."""


@pytest.mark.parametrize("pointer", ["/b", "/a/2", "/a/", "/a/0/b~1c/deeper", *("/a/" + token for token in NO_INDEXES)])
def test_a_place_that_is_not_there_is_an_error(pointer: str) -> None:
    with pytest.raises(LookupError):
        pointer_get(DOCUMENT, pointer)


def test_a_pointer_without_its_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="not a JSON Pointer"):
        pointer_parts("a/b")


def test_setting_leaves_the_original_alone() -> None:
    assert pointer_set(DOCUMENT, "/a/1", "x") == {"a": [{"b/c": 1, "m~n": 2}, "x"], "": 3}
    assert DOCUMENT["a"] == [{"b/c": 1, "m~n": 2}, None]


def test_setting_may_name_a_new_key_of_an_object() -> None:
    assert pointer_set({}, "/id", 7) == {"id": 7}


@pytest.mark.parametrize("pointer", ["/a/2", "/x/y", "/a/0/b~1c/d", *("/a/" + token for token in NO_INDEXES)])
def test_setting_a_place_that_cannot_exist_is_an_error(pointer: str) -> None:
    with pytest.raises(LookupError):
        pointer_set(DOCUMENT, pointer, 1)


def test_a_pointer_is_made_of_escaped_parts() -> None:
    assert make_pointer(["a/b", 0, "m~n"]) == "/a~1b/0/m~0n"
    assert pointer_parts(make_pointer(["a/b", 0, "m~n"])) == ["a/b", "0", "m~n"]


class Row(Contract):
    """Something of the company's."""

    number: int


@pytest.mark.parametrize(
    "stored", ['{"number": "secret-4711"}', '{"number": 1, "other": "secret-4711"}', "secret-4711"]
)
def test_what_does_not_validate_is_not_quoted(stored: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Row.model_validate_json(stored)
    assert "secret-4711" not in str(caught.value)

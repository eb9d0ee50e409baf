from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.errors import RegistrationError, SettingsError
from vardy_worker.functions.loading import load_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[[str, str], str]

GOOD = """
from vardy_worker import Functions

functions = Functions()
empty = Functions()
number = 7

@functions.read
def ping() -> str:
    return "pong"
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module into the working directory, and forgets it after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    known = set(sys.modules)

    def write(name: str, text: str) -> str:
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    yield write
    for name in set(sys.modules) - known:
        del sys.modules[name]


def refusal(name: str) -> str:
    with pytest.raises(SettingsError) as refused:
        load_functions(name)
    assert refused.value.message.startswith("VARDY_FUNCTIONS ")
    assert refused.value.details == {"setting": "VARDY_FUNCTIONS"}
    return refused.value.message


def test_functions_are_found_in_the_working_directory(write: Write) -> None:
    write("h3shop.functions", GOOD)
    assert [registered.name for registered in load_functions("h3shop.functions:functions")] == ["ping"]


@pytest.mark.parametrize("name", ["", "shop", "shop:", ":functions", "shop.functions"])
def test_a_name_without_both_parts_is_refused(name: str) -> None:
    assert "must look like module:attribute" in refusal(name)


def test_a_missing_module_is_named_with_the_folder_that_was_searched(write: Write, tmp_path: Path) -> None:
    write("h3other", GOOD)
    message = refusal("h3shop.functions:functions")
    assert "the module h3shop.functions, which cannot be found" in message
    assert str(tmp_path) in message


def test_a_missing_module_inside_the_companys_module_is_told_apart(write: Write) -> None:
    write("h3needs", "import h3_not_there\n")
    assert "h3needs, which imports h3_not_there, which is not installed" in refusal("h3needs:functions")


def test_a_module_that_fails_to_import_is_refused_without_its_words(write: Write) -> None:
    write("h3fails", "raise RuntimeError('postgres://user:SECRET@host')\n")
    message = refusal("h3fails:functions")
    assert "whose import fails with RuntimeError" in message
    assert "SECRET" not in message


def test_a_missing_attribute_is_refused_with_what_there_is(write: Write) -> None:
    write("h3shop", GOOD)
    assert "names 'function', which h3shop does not define; it has h3shop:empty, h3shop:functions" in refusal(
        "h3shop:function"
    )


def test_something_else_than_functions_is_refused(write: Write) -> None:
    write("h3shop", GOOD)
    assert "names 'number', which is an int, not a Functions; it has" in refusal("h3shop:number")


def test_functions_without_any_function_are_refused(write: Write) -> None:
    write("h3shop", GOOD)
    assert "no function is registered" in refusal("h3shop:empty")


def test_a_wrong_function_is_refused_in_its_own_words(write: Write) -> None:
    write("h3wrong", GOOD.replace("def ping()", "def delete()"))
    with pytest.raises(RegistrationError, match="'delete_record'"):
        load_functions("h3wrong:functions")

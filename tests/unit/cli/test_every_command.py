"""What holds of every command: help, examples that work, `--json`, a place in the documentation."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from vardy_api.cli.commands.commits import CommitStatus
from vardy_api.cli.commands.keys import ScopeName
from vardy_api.cli.exits import ExitCode
from vardy_api.cli.main import build
from vardy_api.cli.operating import COMMIT_STATUSES
from vardy_api.cli.session import Environment
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.cli.conftest import Cli

ROOT_FOLDER = Path(__file__).parents[3]
DOCUMENT = ROOT_FOLDER / "docs" / "cli.md"
NEEDED = """
run; explore; jobs list, show, wait, events, cancel, console, attempts, erase; approvals list, show, approve, deny;
commits list, show, requeue, resolve, discard; programs check;
recipes list, show, save, review, run, delete, export, import;
audit list, verify, export; functions list, show; rules show, check, test, apply; prompts show;
keys create, list, show, change, usage, rotate, revoke; doctor; api; worker; dev; demo; bench
"""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, sub in inner.items():
        yield from leaves(sub, (*path, name))


ROOT: Any = get_command(build())
COMMANDS = dict(leaves(ROOT))
NAMES = [" ".join(path) for path in COMMANDS]


def examples(command: Any) -> list[str]:
    return [line.replace("\\[", "[") for line in command.epilog.split("\n\n")[1:]]


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts if name.startswith("-")}


def all_options(command: Any) -> set[str]:
    """With `--no-…`, and `--help`."""
    off = {name for parameter in command.params for name in getattr(parameter, "secondary_opts", ())}
    return options(command) | off | {"--help"}


@pytest.fixture(params=COMMANDS, ids=NAMES)
def path(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


def test_every_command_of_the_specification_exists() -> None:
    needed = set()
    for part in NEEDED.replace("\n", " ").strip().split(";"):
        group, _, subs = part.strip().partition(" ")
        needed |= {f"{group} {sub.strip()}" for sub in subs.split(",")} if subs else {group}
    assert needed - set(NAMES) == set()


def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.help
    assert command.help.split("\n")[0].rstrip().endswith((".", ")", ":"))
    assert examples(command)


def test_every_example_is_a_command_line_that_is_understood(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    for example in examples(command):
        words = [word for word in shlex.split(example.split(">")[0]) if not re.match(r"[A-Z_]+=", word)]
        assert words[: len(path) + 1] == ["vardy", *path]
        arguments = words[len(path) + 1 :]
        with command.make_context("vardy", arguments, obj=Environment()) as context:
            assert context.params


def test_every_command_takes_json(path: tuple[str, ...]) -> None:
    assert "--json" in options(COMMANDS[path])


def test_every_option_says_what_it_does(path: tuple[str, ...]) -> None:
    unsaid = [parameter.name for parameter in COMMANDS[path].params if not getattr(parameter, "help", "")]
    assert unsaid == []


def test_flags_and_only_they_are_shown_without_a_value(path: tuple[str, ...]) -> None:
    for parameter in COMMANDS[path].params:
        if any(name.startswith("-") for name in parameter.opts):
            assert (parameter.metavar == "") is bool(parameter.is_flag), parameter.opts


def test_every_command_that_uses_the_api_takes_its_address_and_key(path: tuple[str, ...]) -> None:
    is_process = path[0] in {"api", "worker", "dev", "demo", "bench"}
    assert ({"--url", "--api-key"} <= options(COMMANDS[path])) is not is_process


def test_every_change_to_what_exists_can_be_tried_first() -> None:
    changing = ["jobs cancel", "jobs commit", "approvals approve", "approvals deny", "commits requeue"]
    changing += ["jobs erase", "commits resolve", "commits discard", "recipes delete", "rules apply"]
    changing += ["keys rotate", "keys revoke"]
    changing += ["recipes save", "recipes review", "recipes export", "recipes import"]
    assert [name for name in changing if "--dry-run" not in options(COMMANDS[tuple(name.split())])] == []


def test_every_command_is_documented_with_every_option(path: tuple[str, ...]) -> None:
    text = DOCUMENT.read_text()
    section = re.search(rf"^### vardy {' '.join(path)}$(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/cli.md has no section for vardy {' '.join(path)}"
    common = {"--json", "--url", "--api-key", "--help", "-h"}
    missing = [name for name in options(COMMANDS[path]) - common if f"`{name}" not in section[1]]
    assert missing == []
    assert [example for example in examples(COMMANDS[path]) if f"$ {example}\n" not in section[1]] == []
    assert COMMANDS[path].help in section[1]


def test_the_document_names_no_command_that_does_not_exist() -> None:
    documented = re.findall(r"^### vardy (.+)$", DOCUMENT.read_text(), re.MULTILINE)
    assert set(documented) == set(NAMES)


def mentioned() -> list[tuple[str, str]]:
    """Every command line that README and documents show, with the file it stands in."""
    found = []
    for file in [ROOT_FOLDER / "README.md", *sorted((ROOT_FOLDER / "docs").glob("*.md"))]:
        text = file.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines()]
        lines += re.findall(r"`(vardy [^`]+)`", text)
        shown = (re.search(r"(?:^|\$ |&& |/bin/)vardy ([a-z].*)", line) for line in lines)
        found += [(file.name, re.split(r"\s+#|\s[|>&]\s", match[1])[0]) for match in shown if match]
    return found


def test_other_documents_show_only_commands_and_options_that_exist() -> None:
    wrong = []
    for file, line in mentioned():
        words = line.split()
        command: Any = ROOT
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        if hasattr(command, "commands"):
            known = not words or words[0].startswith("-")
        else:
            known = {word.partition("=")[0] for word in words if word.startswith("--")} <= all_options(command)
        if not known:
            wrong.append(f"{file}: vardy {line}")
    assert len(mentioned()) > len(COMMANDS)
    assert wrong == []


def test_the_document_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert sorted(map(int, listed)) == sorted(ExitCode)


def test_names_that_help_spells_out_are_those_of_the_contracts() -> None:
    assert [name.value for name in ScopeName] == [scope.value for scope in Scope]
    assert {status.value for status in CommitStatus} == {status.value for status in COMMIT_STATUSES}


def test_a_group_without_a_command_shows_its_help(cli: Cli) -> None:
    ran = cli("jobs")
    assert ran.code == ExitCode.USAGE
    assert "Usage: vardy jobs" in ran.out
    assert ran.err == ""


def test_the_version_is_printed(cli: Cli) -> None:
    ran = cli("--version")
    assert ran.code == 0
    assert re.fullmatch(r"vardy \d+\.\d+\.\d+\S*\n", ran.out)

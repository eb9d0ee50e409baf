"""Every `vardy …` line of README and docs names a command and options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from vardy_api.cli.main import build

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def lines() -> list[tuple[str, str]]:
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(?:sh|shell|bash|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        commands = [line for block in blocks for line in block.splitlines()]
        commands += re.findall(r"`(vardy [^`\n]+)`", text)
        for command in commands:
            match = re.search(r"(?:^|\s|/)vardy( .+)?$", command.split(" | ")[0].rstrip("\\ ").removeprefix("$ "))
            if match:
                found.append((document.name, f"vardy{match[1] or ''}"))
    return found


@pytest.mark.parametrize(("document", "line"), lines())
def test_a_documented_command_exists_with_its_options(document: str, line: str) -> None:
    words = shlex.split(line.split(" #", maxsplit=1)[0].replace("|", " "))[1:]
    command = get_command(build())
    while words and hasattr(command, "commands") and not words[0].startswith("-") and not words[0].isupper():
        assert words[0] in command.commands, f"{document}: there is no `{line}`"
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    options = {word.split("=")[0] for word in words if word.startswith("--")}
    assert options <= known | {"--help"}, f"{document}: {options - known} of `{line}`"

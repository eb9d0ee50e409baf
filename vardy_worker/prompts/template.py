"""Prompt texts: Markdown files beside this module, with the reasons for each part inside.

<!-- version: 3 -->           the first line; goes up with every change of what is sent
<!-- why: … -->               a reason; never sent
<!-- only: writes --> … <!-- end -->    a part that is sent where it applies
<!-- include: limits -->      a part that several texts share: a file of `parts/`
{{name}}                      a value
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = re.compile(r"<!-- version: (\d+) -->\n")
_INCLUDED = re.compile(r"<!-- include: (\w+) -->\n")
_REASON = re.compile(r"<!-- why: .*?-->\n?", re.DOTALL)
_PART = re.compile(r"<!-- only: (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)
_VALUE = re.compile(r"\{\{(\w+)\}\}")

PROMPTS = ("program", "repair", "explore", "round", "round_failed", "classify", "ai")


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt text, its reasons removed."""

    name: str
    version: str
    text: str

    def fill(self, values: Mapping[str, str], *, parts: frozenset[str] = frozenset()) -> str:
        """The text with its values, and with the named optional parts.

        Values are put in once and never read again, so they may hold anything. Raises
        `KeyError` for a value that the text asks for and does not get.
        """
        chosen = _PART.sub(lambda part: part[2] if part[1] in parts else "", self.text)
        return _VALUE.sub(lambda value: values[value[1]], chosen).strip() + "\n"


@cache
def template(name: str) -> Template:
    """The template of that name. Raises `ValueError` when its file has no version."""
    text = _INCLUDED.sub(lambda part: _file("parts", f"{part[1]}.md"), _file(f"{name}.md"))
    version = _VERSION.match(text)
    if version is None:
        msg = f"The prompt {name}.md does not begin with its version."
        raise ValueError(msg)
    return Template(name, version[1], _REASON.sub("", text[version.end() :]))


def _file(*path: str) -> str:
    return resources.files("vardy_worker.prompts").joinpath(*path).read_text(encoding="utf-8")


PROMPT_VERSIONS: Mapping[str, str] = MappingProxyType({name: template(name).version for name in PROMPTS})
"""The version of each prompt text."""


def fenced(text: str, language: str) -> str:
    """The text in a fence that nothing inside it can close."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

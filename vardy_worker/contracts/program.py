"""Programs: what extraction makes of a model's text, and what validation says of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject


class Finding(Contract):
    """One thing validation found. `line` and `column` count from 1, in the text the model wrote."""

    code: str
    message: str
    line: int
    column: int
    hint: str = ""
    severity: Literal["error", "warning"] = "error"
    details: JsonObject = Field(default_factory=dict)


def mapped_line(line_map: tuple[int, ...], line: int) -> int:
    """The line that a map gives for a line (both from 1); the same number where it has none."""
    if 1 <= line <= len(line_map):
        return line_map[line - 1] or line
    return line


class Extracted(Contract):
    """Exactly one `async function run(params)`, as plain JavaScript.

    `line_map[n]` is the line (from 1) of the model's text that line `n + 1` of `source`
    came from; 0 marks a line that Vardy added.
    """

    source: str
    line_map: tuple[int, ...]

    def model_line(self, line: int) -> int:
        """The model's line for a line of `source`; the same number where the map ends."""
        return mapped_line(self.line_map, line)


class NoProgram(Contract):
    """A model's text without a usable program. `code` is a `generation.*` code."""

    code: str
    message: str
    details: JsonObject = Field(default_factory=dict)


class Program(Contract):
    """The program a job runs, stored before it runs."""

    source: str
    sha256: str
    line_map: tuple[int, ...] = ()
    attempts: int = Field(0, description="model answers it took; 0 for a recipe")
    prompt: str = Field("", description="the prompts' versions, such as `program-1+repair-1`; empty for a recipe")
    warnings: tuple[Finding, ...] = ()

    def model_line(self, line: int) -> int:
        """The model's line for a line of `source`; the same number where the map ends."""
        return mapped_line(self.line_map, line)

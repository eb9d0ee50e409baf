"""Single things: a function, a prompt, a key, a console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from vardy_api.cli.checkup import Level
from vardy_api.cli.report import code, section
from vardy_api.cli.text import one_line, visible

if TYPE_CHECKING:
    from vardy_api.cli.checkup import Checkup
    from vardy_api.cli.output import Output
    from vardy_api.shapes import AttemptsView, ConsoleView, PromptView
    from vardy_worker.contracts.functions import FunctionSpec

_LEVELS = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILURE: "bold red"}
_LEVEL_STYLES = {"warn": "yellow", "error": "red", "debug": "dim"}


def facts(out: Output, *pairs: tuple[str, str]) -> None:
    """Names and values, one a line; empty values are left out."""
    width = max(len(name) for name, _ in pairs) + 2
    for name, value in pairs:
        if value:
            out.line(Text(f"{name:<{width}}", style="dim").append(visible(value), style="not dim"))


def function(out: Output, spec: FunctionSpec) -> None:
    """A function as programs see it, and its options."""
    out.line(Text(spec.name, style="bold").append(f"  {spec.kind.value}", style="not bold dim"))
    if spec.doc:
        out.line(spec.doc.strip())
    out.line()
    code(out, spec.declaration, "typescript")
    out.line()
    facts(
        out,
        ("roles", ", ".join(spec.roles) or "everybody"),
        ("idempotent", "yes" if spec.idempotent else "no: an unknown outcome needs an operator"),
        ("timeout", f"{spec.timeout_seconds:g} s"),
        ("retries", str(spec.retries) if spec.retries else ""),
        ("key valid", f"{spec.key_valid_seconds:g} s" if spec.key_valid_seconds else ""),
        ("version", spec.version[:12]),
    )


def prompt(out: Output, view: PromptView) -> None:
    """The exact messages."""
    for index, message in enumerate(view.messages):
        if index:
            out.line()
        out.line(f"--- {message.role} ---", style="bold")
        out.raw(message.content)


def console(out: Output, view: ConsoleView) -> None:
    """What a program printed, one call a line; of an explore, by rounds."""
    if not view.lines:
        out.line("The program printed nothing.", style="dim")
    shown = None
    for line in view.lines:
        if line.round != shown:
            shown = line.round
            out.line(f"round {shown}", style="dim")
        out.stdout.print(Text(visible(line.text), style=_LEVEL_STYLES.get(line.level, "")), soft_wrap=True)
    if view.truncated:
        out.line("The rest was cut at the limit CONSOLE_BYTES_MAX.", style="yellow")


def checkup(out: Output, found: Checkup) -> None:
    """One line for each check, and below it what to do."""
    lines = Table.grid(padding=(0, 2, 0, 0))
    for check in found.checks:
        said = Text(visible(check.message))
        if check.action:
            said.append(f"\n→ {visible(check.action)}", style="dim")
        lines.add_row(Text(f"{check.level.value:<7}", style=_LEVELS[check.level]), Text(check.name), said)
    out.draw(lines)
    bad = sum(check.level is Level.FAILURE for check in found.checks)
    out.line()
    out.line("Nothing stands in the way." if found.ok else f"{bad} of {len(found.checks)} checks failed.", style="bold")


def attempts(out: Output, view: AttemptsView) -> None:
    """The refused answers of a model, each with what was wrong with it."""
    if view.prompt:
        facts(out, ("prompts", view.prompt))
    if not view.items:
        out.line("No answer of a model was refused.")
    for number, attempt in enumerate(view.items, start=1):
        section(out, f"Answer {number}", attempt.error.code)
        out.line(attempt.error.message, style="red")
        for finding in attempt.findings:
            out.line(f"  line {finding.line}, column {finding.column}: {one_line(finding.message)}")
        code(out, attempt.text, "markdown")

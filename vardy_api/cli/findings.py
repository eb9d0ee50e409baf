"""The findings of a program, as compilers print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vardy_api.cli.text import one_line
from vardy_worker.programs.excerpts import excerpt

if TYPE_CHECKING:
    from vardy_api.cli.output import Output
    from vardy_api.shapes import CheckedProgram
    from vardy_worker.contracts.program import Finding

_STYLES = {"error": "bold red", "warning": "bold yellow"}


def print_findings(out: Output, checked: CheckedProgram, file: str) -> None:
    """Each finding with its place, source and hint; below them how many there are."""
    for finding in checked.findings:
        _print_finding(out, checked, finding, one_line(file))
    errors = sum(finding.severity == "error" for finding in checked.findings)
    counts = [_counted(errors, "error"), _counted(len(checked.findings) - errors, "warning")]
    found = " and ".join(count for count in counts if count) or "nothing found"
    out.stdout.print(Text(f"{one_line(file)}: {found}.", style="dim" if checked.ok else "bold"), soft_wrap=True)


def _print_finding(out: Output, checked: CheckedProgram, finding: Finding, file: str) -> None:
    line = Text(f"{file}:{finding.line}:{finding.column}: ", style="bold")
    line.append(f"{finding.severity}: ", style=_STYLES[finding.severity])
    line.append(f"{one_line(finding.message)} ").append(f"[{finding.code}]", style="not bold dim")
    out.stdout.print(line, soft_wrap=True)
    # Several lines of the program may have come from one, of JSON say; then none is known to be the one.
    if checked.source and checked.line_map.count(finding.line) <= 1:
        for row in excerpt(checked.source, finding.line, finding.column, checked.line_map).splitlines():
            out.raw(f"  {row}")
    if finding.hint:
        out.stdout.print(Text("  hint: ", style="cyan").append(one_line(finding.hint), style="default"), soft_wrap=True)
    out.stdout.print()


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number > 1 else ''}" if number else ""

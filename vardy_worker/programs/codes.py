"""The codes of findings, and the collector that places them in the model's text."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from vardy_worker.contracts.program import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.programs.nodes import Node
FINDING_CODES: Mapping[str, str] = MappingProxyType(
    {
        "program.syntax": "The text is not JavaScript at this place, or nested more than 2,000 levels deep.",
        "program.typescript": "TypeScript that has no plain JavaScript form.",
        "program.no_run": "No top-level `run` is defined.",
        "program.several_runs": "`run` is defined more than once.",
        "program.run_shape": "`run` cannot be called with `params` and awaited.",
        "program.run_called": "`run` is called outside of functions; Vardy calls it.",
        "program.top_level_call": "A function is called outside of `run`.",
        "program.no_return": "`run` can end without `return` (a warning).",
        "program.unknown_function": "A function is called that does not exist.",
        "program.unknown_name": "A name is used that is neither declared nor a global.",
        "program.const_assigned": "A constant gets another value.",
        "program.forbidden": "A capability is used that programs do not have.",
        "program.unavailable_method": "A method is called that throws in the sandbox (a warning).",
        "program.judge_off": "`ai` or `classify` is used in a job without the judge.",
        "program.write_in_explore": "A write function is used where only reads exist.",
        "program.arguments_shape": "Arguments are not one object of named ones (of the judge: not by position).",
        "program.argument_missing": "A required argument is missing.",
        "program.argument_unknown": "The function has no argument of that name.",
        "program.argument_type": "A literal has the wrong type for its argument.",
        "program.argument_value": "A literal is outside of the values its argument allows.",
        "program.unawaited_call": "A call is neither awaited, returned, nor passed to a `Promise` combinator.",
        "program.write_result_used": "The program computes with the result of a write, which does not exist yet.",
    }
)
"""Every code that a finding of `check` can have, and what it means."""

FINDINGS_MAX = 100
"""More findings than these help nobody; the rest is left out."""


class Findings:
    """Collects findings; places are nodes of the checked source."""

    def __init__(self, line_map: tuple[int, ...]) -> None:
        self._line_map = line_map
        self._found: dict[tuple[int, int, str, str], Finding] = {}

    def add(
        self,
        code: str,
        node: Node,
        message: str,
        hint: str = "",
        *,
        severity: Literal["error", "warning"] = "error",
        details: dict[str, JsonValue] | None = None,
    ) -> None:
        """Adds one finding; the same finding at the same place counts once."""
        line = self.line_of(node)
        key = (line, node.column + 1, code, message)
        self._found.setdefault(
            key,
            Finding(
                code=code,
                message=message,
                line=line,
                column=node.column + 1,
                hint=hint,
                severity=severity,
                details=details or {},
            ),
        )

    def line_of(self, node: Node) -> int:
        """The model's line of a node; for a line that Vardy added, the nearest one before it that is the model's."""
        line = node.row + 1
        if not self._line_map:
            return line
        for known in reversed(self._line_map[:line]):
            if known:
                return known
        return next((known for known in self._line_map if known), line)

    def sorted(self) -> tuple[Finding, ...]:
        """All findings by place; of more than `FINDINGS_MAX` the warnings go first, then the last errors."""
        kept = sorted(self._found.values(), key=lambda f: (f.severity != "error", *_place(f)))[:FINDINGS_MAX]
        return tuple(sorted(kept, key=_place))


def _place(finding: Finding) -> tuple[int, int, str, str]:
    return finding.line, finding.column, finding.code, finding.message

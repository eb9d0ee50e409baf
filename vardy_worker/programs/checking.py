"""Static checks of a program, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.programs.arguments import check_arguments
from vardy_worker.programs.awaiting import check_awaited
from vardy_worker.programs.capabilities import check_capabilities, check_names
from vardy_worker.programs.characters import check_characters
from vardy_worker.programs.codes import Findings
from vardy_worker.programs.early_errors import check_depth, check_early_errors, check_grammar
from vardy_worker.programs.forms import check_forms
from vardy_worker.programs.judge_calls import check_judge_calls
from vardy_worker.programs.run_shape import check_run
from vardy_worker.programs.subject import is_global_object, subject_of
from vardy_worker.programs.syntax import property_name
from vardy_worker.programs.typescript import typescript_findings
from vardy_worker.programs.write_results import check_write_results

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.program import Finding


def check(
    source: str,
    catalogue: Catalogue,
    *,
    judge: bool = False,
    reads_only: bool = False,
    line_map: tuple[int, ...] = (),
) -> tuple[Finding, ...]:
    """All findings of a program at once, by place.

    `catalogue` is the part the program's user may use. `judge` says whether `ai` and
    `classify` exist; `reads_only` that writes do not. With the `line_map` of extraction,
    lines are those of the model's text. A program with no finding of severity `error` may
    run. A text that is not JavaScript gets findings on its syntax only: names and values
    of a broken tree would be guesses.
    """
    findings = Findings(line_map)
    subject = subject_of(source, catalogue, judge=judge, reads_only=reads_only)
    if not subject.tree.ok:
        if not check_depth(subject.tree, findings) and not typescript_findings(source, findings):
            check_grammar(subject.tree, findings)
        return findings.sorted()
    check_characters(subject.tree, findings)
    check_early_errors(subject.names, findings)
    check_forms(subject.tree, findings)
    check_run(subject, findings)
    check_names(subject, findings)
    check_capabilities(subject, findings)
    check_arguments(subject, findings)
    check_judge_calls(subject, findings)
    check_awaited(subject, findings)
    check_write_results(subject, findings)
    return findings.sorted()


def functions_called(source: str, catalogue: Catalogue) -> tuple[str, ...]:
    """The registered functions a program may call, by name: those it names at all."""
    subject = subject_of(source, catalogue)
    found = {reference.name for reference in subject.names.free}
    for node in subject.tree.nodes:
        if node.kind in {"member_expression", "subscript_expression"} and is_global_object(
            subject.names, node.get("object")
        ):
            found.add(property_name(node) or "")
    return tuple(name for name in sorted(subject.specs) if name in found)

"""Draws what a command shows: one drawing for each shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from vardy_api.cli import (
    audit_drawings,
    ceilings,
    drawings,
    key_drawings,
    recipe_drawings,
    report,
    rule_drawings,
    tables,
)
from vardy_api.cli.audit_comparing import AuditVerdict
from vardy_api.cli.auditing import Exported
from vardy_api.cli.bulk import BulkResult, Done, DryRun
from vardy_api.cli.checkup import Checkup
from vardy_api.cli.next_steps import next_steps
from vardy_api.cli.output import Output
from vardy_api.cli.recipe_reports import Export, Import, RecipeText
from vardy_api.cli.timeline import CommitReport, draw_commit
from vardy_api.recipe_shapes import RecipeDifference, RecipeList, RecipeView
from vardy_api.rule_shapes import RulesTestReport
from vardy_api.shapes import (
    AttemptsView,
    ConsoleView,
    KeyList,
    KeyView,
    NewKeyView,
    PromptView,
    RulesView,
    SummaryPage,
    UsageView,
)
from vardy_worker.contracts.audit import AuditPage
from vardy_worker.contracts.functions import Catalogue, FunctionSpec
from vardy_worker.contracts.view import JobView

if TYPE_CHECKING:
    from vardy_api.cli.shown import Shown


_DRAWINGS: Mapping[type[BaseModel], Callable[[Output, Any, str], None]] = MappingProxyType(
    {
        JobView: lambda out, job, style: report.job_report(out, job, whole=style == "whole"),
        CommitReport: lambda out, commit, _: draw_commit(out, commit),
        SummaryPage: tables.summaries,
        BulkResult: lambda out, result, _: tables.bulk_result(out, result),
        Done: lambda out, done, _: out.line(f"{done.action}: {done.target}."),
        DryRun: lambda out, plan, _: tables.dry_run(out, plan),
        RecipeList: lambda out, found, _: recipe_drawings.recipes(out, found),
        RecipeView: recipe_drawings.recipe,
        RecipeDifference: lambda out, found, _: recipe_drawings.difference(out, found),
        RecipeText: lambda out, recipe, _: out.exact(recipe.text),
        Export: lambda out, report, _: recipe_drawings.export(out, report),
        Import: recipe_drawings.imported,
        KeyList: lambda out, found, _: key_drawings.keys(out, found),
        Catalogue: lambda out, catalogue, _: tables.functions(out, catalogue),
        Checkup: lambda out, checkup, _: drawings.checkup(out, checkup),
        FunctionSpec: lambda out, spec, _: drawings.function(out, spec),
        ConsoleView: lambda out, view, _: drawings.console(out, view),
        AttemptsView: lambda out, view, _: drawings.attempts(out, view),
        RulesView: rule_drawings.rules,
        RulesTestReport: lambda out, found, _: rule_drawings.rules_test(out, found),
        PromptView: lambda out, view, _: drawings.prompt(out, view),
        AuditPage: lambda out, page, _: audit_drawings.entries(out, page),
        AuditVerdict: lambda out, found, _: audit_drawings.verdict(out, found),
        Exported: lambda out, written, _: audit_drawings.exported(out, written),
        KeyView: lambda out, view, _: key_drawings.key(out, view),
        UsageView: lambda out, view, _: ceilings.usage(out, view),
        NewKeyView: lambda out, view, _: key_drawings.key(out, view),
    }
)
"""Every shape that a command can show; a test holds all commands against it."""


def render(out: Output, shown: Shown) -> None:
    """Draws the value, then the commands that may come next."""
    _DRAWINGS[type(shown.data)](out, shown.data, shown.style)
    hints = list(shown.hints)
    if isinstance(shown.data, JobView) and not hints:
        # What was just done is no next step.
        hints = [step for step in next_steps(shown.data) if not (shown.style == "whole" and step.endswith(" --full"))]
    if hints:
        out.line()
        out.line("Next:", style="dim")
        for hint in hints:
            # Whole, however long: it is there to be copied.
            out.stdout.print(f"  {hint}", soft_wrap=True)

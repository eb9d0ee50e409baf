"""Rules: the file, what is wrong with it, and what it would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vardy_api.cli.report import code, status_text
from vardy_api.cli.text import ago, counted, one_line
from vardy_worker.contracts.plan import effects_named
from vardy_worker.contracts.policy import PlanChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_api.cli.output import Output
    from vardy_api.rule_shapes import ReplayedPlan, ReplayedReason, RulesTestReport
    from vardy_api.shapes import RulesView
    from vardy_worker.contracts.policy import ApprovalNeed, RuleWarning

_CHANGES = {
    PlanChange.STRICTER: Text("stricter", style="red"),
    PlanChange.LAXER: Text("laxer", style="yellow"),
    PlanChange.OTHER: Text("other approvals", style="cyan"),
    PlanChange.UNKNOWN: Text("not evaluated", style="magenta"),
}


def rules(out: Output, view: RulesView, style: str) -> None:
    """The rules file, or what checking or applying it came to."""
    version = f"version {view.version}" if view.version else "the built-in ones"
    match style:
        case "checked":
            out.line("The rules are valid; nothing was applied.")
        case "applied" if view.changed:
            out.line(f"Applied: {version} is active.")
        case "applied":
            out.line(f"Nothing to do: the same rules are active already ({version}).")
        case _:
            by = f", applied by {view.applied_by} {ago(view.applied_at, out.now)}" if view.applied_at else ""
            digest = f", digest {view.digest[:12]}" if view.digest else ""
            out.line(f"# {version}{digest}{by}", style="dim")
            _at_margin(out, view.text)
    for warning in view.warnings:
        _warning(out, warning)


def _at_margin(out: Output, text: str) -> None:
    """YAML that can be saved as it is printed."""
    if out.is_terminal:
        code(out, text, "yaml")
    else:
        out.raw(text)


def _warning(out: Output, warning: RuleWarning) -> None:
    line = Text(f"line {warning.line}, rule {warning.rule}: ", style="bold").append("warning: ", style="bold yellow")
    out.line(line.append(one_line(warning.message), style="not bold default"))
    out.line(Text("  hint: ", style="cyan").append(one_line(warning.advice), style="default"))


def rules_test(out: Output, report: RulesTestReport) -> None:
    """What rules under test would change: a summary, then every plan that is not as it was."""
    if not report.plans:
        out.line("No stored plan matches.")
        return
    parts = [f"{report.unchanged} unchanged", f"{report.stricter} stricter", f"{report.laxer} laxer"]
    parts += [f"{report.other} with other approvals"] if report.other else []
    parts += [f"{report.unknown} not evaluated"] if report.unknown else []
    out.line(Text(f"{counted(report.plans, 'plan')}: {', '.join(parts)}.", style="bold"))
    became = (
        ("newly blocked", report.newly_blocked),
        ("newly waiting for approval", report.newly_asking),
        ("newly allowed", report.newly_allowed),
    )
    told = [f"{number} {word}" for word, number in became if number]
    if told:
        out.line(f"Of these {', '.join(told)}.")
    if report.unmatched:
        out.line(f"Matched nothing: {', '.join(report.unmatched)}.", style="yellow")
    for rule, plans in report.failed.items():
        out.line(f"Could not be evaluated in {counted(plans, 'plan')}, and blocks there: {rule}.", style="red")
    for plan in report.items:
        if plan.change is not PlanChange.UNCHANGED or plan.note:
            _replayed(out, plan)


def _replayed(out: Output, plan: ReplayedPlan) -> None:
    out.line()
    before = plan.before.value if plan.before else "?"
    after = plan.after.value if plan.after else "?"
    head = Text(f"{plan.job}  {before} → {after}  ", style="bold")
    head.append_text(_CHANGES.get(plan.change, Text("unchanged", style="dim")))
    head.append(f"  for {one_line(plan.user)}, {ago(plan.created_at, out.now)}, ", style="not bold dim")
    out.line(head.append_text(status_text(plan.status)))
    if plan.note:
        out.line(f"  {one_line(plan.note)}", style="magenta")
    for reason in plan.reasons:
        out.line(f"  {effects_named(reason.effects)}: {_reason(reason)}")
    if plan.change is not PlanChange.UNKNOWN and plan.approvals_before != plan.approvals_after:
        out.line(f"  approvals: {_asked(plan.approvals_before)} → {_asked(plan.approvals_after)}")


def _reason(reason: ReplayedReason) -> str:
    rules = [f"{reason.failed_rule} (failed)"] if reason.failed_rule else []
    by = ", ".join([*rules, *reason.rules]) or "default"
    return f"{reason.before.value} → {reason.after.value} by {by}: {one_line(reason.message)}"


def _asked(needs: Sequence[ApprovalNeed]) -> str:
    """Who must approve, one after the other."""
    who = (f"{need.quorum} from {' or '.join(need.roles) or 'anyone who may decide'}" for need in needs)
    return " and ".join(who) or "none"

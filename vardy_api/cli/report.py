"""A job as a compact report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.highlighter import JSONHighlighter
from rich.syntax import Syntax
from rich.text import Text

from vardy_api.cli.grid import Grid
from vardy_api.cli.next_steps import short_digest
from vardy_api.cli.text import ago, counted, cut, duration, expiry, one_line, pretty_json, short_json, visible
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.job import Mode
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.plan import effects_named
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.status import WAITING_FOR_PEOPLE, Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from vardy_api.cli.output import Output
    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.errors import ErrorInfo
    from vardy_worker.contracts.execution import Ref
    from vardy_worker.contracts.user import User
    from vardy_worker.contracts.view import EffectView, JobView, PlanView, ProgramView, RoundView

ARGUMENTS_SHOWN = 300
"""Characters of one effect's arguments in a compact report; a whole one cuts nothing."""
ARGUMENTS_KEPT = 20
"""Columns of them that the names of rules give way to: what happens matters more than why."""
DETAIL_SHOWN = 2000
"""Characters of one detail of an error."""
_COUNTED = ("succeeded", "resolved", "failed", "unknown", "pending", "skipped")
_INDENT = 2
_DEEP_INDENT = 5

_STATUS_STYLES = {
    Status.SUCCESS: "bold green",
    Status.PLANNED: "bold cyan",
    Status.PENDING_APPROVAL: "bold yellow",
    Status.PARTIAL: "bold magenta",
    Status.QUEUED: "blue",
    Status.RUNNING: "blue",
    Status.COMMITTING: "blue",
    Status.CANCELLED: "dim",
}
_VERDICT_STYLES = {Verdict.ALLOW: "green", Verdict.APPROVE: "yellow", Verdict.BLOCK: "red"}
_STATE_STYLES = {
    EffectState.SUCCEEDED: "green",
    EffectState.RESOLVED_DONE: "green",
    EffectState.FAILED: "red",
    EffectState.UNKNOWN: "magenta",
    EffectState.STARTED: "blue",
    EffectState.SKIPPED: "dim",
}


def status_text(status: Status, stage: str = "") -> Text:
    """A status in its colour."""
    text = Text(status.value, style=_STATUS_STYLES.get(status, "bold red"))
    return text.append(f" {stage}", style="dim") if stage else text


def job_report(out: Output, job: JobView, *, whole: bool = False) -> None:
    """Draws a job. `whole`: with programs, params, all arguments, every rule's sentence, times and cost."""
    _head(out, job)
    if whole and job.params:
        section(out, "Params")
        json_value(out, job.params)
    if whole and job.program is not None:
        _program(out, job.program)
    _explored(out, job, whole=whole)
    if job.output is not None or job.output_refs:
        section(out, "Output")
        json_value(out, job.output)
        for reference in _references(job.output_refs):
            out.line(f"  {reference}", style="dim")
    for warning in job.warnings:
        out.line(f"Warning: {warning}", style="yellow")
    if job.plan is not None:
        _plan(out, job, job.plan, whole=whole)
        _approvals(out, job, job.plan)
    if job.error is not None:
        _error(out, job.error)
    if whole:
        _costs(out, job)


def _head(out: Output, job: JobView) -> None:
    head = Text(job.id).append("  ").append_text(status_text(job.status, job.stage.value if job.stage else ""))
    if job.plan is not None:
        head.append(f"  {_progress(job.plan)}", style="dim")
    out.line(head)
    version = f", version {job.recipe_version}" if job.recipe_version else ""
    _fact(out, "asked", f"recipe {one_line(job.recipe)}{version}" if job.recipe else one_line(job.request or ""))
    _fact(out, "for", person_text(job.user))
    if job.mode is Mode.PLAN:
        _fact(out, "mode", "plan: nothing is executed before its commit")
    when = ago(job.created_at, out.now)
    if job.settled_at is not None:
        when += f", took {duration((job.settled_at - job.created_at).total_seconds())}"
    _fact(out, "when", when)
    if job.next_try_at is not None:
        _fact(out, "next", f"try {_ahead(job.next_try_at, out.now)}")
    if job.erased_at is not None:
        _fact(out, "erased", ago(job.erased_at, out.now))


def _ahead(moment: datetime, now: datetime) -> str:
    left = (moment - now).total_seconds()
    return f"in {duration(left)}" if left > 0 else "is due"


def _progress(plan: PlanView) -> str:
    """How many effects there are, and how many stand where; the numbers add up."""
    counts = plan.counts
    parts = [f"{number} {word}" for word in _COUNTED if (number := getattr(counts, word))]
    return f"{counted(counts.total, 'effect')}: {', '.join(parts)}"


def _fact(out: Output, name: str, value: str) -> None:
    out.line(Text(f"{name:<7}", style="dim").append(value, style="not dim"))


def section(out: Output, title: str, note: str = "") -> None:
    """The title of a part."""
    out.line()
    out.line(Text(title, style="bold").append(f"  {note}" if note else "", style="not bold dim"))


def _program(out: Output, program: ProgramView) -> None:
    attempts = f", {counted(program.attempts, 'model answer')}" if program.attempts else ""
    section(out, "Program", f"sha256 {program.sha256[:12]}{attempts}")
    if program.source:
        code(out, program.source, "javascript")
    for finding in program.warnings:
        out.line(f"Warning: line {finding.line}: {finding.message}", style="yellow")


def round_line(each: RoundView) -> str:
    """How a round of an explore went, in a line."""
    if each.error is not None:
        return f"round {each.n}: {each.error.code}: {one_line(each.error.message)}"
    if each.ended_at is None:
        return f"round {each.n}: reading …"
    size = len(json.dumps(each.summary, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    return f"round {each.n}: returned " + (f"too much, cut to {size:,} bytes" if each.truncated else f"{size:,} bytes")


def _explored(out: Output, job: JobView, *, whole: bool) -> None:
    """The answer of an explore, and the rounds that led to it."""
    if job.answer is not None:
        section(out, "Answer")
        out.draw(Text(visible(job.answer.strip())), indent=_INDENT)
    if job.rounds and not whole:
        section(out, "Rounds")
    for each in job.rounds:
        line = Text(round_line(each), style="red" if each.error is not None else "")
        if not whole:
            out.draw(line, indent=_INDENT)
            continue
        out.line()
        out.line(Text(f"Round {each.n}", style="bold"))
        if each.program:
            code(out, each.program, "javascript")
        out.draw(line, indent=_INDENT)
        if each.error is not None:
            _details(out, each.error)
        elif each.ended_at is not None:
            json_value(out, each.summary)


def _plan(out: Output, job: JobView, plan: PlanView, *, whole: bool) -> None:
    expires = f"  {expiry(plan.expires_at, out.now)}" if job.status in WAITING_FOR_PEOPLE else ""
    section(out, "Plan", f"{short_digest(plan.digest)}  verdict {plan.verdict.value}{expires}")
    if whole:
        for effect in job.effects:
            _whole_effect(out, effect)
    elif job.effects:
        _effects_table(out, job.effects)
    for warning in plan.warnings:
        out.draw(Text(f"Warning: {visible(warning)}", style="yellow"), indent=_INDENT)
    for reason in plan.outside:
        out.draw(Text(f"Outside the recipe's envelope: {visible(reason)}", style="yellow"), indent=_INDENT)
    if whole or plan.verdict is not Verdict.ALLOW:
        _reasons(out, job.effects)


def _effects_table(out: Output, effects: Sequence[EffectView]) -> None:
    columns = ("seq", "function", "arguments", "verdict", "rules", "state")
    grid = Grid(
        *columns,
        gives_way=("arguments", "rules", "function"),
        keeps={"arguments": ARGUMENTS_KEPT},
        right=frozenset({"seq"}),
    )
    orders = _argument_orders(effects)
    for effect in effects:
        arguments = {name: effect.args[name] for name in orders[effect.function] if name in effect.args}
        grid.row(
            str(effect.seq),
            visible(effect.function),
            "; ".join([short_json(arguments, ARGUMENTS_SHOWN), *_references(effect.refs)]),
            _verdict_text(effect),
            _rules_of(effect),
            state_text(effect.state),
        )
    out.grid(grid, indent=_INDENT)
    for effect in effects:
        if effect.error is not None:
            out.draw(Text(f"effect {effect.seq}: {one_line(effect.error.message)}", style="red"), indent=_INDENT)


def _argument_orders(effects: Sequence[EffectView]) -> dict[str, list[str]]:
    """The order of the arguments of each function: what is cut off is then a long text, not an id.

    Short values come first, by the longest one in the plan, so that all rows of a function read alike.
    """
    longest: dict[str, dict[str, int]] = {}
    for effect in effects:
        lengths = longest.setdefault(effect.function, {})
        for name, value in effect.args.items():
            lengths[name] = max(lengths.get(name, 0), len(short_json(value)))
    return {function: sorted(lengths, key=lengths.__getitem__) for function, lengths in longest.items()}


def _whole_effect(out: Output, effect: EffectView) -> None:
    """One effect with nothing cut."""
    line = Text(f"  {effect.seq}  ").append(visible(effect.function), style="bold").append("  ")
    line.append_text(_verdict_text(effect)).append(f" ({_rules_of(effect)})  ").append_text(state_text(effect.state))
    if effect.attempts > 1:
        line.append(f"  {effect.attempts} attempts", style="dim")
    out.line(line)
    arguments = short_json(effect.args)
    if len(arguments) > out.stdout.width - _DEEP_INDENT:
        arguments = pretty_json(effect.args)
    out.draw(Text(arguments), indent=_DEEP_INDENT)
    for reference in _references(effect.refs):
        out.draw(Text(reference), indent=_DEEP_INDENT)
    if effect.result is not None:
        out.draw(Text(f"returned {short_json(effect.result, ARGUMENTS_SHOWN)}", style="dim"), indent=_DEEP_INDENT)
    if effect.error is not None:
        out.draw(Text(f"{effect.error.code}: {visible(effect.error.message)}", style="red"), indent=_DEEP_INDENT)


def _verdict_text(effect: EffectView) -> Text:
    return Text(effect.verdict.value, style=_VERDICT_STYLES[effect.verdict])


def person_text(person: User) -> str:
    """A person with their roles."""
    return one_line(person.id + (f" ({', '.join(person.roles)})" if person.roles else ""))


def state_text(state: EffectState) -> Text:
    """A state of an effect in its colour."""
    return Text(state.value, style=_STATE_STYLES.get(state, ""))


def _rules_of(effect: EffectView) -> str:
    failed = [f"{effect.failed_rule} (failed)"] if effect.failed_rule else []
    return ", ".join(map(visible, [*failed, *effect.rules])) or "default"


def _reasons(out: Output, effects: Sequence[EffectView]) -> None:
    """What the rules say, each sentence once, with the effects it is said of."""
    said: dict[str, list[int]] = {}
    for effect in effects:
        if effect.message:
            said.setdefault(effect.message, []).append(effect.seq)
    for message, seqs in said.items():
        out.draw(Text(f"{effects_named(seqs)}: {one_line(message)}"), indent=_INDENT)


def _approvals(out: Output, job: JobView, plan: PlanView) -> None:
    if not plan.approvals and not job.decisions:
        return
    section(out, "Approvals")
    for need in plan.approvals:
        given = f", given by {', '.join(need.approved_by)}" if need.approved_by else ""
        who = " or ".join(need.roles) if need.roles else "anyone who may decide"
        rule = need.rule or "the default"
        out.line(f"  {rule}: {len(need.approved_by)} of {need.quorum} from {who}{given}")
    if plan.avoidable is not None and job.status in WAITING_FOR_PEOPLE:
        out.draw(Text(visible(plan.avoidable.message), style="cyan"), indent=_INDENT)
    for decision in job.decisions:
        word = "approved" if decision.decision is Choice.APPROVE else "denied"
        old = "" if decision.digest == plan.digest else " (an earlier plan)"
        reason = f": {one_line(decision.reason)}" if decision.reason else ""
        out.draw(Text(visible(f"{decision.user.id} {word}{old}{reason}")), indent=_INDENT)


def _error(out: Output, error: ErrorInfo) -> None:
    section(out, "Error", error.code)
    out.draw(Text(visible(error.message)), indent=_INDENT)
    _details(out, error)


def _details(out: Output, error: ErrorInfo) -> None:
    for name, value in error.details.items():
        if name in {"findings", "problems"} and isinstance(value, list):
            for finding in value:
                out.draw(Text(_finding(finding)), indent=_INDENT)
        else:
            shown = visible(value) if isinstance(value, str) else short_json(value)
            out.draw(Text(f"{name}: ", style="dim").append(cut(shown, DETAIL_SHOWN), style="not dim"), indent=_INDENT)


def _finding(finding: JsonValue) -> str:
    if not isinstance(finding, dict):
        return short_json(finding)
    place = f"line {finding['line']}, column {finding.get('column', 1)}: " if finding.get("line") else ""
    at = f"{finding['at']}: " if finding.get("at") else ""
    hint = f" ({finding['hint']})" if finding.get("hint") else ""
    return one_line(f"{place}{at}{finding.get('message', short_json(finding))}{hint}")


def _costs(out: Output, job: JobView) -> None:
    timings = job.timings_ms.model_dump(by_alias=True)
    spent = ", ".join(f"{name} {ms:.0f} ms" for name, ms in timings.items() if ms)
    if spent:
        out.line()
        _fact(out, "times", spent)
    if job.usage.model:
        usage = job.usage
        _fact(
            out,
            "model",
            f"{usage.model}: {usage.prompt_tokens} + {usage.completion_tokens} tokens, {usage.cost_usd:.4f} USD",
        )
    judge = job.usage.judge
    if judge.calls:
        tokens = f"{judge.prompt_tokens} + {judge.completion_tokens} tokens"
        _fact(out, "judge", f"{counted(judge.calls, 'call')}, {tokens}, {judge.cost_usd:.4f} USD")
    for name, value in job.metadata.items():
        _fact(out, "with", one_line(f"{name}={value}"))


def _references(refs: Sequence[Ref]) -> list[str]:
    """What each reference stands for. Apart from the data, so that no text can pose as one."""
    return [
        f"{visible(ref.at) or 'all of it'} = result of effect {ref.effect}"
        + (f", its {visible(ref.path)}" if ref.path else "")
        for ref in refs
    ]


def json_value(out: Output, value: JsonValue) -> None:
    """A JSON value over several lines, coloured on a terminal."""
    text = pretty_json(value)
    if out.is_terminal and not isinstance(value, str):
        out.draw(JSONHighlighter()(Text(text)), indent=_INDENT)
    else:
        out.raw(_indented(text))


def code(out: Output, source: str, language: str) -> None:
    """Source text, highlighted and wrapped on a terminal, as it is elsewhere."""
    if out.is_terminal:
        syntax = Syntax(
            visible(source).rstrip("\n"), language, theme="ansi_dark", word_wrap=True, background_color="default"
        )
        out.draw(syntax, indent=_INDENT)
    else:
        out.raw(_indented(source))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip("\n").split("\n"))

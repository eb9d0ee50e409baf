"""`vardy demo`: the whole main job in the terminal, on real parts, in under a minute.

Seven requests go through HTTP, Redis, Celery, the model, the sandbox, the rules and the
journal. Each step says what it expects; the exit code is 0 only if all came true.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.json import JSON
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from vardy_api.client import Vardy
from vardy_api.stack import Stack
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.demo.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.view import EffectView, JobView

ANA = User(id="ana", roles=("support",))
LEADS = (User(id="lea", roles=("support_lead",)), User(id="leo", roles=("support_lead",)))
STEP_SECONDS_MAX = 90.0
PROMPT_LINES = 14
COLUMNS = ("", "function", "arguments", "verdict", "why", "state")
ROWS_SHOWN = 10
ROWS_WRAPPED = 3
"""A plan of more effects has one line for each, cut to the width."""


@dataclass(slots=True)
class Demo:
    """One run of the demo. `wrong` collects what did not come true."""

    vardy: Vardy
    out: Console
    shop_dir: Path
    steps: int = 0
    wrong: list[str] = field(default_factory=list)

    def run(self) -> None:
        """All steps, in order."""
        self.read_question()
        self.explored_question()
        self.plan_mode()
        self.small_write()
        self.approved_write()
        self.blocked_write()
        self.half_way()

    def read_question(self) -> None:
        """A question that only reads."""
        job = self.ask("A question", "Which customers have overdue invoices?", Status.SUCCESS, show_prompt=True)
        self.say("The model saw the function signatures and the request, and no row of the shop.")
        self.expect(not job.effects, "a question has no effects")

    def explored_question(self) -> None:
        """A question that takes more than one program: explored in rounds, and answered in words."""
        question = "Which agent needs help?"
        self.head("Explore: rounds of reads, and an answer in words", question)
        job = self.vardy.explore(question, user=ANA, timeout_seconds=STEP_SECONDS_MAX)
        for each in job.rounds:
            shown = each.summary if each.error is None else each.error.code
            self.out.print(Text(f"round {each.n}: the model is shown", style="dim"), JSON.from_data(shown, indent=None))
        if job.answer is not None:
            self.out.print(Panel(Text(job.answer), title="the answer", title_align="left", border_style="dim"))
        self.expect_status(job, Status.SUCCESS)
        self.show_error(job)
        self.say("Of the shop the model saw what its programs returned, and nothing else.")
        self.expect(any(each.error is None for each in job.rounds), "a program of it read the shop")

    def plan_mode(self) -> None:
        """A write in plan mode: shown, not done."""
        job = self.ask("Plan mode: what would happen", "Cancel order 17", Status.PLANNED, mode="plan")
        self.expect(job.plan is not None and job.plan.counts.pending == 1, "nothing was executed")

    def small_write(self) -> None:
        """A small write that the rules allow."""
        job = self.ask("A small refund, which a rule allows", "Refund 25.00 of payment 5", Status.SUCCESS)
        self.expect(job.plan is not None and job.plan.counts.succeeded == 1, "the refund was applied")

    def approved_write(self) -> None:
        """A bigger write that waits for a person."""
        job = self.ask("A bigger refund, which waits", "Refund 60.00 of payment 1", Status.PENDING_APPROVAL)
        if job.plan is None:
            return
        self.say(f"{LEADS[0].id} (support_lead) approves exactly plan {job.plan.digest[:12]}…")
        job = self.vardy.commit(job, user=LEADS[0], timeout_seconds=STEP_SECONDS_MAX)
        self.show_plan(job)
        self.expect_status(job, Status.SUCCESS)

    def blocked_write(self) -> None:
        """A write that nobody may do."""
        job = self.ask("A refund over the ceiling", "Refund 1500.00 of payment 1", Status.POLICY_BLOCKED)
        self.expect(job.error is not None and job.error.code == "policy.blocked", "a rule blocked it")

    def half_way(self) -> None:
        """Many mails: two approvals, a failure half-way, and a requeue."""
        request = "Remind every customer with an overdue invoice"
        job = self.ask("Many mails: two approvals, and one mailbox is full", request, Status.PENDING_APPROVAL)
        if job.plan is None:
            return
        for lead in LEADS:
            self.say(f"{lead.id} (support_lead) approves.")
            job = self.vardy.approve(job, user=lead, timeout_seconds=STEP_SECONDS_MAX)
        job = self.vardy.wait(job, timeout_seconds=STEP_SECONDS_MAX)
        self.show_plan(job)
        self.expect_status(job, Status.PARTIAL)
        self.show_error(job)
        self.say("The mailbox is emptied; an operator requeues the commit. What was done is not done again.")
        shop = Database()
        shop.open(self.shop_dir)
        shop.empty_mailbox()
        shop.close()
        sent = {effect.seq for effect in job.effects if effect.state == "SUCCEEDED"}
        job = self.vardy.wait(self.vardy.requeue(job, user=LEADS[0]), timeout_seconds=STEP_SECONDS_MAX)
        self.show_plan(job)
        self.expect_status(job, Status.SUCCESS)
        once = all(effect.attempts == 1 for effect in job.effects if effect.seq in sent)
        self.expect(once, "no mail was sent twice")

    # --- one request --------------------------------------------------------------------------

    def head(self, title: str, request: str) -> None:
        """Begins a step with what is asked."""
        self.steps += 1
        self.out.print()
        self.out.rule(Text(f" {self.steps}. {title} ", style="bold"), align="left")
        self.out.print(Text.assemble((f"{ANA.id} asks: ", "dim"), (f"“{request}”", "bold")))

    def ask(
        self, title: str, request: str, expected: Status, *, mode: str = "execute", show_prompt: bool = False
    ) -> JobView:
        """Submits a request, waits, and shows what became of it."""
        self.head(title, request)
        if show_prompt:
            self.show_prompt(request)
        job = self.vardy.run(request, user=ANA, mode=mode, timeout_seconds=STEP_SECONDS_MAX)
        if job.program is not None:
            text = job.program.source.strip()
            source = Syntax(text, "javascript", background_color="default", word_wrap=True)
            self.out.print(Panel(source, title="the program the model wrote", title_align="left", border_style="dim"))
        self.show_plan(job)
        self.expect_status(job, expected)
        self.show_error(job)
        if job.output is not None:
            self.out.print(Text("output", style="dim"), JSON.from_data(job.output, indent=None))
        return job

    def show_prompt(self, request: str) -> None:
        """What the model gets to see, cut for the terminal."""
        messages = self.vardy.prompt(request, user=ANA).messages
        size = sum(len(message.content.encode()) for message in messages)
        declared = _declarations(messages[0].content)
        more = len(declared) - PROMPT_LINES
        shown = "\n".join(declared[:PROMPT_LINES]) + (f"\n… and {more} more functions" if more > 0 else "")
        last = messages[-1].content.strip()
        self.out.print(
            Panel(
                Text(f"{shown}\n\n{last}", no_wrap=True, overflow="ellipsis"),
                title=f"what the model sees: {len(messages)} messages, {size:,} bytes (whole: vardy prompts show)",
                title_align="left",
                border_style="dim",
            )
        )

    def show_plan(self, job: JobView) -> None:
        """The plan as a table."""
        if job.plan is None:
            return
        table = Table(title=f"plan {job.plan.digest[:12]}…, verdict {job.plan.verdict}", title_justify="left")
        for column in COLUMNS:
            table.add_column(column, overflow="fold" if column == "arguments" else "ellipsis")
        rows = [_row(effect) for effect in job.effects[:ROWS_SHOWN]]
        width = self.out.width if len(rows) > ROWS_WRAPPED else None
        for row in rows if width is None else _one_line_each(rows, width):
            table.add_row(*row)
        self.out.print(table)
        if len(job.effects) > ROWS_SHOWN:
            self.say(f"… and {len(job.effects) - ROWS_SHOWN} more")

    def show_error(self, job: JobView) -> None:
        """Why the job is where it is."""
        if job.error is not None:
            self.out.print(Text.assemble((job.error.code, "yellow"), f"  {job.error.message}"))

    # --- expectations --------------------------------------------------------------------------

    def expect_status(self, job: JobView, status: Status) -> None:
        """Shows the status, and remembers when it is not the expected one."""
        good = job.status is status
        # No tick before a status such as PARTIAL, which is what the step shows and nothing to be glad of.
        told = Text(", as expected", "dim") if good else Text(f", where {status.value} was expected", "red")
        self.out.print(Text(job.status.value, "bold") + told)
        if not good:
            self.wrong.append(f"step {self.steps}: {job.status.value} instead of {status.value} (job {job.id})")

    def expect(self, fact: bool, sentence: str) -> None:
        """Remembers a fact that did not come true."""
        if not fact:
            self.wrong.append(f"step {self.steps}: not true that {sentence}")
            self.out.print(Text(f"✗ not true: {sentence}", style="red"))

    def say(self, sentence: str) -> None:
        """One line of explanation."""
        self.out.print(Text(sentence, style="dim"))


def _declarations(prompt: str) -> list[str]:
    """The functions that a prompt declares, each in one line without its comments."""
    found = re.findall(r"^declare function (?:[^\n]*\{\n.*?^\}[^\n]*|[^\n]*)$", prompt, re.MULTILINE | re.DOTALL)
    return [" ".join(re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL).split()) for text in found]


def _row(effect: EffectView) -> list[str]:
    # Short values first: what is cut off is then a long text, not an id.
    by_length = sorted(effect.args.items(), key=lambda item: len(str(item[1])))
    arguments = ", ".join(f"{name}: {_short(value)}" for name, value in by_length)
    references = "".join(f" {ref.at[1:]}: ⟨{ref.effect}{ref.path}⟩" for ref in effect.refs)
    why = ", ".join(effect.rules) or "default"
    return [str(effect.seq), effect.function, arguments + references, effect.verdict, why, effect.state]


def _one_line_each(rows: list[list[str]], width: int) -> list[list[str]]:
    """The rows with their arguments cut to what the other columns of the table leave."""
    place = COLUMNS.index("arguments")
    widest = [max(map(len, (name, *column))) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)]
    taken = sum(widest) - widest[place] + 3 * len(COLUMNS) + 1
    left = max(width - taken, len("arguments"))
    return [[*row[:place], _short(row[place], left), *row[place + 1 :]] for row in rows]


def _short(value: object, length: int = 40) -> str:
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"


def run_demo(
    *, data_dir: Path | None = None, console: Console | None = None, log: Callable[[str], None] | None = None
) -> int:
    """Runs the demo in a fresh folder (or `data_dir`), and returns its exit code."""
    out = console or Console()
    began = time.monotonic()
    lines: list[str] = []

    def keep(name: str, line: str) -> None:
        lines.append(f"{name:<7}| {line}")
        if log is not None:
            log(lines[-1])

    with tempfile.TemporaryDirectory(prefix="vardy-demo-") as temporary:
        folder = data_dir or Path(temporary)
        out.print("Starting an embedded server, a worker and the API …")
        # The demo is about the demo shop, whatever the environment names.
        demo_shop = dict.fromkeys(("VARDY_FUNCTIONS", "VARDY_RULES", "VARDY_DEMO_DIR", "VARDY_JUDGE_MODEL"), "")
        with Stack(data_dir=folder, show=keep, environment=demo_shop) as stack:
            model = "the scripted model, which is no AI" if stack.scripted else os.environ["VARDY_MODEL"]
            out.print(f"Ready after {time.monotonic() - began:.1f} s. The model: {model}.")
            with Vardy(stack.url, api_key=stack.api_key) as vardy:
                demo = Demo(vardy=vardy, out=out, shop_dir=folder / "shop")
                try:
                    demo.run()
                except KeyboardInterrupt:
                    # Stopping takes seconds, in which nothing else would be seen.
                    out.print("Stopping; the running job is finished first.")
                    raise
    out.print()
    if demo.wrong:
        out.print(Text("The demo did not go as it should:", style="red"))
        for sentence in demo.wrong:
            out.print(f"  {sentence}")
        for line in lines[-20:]:
            out.print(Text(line, style="dim"))
        return 1
    out.print(Text(f"All {demo.steps} steps ended as they should, in {time.monotonic() - began:.1f} s.", style="green"))
    out.print(Text("Go on by hand with: vardy dev", style="dim"))
    return 0

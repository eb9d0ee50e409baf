"""`tokens`: what the main model is sent while the data of a job grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.bench.functions import PROGRAM
from vardy_api.bench.jobs import BENCH_USER
from vardy_api.bench.measuring import Measurement
from vardy_api.bench.service import bench_stack
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.questions import question_in
from vardy_worker.demo.scripted import ScriptedModel
from vardy_worker.prompts.summary import summary_text
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.view import JobView

FEW_ROWS, MANY_ROWS = 10, 100_000
ROWS_PROGRAM = "async function run(params) {\n  return await list_rows({ count: params.count });\n}\n"
"""Returns every row that it reads, as no program should."""
COUNT, SHOW = "how many rows are there?", "which rows are there?"
ROUNDS = 2
"""Rounds of the explore that returns rows, so that a later round carries the summaries of the earlier ones."""


def tokens() -> Measurement:
    """Bytes sent to the main model by a run and by explores, while the data they read grows."""
    with ScriptedModel(answer=_answer) as model:
        # The data of the bigger job is beyond the default limits; they are not what is measured.
        bigger = {
            "VARDY_CALL_RESULT_BYTES_MAX": str(32 * 1024 * 1024),
            "VARDY_OUTPUT_BYTES_MAX": str(32 * 1024 * 1024),
            "VARDY_GUEST_MEMORY_MIB_MAX": "512",
        }
        with bench_stack(**model.environment(), **bigger) as stack, Vardy(stack.url, api_key=stack.api_key) as vardy:
            sent = {rows: _run(vardy, model, rows) for rows in (FEW_ROWS, MANY_ROWS)}
            counted = {rows: _explore(vardy, model, COUNT, rows)[0] for rows in (FEW_ROWS, MANY_ROWS)}
            shown, job = _explore(vardy, model, SHOW, MANY_ROWS)
    summary_bytes_max = load_settings().limits.summary_bytes_max
    summaries = [len(summary_text(each.summary).encode()) for each in job.rounds]
    counts_ratio = counted[MANY_ROWS] / counted[FEW_ROWS]
    is_bounded = len(summaries) == ROUNDS and max(summaries) <= summary_bytes_max
    return Measurement(
        name="tokens",
        what=f"bytes to the model, {MANY_ROWS:,} rows against {FEW_ROWS} (explore in details)",
        value=sent[MANY_ROWS],
        unit="bytes",
        floor=sent[FEW_ROWS],
        floor_what=f"the same job over {FEW_ROWS} rows",
        ratio=sent[MANY_ROWS] / sent[FEW_ROWS],
        target=f"run 1.00 ×; explore 1.00 × for counts, ≤ {summary_bytes_max:,} bytes of each summary",
        met=sent[MANY_ROWS] == sent[FEW_ROWS] and round(counts_ratio, 2) == 1 and is_bounded,
        details={
            "explore_counts_bytes": counted[MANY_ROWS],
            "explore_counts_ratio": round(counts_ratio, 4),
            "explore_rows_bytes": shown,
            "explore_summary_bytes": max(summaries),
        },
    )


def _answer(messages: Sequence[tuple[str, str]]) -> Answer:
    turn = sum(1 for role, _ in messages if role == "assistant")
    question = question_in(messages)
    if question is None or (question == COUNT and turn == 0):
        return Answer(f"```javascript\n{PROGRAM}```")
    if question == SHOW and turn < ROUNDS:
        return Answer(f"```javascript\n{ROWS_PROGRAM}```")
    return Answer("So many.")


def _run(vardy: Vardy, model: ScriptedModel, rows: int) -> int:
    model.forget()
    # The digits of the count are the request's own, so they must not differ in length.
    job = vardy.run(COUNT, params={"count": rows}, user=BENCH_USER)
    if job.status is not Status.SUCCESS or job.output["rows"] != rows:
        raise RuntimeError(f"the job ended as {job.status}: {job.error}")
    return _bytes_sent(model)


def _explore(vardy: Vardy, model: ScriptedModel, question: str, rows: int) -> tuple[int, JobView]:
    model.forget()
    job = vardy.explore(question, params={"count": rows}, user=BENCH_USER, rounds_max=ROUNDS)
    if job.status is not Status.SUCCESS or any(each.error for each in job.rounds):
        raise RuntimeError(f"the job ended as {job.status}: {job.error or job.rounds}")
    return _bytes_sent(model), job


def _bytes_sent(model: ScriptedModel) -> int:
    return sum(len(received.body) for received in model.requests)

"""`classify`: how often a program's many texts make the judge's model be asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from vardy_api.bench.jobs import BENCH_USER
from vardy_api.bench.measuring import Measurement, seconds_of
from vardy_api.bench.service import bench_stack
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status
from vardy_worker.demo.phrases import Answer
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from vardy_worker.contracts.view import JobView

TEXTS, DISTINCT = 1000, 300
CALLS_MAX = 8
RECIPE = "bench-classify"
PROGRAM = """async function run(params) {
  const rows = await list_rows({ count: params.distinct });
  const texts = Array.from({ length: params.texts }, (_, at) => rows[at % rows.length].name);
  const { labels, counts } = await classify(texts, ["even", "odd"]);
  return { counts, right: labels.filter((label, at) => label === ((at % rows.length) % 2 ? "odd" : "even")).length };
}
"""


def classify() -> Measurement:
    """Calls of the judge's model for a thousand texts, three hundred of them distinct, and for the same again."""
    with ScriptedModel(answer=_judge) as model:
        environment = model.environment()
        with bench_stack(**environment) as stack, Vardy(stack.url, api_key=stack.api_key) as vardy:
            vardy.save_recipe(RECIPE, source=PROGRAM, params_schema={"type": "object"}, judge=True)
            # The first job of a worker that judges loads the model library.
            _run(vardy, texts=1, distinct=1)
            first, first_seconds = _measured(vardy, model)
            second, second_seconds = _measured(vardy, model)
    return Measurement(
        name="classify",
        what=f"model calls for {TEXTS:,} texts, {DISTINCT} distinct (again in details)",
        value=first,
        unit="calls",
        target=f"≤ {CALLS_MAX} calls, again 0",
        met=first <= CALLS_MAX and second == 0,
        details={
            "calls_again": second,
            "first_ms": round(first_seconds * 1000, 1),
            "again_ms": round(second_seconds * 1000, 1),
        },
    )


def _measured(vardy: Vardy, model: ScriptedModel) -> tuple[int, float]:
    model.forget()
    seconds = seconds_of(lambda: _run(vardy, texts=TEXTS, distinct=DISTINCT))
    return len(model.requests), seconds


def _run(vardy: Vardy, *, texts: int, distinct: int) -> JobView:
    job = vardy.run(recipe=RECIPE, params={"texts": texts, "distinct": distinct}, judge=True, user=BENCH_USER)
    if job.status is not Status.SUCCESS or job.output["right"] != texts:
        raise RuntimeError(f"the job ended as {job.status}: {job.error or job.output}")
    return job


def _judge(messages: list[tuple[str, str]]) -> Answer:
    lines = messages[-1][1].partition("<texts>\n")[2].partition("\n</texts>")[0].splitlines()
    texts = [json.loads(line) for line in lines]
    return Answer(json.dumps({text["id"]: "odd" if text["text"][-1] in "13579" else "even" for text in texts}))

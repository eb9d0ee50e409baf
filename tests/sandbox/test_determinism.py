"""The same job gives the same plan and output, byte for byte, however often and in whichever child it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.factories import ANA, NOW_MS, planned_job
from vardy_worker import Functions
from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.base import canonical_json, sha256_text
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.plan import Plan
from vardy_worker.contracts.program import Program
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.sandbox.pool import Image
from vardy_worker.stages.execute import Executed, ExecuteInput, execute
from vardy_worker.stages.plan import plan_of

RUNS = 1000
CHILDREN = 3
PROGRAMS_PER_CHILD = 150
JOB = "job_01HZZZZZZZZZZZZZZZZZZZZZZZ"
SOURCE = """async function run(params) {
  const orders = await Promise.all(params.cities.map((city) => list_orders({ city })));
  const all = orders.flat().sort((a, b) => a.city.localeCompare(b.city) || b.total - a.total);
  const picked = all.filter(() => Math.random() < 0.5);
  const marks = new Map(picked.map((order, n) => [`${order.city}/${n}`, Math.floor(Math.random() * 1e9)]));
  const saved = [];
  for (const order of picked.slice(0, 5)) {
    const due = new Date(Date.now() + order.total * 86400000);
    saved.push(await remind({ city: order.city, cents: order.total, due: due.toISOString() }));
  }
  await note({ text: [...marks.keys()].join(), after: saved[0].id });
  console.log(picked, new Date());
  return { marks, saved: saved.length, first: saved[0].id, big: 2n ** 70n, now: new Date(), third: 1 / 3, set: new Set(params.cities) };
}
"""  # noqa: E501 - a program
functions = Functions()


@functions.read
def list_orders(city: str) -> list[dict[str, str | int]]:
    """The orders of a city."""
    digest = hashlib.sha256(city.encode()).digest()
    return [{"city": city, "total": byte} for byte in digest[:8]]


@functions.write
def remind(city: str, cents: int, due: str) -> dict[str, int]:
    """Sends a reminder."""
    raise AssertionError((city, cents, due))


@functions.write
def note(text: str, after: int) -> None:
    """Writes a note."""
    raise AssertionError((text, after))


@pytest.fixture
def host() -> Iterator[FunctionRuntime]:
    runtime = FunctionRuntime(functions, threads=4)
    runtime.start()
    yield runtime
    runtime.stop()


def result_of(sandbox: ChildSandbox, host: FunctionRuntime, job_id: str = JOB, now_ms: int = NOW_MS) -> str:
    """Plan, output and console of one execution, as one canonical text."""
    program = Program(source=SOURCE, sha256=sha256_text(SOURCE))
    given = ExecuteInput(
        job_id=job_id,
        program=program,
        catalogue=host.catalogue(),
        params={"cities": ["Porto", "Évora", "Braga", "évora"]},
        user=ANA,
        limits=Limits(),
        now_ms=now_ms,
    )
    executed = execute(given, sandbox=sandbox, host=host, clock=SystemClock())
    assert isinstance(executed, Executed), executed
    job = planned_job(id=job_id, program=program)
    plan = plan_of(job, executed.effects, rules_digest="", plan_bytes_max=Limits().plan_bytes_max)
    assert isinstance(plan, Plan)
    refs = [ref.model_dump() for ref in executed.output_refs]
    console = [line.text for line in executed.trace.console.lines]
    parts = (canonical_json(executed.output), canonical_json(refs), canonical_json(console))
    return "\n".join([plan.text, *(part.decode() for part in parts)])


def test_a_thousand_runs_in_several_children_give_the_same_bytes(image: Image, host: FunctionRuntime) -> None:
    sandbox = ChildSandbox(warm=CHILDREN, children_max=CHILDREN, programs_per_child_max=PROGRAMS_PER_CHILD, image=image)
    assert sandbox.wait_warm(60)
    pids = set()

    def once(_: int) -> str:
        pids.update(sandbox.child_pids())
        return result_of(sandbox, host)

    with ThreadPoolExecutor(CHILDREN) as threads:
        results = set(threads.map(once, range(RUNS)))
    sandbox.close()
    [only] = results
    assert "reminded" not in only
    assert only.count('"function":"remind"') == 5
    # Worn children were replaced, so more than a few took part.
    assert len(pids) >= RUNS // PROGRAMS_PER_CHILD


def test_another_job_or_another_moment_gives_another_plan(sandbox: ChildSandbox, host: FunctionRuntime) -> None:
    same = result_of(sandbox, host)
    assert result_of(sandbox, host, job_id="job_01HZZZZZZZZZZZZZZZZZZZZZZY") != same
    assert result_of(sandbox, host, now_ms=NOW_MS + 1) != same

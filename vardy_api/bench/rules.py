"""`rules`: what a plan costs under a rules file, and that the cost is linear in both."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

from vardy_api.bench.functions import writes
from vardy_api.bench.measuring import Measurement, interleaved
from vardy_worker.contracts.plan import Effect, PlanBody
from vardy_worker.contracts.policy import Verdict
from vardy_worker.contracts.user import User
from vardy_worker.functions import build_catalogue
from vardy_worker.ports import PlanFacts
from vardy_worker.rules import CelRules

if TYPE_CHECKING:
    from collections.abc import Callable

EFFECTS = 1000
RULES = 20
ROUNDS = 7
MILLISECONDS_MAX = 150
DOUBLED_MAX = 2.4
"""What twice as much may cost and still be linear, as far as such short times tell."""

CONDITIONS = (
    "args.cents <= 5000 && plan.counts.note <= 100000",
    "args.cents > 100000",
    "plan.sums.note.cents > 900000000",
    "args.text.contains('urgent') && args.cents > 100",
    "'cents' in refs || args.cents > 70000",
    "'trainee' in user.roles && plan.total > 100000",
    "args.number > 900000000",
    "plan.distinct.note.text > 100000",
    "effect.seq > 100000 || args.cents + args.number < 0",
    "has(params.limit) && args.cents > int(params.limit)",
)
"""Of every kind that rules have: about the arguments, the plan, the person and the request."""


def rules() -> Measurement:
    """Evaluates plans of one and two thousand effects under twenty and forty rules.

    In processor time: it waits for nothing, so that this is what it takes on an idle machine.
    """
    engine = CelRules()
    facts = PlanFacts(
        user=User(id="bench", roles=("clerk",)), params={}, mode="execute", catalogue=build_catalogue(writes)
    )

    def evaluation(effects: int, count: int) -> Callable[[], float]:
        plan, loaded = _plan(effects), engine.load(_file(count), facts.catalogue)

        def evaluate() -> float:
            gc.collect()
            began = time.thread_time()
            engine.evaluate(loaded, plan, facts)
            return time.thread_time() - began

        if engine.evaluate(loaded, plan, facts).verdict is not Verdict.ALLOW:
            raise RuntimeError("the rules did not say what they should")
        return evaluate

    base, more_effects, more_rules = interleaved(
        ROUNDS, evaluation(EFFECTS, RULES), evaluation(2 * EFFECTS, RULES), evaluation(EFFECTS, 2 * RULES)
    )
    grown = {"twice_the_effects": more_effects / base, "twice_the_rules": more_rules / base}
    milliseconds = base * 1000
    return Measurement(
        name="rules",
        what=f"{EFFECTS:,} effects under {RULES} rules",
        value=milliseconds,
        unit="ms",
        target=f"≤ {MILLISECONDS_MAX} ms, linear in both",
        met=milliseconds <= MILLISECONDS_MAX and max(grown.values()) <= DOUBLED_MAX,
        details={name: round(ratio, 2) for name, ratio in grown.items()},
    )


def _file(count: int) -> str:
    lines = ["default: allow", "rules:"]
    for number in range(count):
        condition = CONDITIONS[number % len(CONDITIONS)]
        then = "approve" if number % len(CONDITIONS) else "allow"
        lines.append(f'- {{name: rule-{number}, on: [note], when: "{condition}", then: {then}}}')
    return "\n".join(lines) + "\n"


def _plan(effects: int) -> PlanBody:
    return PlanBody(
        job_id="job_bench",
        revision=1,
        program_sha256="",
        params_sha256="",
        rules_digest="",
        requester="bench",
        effects=tuple(
            Effect(
                seq=seq,
                function="note",
                version="bench",
                args={"number": seq, "cents": seq % 400, "text": f"row {seq}"},
            )
            for seq in range(effects)
        ),
    )

"""Workers and their sandbox children are killed at seeded random moments while many jobs are in hand.

`VARDY_FAULT_SECONDS` is how long it goes on (at least one round), `VARDY_FAULT_SEED` the seed
of the first round; a failure names the seed of its own.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from tests.faults.conftest import ANA, SECONDS
from tests.support.process_table import descendants, needs_proc
from tests.support.scripts import source
from tests.support.waiting import eventually
from vardy_worker.contracts.journal import EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from tests.faults.conftest import Cluster
    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView

FAULT_SECONDS: Final = float(os.environ.get("VARDY_FAULT_SECONDS", "0"))
FIRST_SEED: Final = int(os.environ.get("VARDY_FAULT_SEED", "20"))

JOBS: Final = 30
KILLS: Final = 4
TRAVEL_SECONDS: Final = 0.2
"""The way to the target, so that kills meet calls that are under way."""
CALLS: Final = 5
"""What one job calls: a read, three effects that are safely repeated, and one that is not."""
HONEST_LOSSES: Final = frozenset({"execution.sandbox_lost", "execution.poison"})
"""How a run may end whose child was killed, or whose workers were, three times. It has changed nothing."""

BODY: Final = """
const seen = await count_lines({name: `${params.job}-read`});
await add_line({name: `${params.job}-0`});
await post_letter({name: `${params.job}-letter`});
await add_line({name: `${params.job}-1`});
await add_line({name: `${params.job}-2`});
return seen;
"""


@dataclass
class Tally:
    """What happened in all rounds; printed at the end, for the documentation."""

    rounds: int = 0
    jobs: int = 0
    workers: int = 0
    children: int = 0
    effects: int = 0
    repeated: int = 0
    unknown: int = 0
    lost_runs: int = 0
    settled: Counter[str] = field(default_factory=Counter)


class Round:
    """One round: jobs are submitted, and while they are worked on, processes die."""

    def __init__(self, cluster: Cluster, vardy: Vardy, seed: int, tally: Tally) -> None:
        self._cluster = cluster
        self._vardy = vardy
        self._rng = random.Random(seed)  # noqa: S311 - chooses moments and victims, guards nothing
        self._tally = tally
        self._prefix = f"seed{seed}"

    def play(self) -> None:
        called = self._calls()
        jobs = [
            self._vardy.run(recipe="load", params={"job": f"{self._prefix}-{number}"}, user=ANA, wait=False)
            for number in range(JOBS)
        ]
        # The last calls of all may never come: runs that are lost make none.
        for moment in sorted(self._rng.sample(range(1, JOBS * CALLS // 2), KILLS)):
            assert eventually(lambda moment=moment: self._calls() - called >= moment, seconds=SECONDS)  # type: ignore[misc] # a default binds it
            self._kill()
        for number, job in enumerate(jobs):
            self._end(f"{self._prefix}-{number}", self._cluster.settled(self._vardy, job, *Status))
        self._tally.rounds += 1
        self._tally.jobs += JOBS

    def _kill(self) -> None:
        worker = self._rng.choice([self._cluster.deployment.processes[name].pid for name in self._worker_names()])
        children = sorted(child.pid for child in descendants(worker))
        if children and self._rng.random() < 0.5:
            # One that just ended by itself is dead as well.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._rng.choice(children), signal.SIGKILL)
            self._tally.children += 1
        else:
            self._cluster.kill(worker)
            self._tally.workers += 1

    def _worker_names(self) -> list[str]:
        return sorted(self._cluster.worker_names())

    def _calls(self) -> int:
        path = self._cluster.ledger.folder / "calls"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def _end(self, name: str, job: JobView) -> None:
        """Leads a job that stopped half-way to its end, as an operator who looks at the target does."""
        self._tally.settled[f"{job.status} {job.error.code if job.error else ''}".strip()] += 1
        if job.status is Status.EXECUTION_ERROR:
            assert job.error is not None
            assert job.error.code in HONEST_LOSSES
            assert job.effects == ()
            self._tally.lost_runs += 1
            return
        while job.status is not Status.SUCCESS:
            assert job.status in {Status.PARTIAL, Status.FUNCTION_ERROR}, (job.status, job.error)
            assert job.plan is not None, job.error
            for effect in job.effects:
                if effect.state is EffectState.UNKNOWN and effect.function == "post_letter":
                    applied = self._cluster.ledger.applied(f"{name}-letter")
                    self._tally.unknown += 1
                    self._vardy.resolve(
                        job, effect.seq, done=applied == 1, reason="it is in the post book", user="olga"
                    )
            job = self._cluster.settled(self._vardy, self._vardy.requeue(job, user="olga"), *Status)
        self._tally.effects += len(job.effects)


def check_target(cluster: Cluster, tally: Tally) -> None:
    """Every effect once, whatever was called how often; and a letter is posted again only by an operator's word."""
    applied = {name: times for name, times in cluster.ledger.all_applied().items() if name.startswith("seed")}
    assert not [name for name, times in applied.items() if times != 1]
    assert len(applied) == tally.effects
    writes = [call for call in cluster.ledger.all_calls() if call["key"] and call["name"].startswith("seed")]
    assert len({(call["name"], call["key"]) for call in writes}) == len({call["name"] for call in writes}), (
        "an effect keeps its key"
    )
    tally.repeated = len(writes) - len({call["name"] for call in writes})


@needs_proc
@pytest.mark.timeout(FAULT_SECONDS + 240)
def test_killing_workers_and_their_children_under_load_loses_no_effect_and_repeats_none(
    cluster: Cluster, vardy: Vardy
) -> None:
    vardy.save_recipe("load", source=source(BODY), reviewed_by="rita")
    tally = Tally()
    cluster.ledger.slow_down(TRAVEL_SECONDS)
    until = time.monotonic() + FAULT_SECONDS
    seed = FIRST_SEED
    while not tally.rounds or time.monotonic() < until:
        try:
            Round(cluster, vardy, seed, tally).play()
            check_target(cluster, tally)
        except BaseException as error:
            error.add_note(f"Found by seed {seed}: repeat with VARDY_FAULT_SEED={seed} VARDY_FAULT_SECONDS=0.")
            raise
        seed += 1
    cluster.ledger.hurry()
    assert tally.jobs == sum(tally.settled.values())
    print(f"seeds {FIRST_SEED} to {seed - 1}: {tally}")  # noqa: T201 - the numbers of a long run, shown with -s

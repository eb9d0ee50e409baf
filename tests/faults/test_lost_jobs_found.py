"""How soon a job is in hand again whose worker was lost, with no word from the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from structlog.testing import capture_logs

from tests.support.factories import submission
from tests.support.life import RECIPE, Company, Life, MemoryGround, caller
from tests.support.mortal import Doom
from vardy_worker.contracts.job import JobFilter
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

FOUND_SECONDS_MAX: Final = 15
CLAIM: Final = "MemoryJobStore.claim"


@pytest.fixture(scope="module")
def company() -> Iterator[Company]:
    with Company() as made:
        yield made


def submitted(company: Company, doom: Doom, recipe: str | None) -> Life:
    life = Life(MemoryGround(), company, doom, redelivers=False, rules_text="default: allow\n")
    what = submission(recipe=recipe) if recipe else submission(request="refund it")
    life.api.submit.run(caller(), what)
    (item,) = life.store.list_jobs(JobFilter(), cursor=None, limit=5).items
    life.job_id = item.id
    return life


def worked_on(life: Life) -> None:
    """Messages are taken as long as there are any; nobody looks for lost jobs."""
    while life.take("run") or life.take("commit"):
        pass


@pytest.mark.parametrize("recipe", [RECIPE, None], ids=["runs a recipe", "waits for a model"])
@pytest.mark.parametrize("looks_before", range(6))
def test_a_job_whose_worker_was_lost_at_any_step_is_in_hand_again_within_seconds_of_its_lease(
    company: Company, recipe: str | None, looks_before: int
) -> None:
    """Looked at once a second, in every phase that the looks before it may have left behind."""
    with capture_logs():
        dry = Doom()
        worked_on(submitted(company, dry, recipe))
        first, lost = dry.steps.index(CLAIM), 0
        for number in range(first, len(dry.steps)):
            doom = Doom(at=number, after=True)
            life = submitted(company, doom, recipe)
            for _ in range(looks_before):
                life.ground.forward(1)
                life.look()
            # The looks are steps as well.
            doom.at = number + len(doom.steps) - first
            worked_on(life)
            if life.job.status in {Status.RUNNING, Status.COMMITTING}:
                lost += 1
                assert seconds_until_in_hand(life) <= FOUND_SECONDS_MAX, dry.steps[number]
        assert lost > len(dry.steps) // 2


def seconds_until_in_hand(life: Life) -> int:
    """From the end of the lease, or from now where there is none, until another worker has the job."""
    fence, waited = life.job.fence, 0
    while life.job.fence == fence:
        lease_is_over = life.job.lease_until_ms <= life.clock.now_ms()
        life.ground.forward(1)
        waited += lease_is_over
        life.look()
        worked_on(life)
        assert waited < 2 * FOUND_SECONDS_MAX
    return waited

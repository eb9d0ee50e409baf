"""What is read once for many is still each caller's own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from tests.support.factories import queued_job
from tests.support.life import caller
from vardy_api.operations.shared_reads import SharedReads
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.ports import JobStore

JOB = queued_job()
NO_STORE = cast("JobStore", None)


class Ground:
    """One job, and keys of which some were revoked, or a secret of one has ended; counts what is read and checked."""

    def __init__(self, *revoked: str) -> None:
        self.revoked = revoked
        self.read: list[str] = []
        self.checked: list[str] = []
        self.reads = SharedReads(NO_STORE, self._read, self._recheck)

    def _read(self, job_id: str) -> JobRecord | None:
        self.read.append(job_id)
        return JOB if job_id == JOB.id else None

    def _recheck(self, caller: Caller) -> Caller:
        self.checked.append(caller.key.id)
        if not {caller.key.id, caller.token_sha256}.isdisjoint(self.revoked):
            raise RequestError("revoked", code="auth.invalid")
        return replace(caller, key=caller.key.model_copy(update={"scopes": (Scope.READ,)}))


def test_callers_of_one_key_share_the_read_and_the_check_and_keep_what_is_theirs() -> None:
    async def scenario() -> None:
        ground = Ground()
        callers = [replace(caller(), address=f"10.0.0.{number}") for number in range(100)]
        answers = await asyncio.gather(*(ground.reads.answer(each, JOB.id) for each in callers))
        assert (ground.read, ground.checked) == ([JOB.id], ["key_shop"])
        assert len({id(read) for _, read in answers}) == 1
        assert [now.address for now, _ in answers] == [each.address for each in callers]
        assert {now.key.scopes for now, _ in answers} == {(Scope.READ,)}

    asyncio.run(scenario())


@pytest.mark.parametrize("token", ["", "the same"])
def test_a_key_is_never_answered_with_the_check_of_another(token: str) -> None:
    async def scenario() -> None:
        ground = Ground("key_gone")
        good, gone = (replace(caller(owner), token_sha256=token) for owner in ("shop", "gone"))
        answers = await asyncio.gather(
            ground.reads.answer(good, JOB.id), ground.reads.answer(gone, JOB.id), return_exceptions=True
        )
        assert isinstance(answers[0], tuple)
        assert answers[0][0].key.id == "key_shop"
        assert isinstance(answers[1], RequestError)
        assert ground.read == [JOB.id]

    asyncio.run(scenario())


def test_a_secret_is_never_answered_with_the_check_of_another_of_its_key() -> None:
    async def scenario() -> None:
        ground = Ground("ended")
        new, ended = (replace(caller(), token_sha256=token) for token in ("new", "ended"))
        answers = await asyncio.gather(ground.reads.recheck(new), ground.reads.recheck(ended), return_exceptions=True)
        assert not isinstance(answers[0], BaseException)
        assert answers[0].token_sha256 == "new"
        assert isinstance(answers[1], RequestError)

    asyncio.run(scenario())


def test_a_job_that_is_not_there_is_none_beside_one_that_is() -> None:
    async def scenario() -> None:
        ground = Ground()
        (_, missing), (_, found) = await asyncio.gather(
            ground.reads.answer(caller(), "job_none"), ground.reads.answer(caller(), JOB.id)
        )
        assert missing is None
        assert found is not None
        assert JOB.id.encode() in found.body
        assert ground.checked == ["key_shop"]

    asyncio.run(scenario())

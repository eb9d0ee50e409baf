"""Many questions, few calls: shared where they are the same, and never answered by what was read before them."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from vardy_api.operations.batches import Batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Source:
    """Answers with the number of its call, as soon as the test lets it; each batch is kept."""

    def __init__(self, *, held: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.called, self.go = threading.Event(), threading.Event()
        if not held:
            self.go.set()

    def answer(self, keys: Sequence[str]) -> Mapping[str, int | Exception]:
        self.batches.append(list(keys))
        number = len(self.batches)
        self.called.set()
        assert self.go.wait(10)
        return {key: KeyError(key) if key == "bad" else number for key in keys}


def test_those_who_ask_together_are_answered_by_one_call() -> None:
    async def scenario() -> None:
        source = Source()
        batches = Batches(source.answer, size_max=100)
        answers = await asyncio.gather(*(batches.ask(key) for key in ["a", "b"] * 500))
        assert set(answers) == {1}
        assert source.batches == [["a", "b"]]

    asyncio.run(scenario())


def test_a_question_asked_during_a_call_is_answered_by_the_next() -> None:
    async def scenario() -> None:
        source = Source(held=True)
        batches = Batches(source.answer, size_max=100)
        first = batches.put("a")
        assert await asyncio.to_thread(source.called.wait, 10)
        second = batches.put("a")
        source.go.set()
        assert [await first, await second] == [1, 2]

    asyncio.run(scenario())


def test_a_batch_is_bounded() -> None:
    async def scenario() -> None:
        source = Source()
        batches = Batches(source.answer, size_max=2)
        await asyncio.gather(*(batches.ask(key) for key in "abcde"))
        assert [len(batch) for batch in source.batches] == [2, 2, 1]

    asyncio.run(scenario())


def test_whoever_leaves_takes_no_answer_from_the_others() -> None:
    async def scenario() -> None:
        source = Source(held=True)
        batches = Batches(source.answer, size_max=2)
        leaving, staying = (asyncio.create_task(batches.ask("a")) for _ in range(2))
        assert await asyncio.to_thread(source.called.wait, 10)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        source.go.set()
        assert await staying == 1

    asyncio.run(scenario())


def test_an_error_about_one_is_not_raised_to_the_others() -> None:
    async def scenario() -> None:
        batches = Batches(Source().answer, size_max=10)
        good, bad = batches.put("a"), batches.put("bad")
        assert await good == 1
        with pytest.raises(KeyError):
            await bad

    asyncio.run(scenario())


def test_an_error_of_the_call_is_raised_to_all_and_the_next_call_is_made() -> None:
    def fails_once(keys: Sequence[str]) -> Mapping[str, int | Exception]:
        if not failed:
            failed.append(1)
            raise OSError
        return dict.fromkeys(keys, 2)

    failed: list[int] = []

    async def scenario() -> None:
        batches = Batches(fails_once, size_max=10)
        assert [
            type(answer) for answer in await asyncio.gather(batches.ask("a"), batches.ask("b"), return_exceptions=True)
        ] == [OSError, OSError]
        assert await batches.ask("a") == 2

    asyncio.run(scenario())

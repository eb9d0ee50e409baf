"""Fakes of the model and the sandbox, for tests of what happens around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from vardy_worker.contracts.execution import (
    CallPlaceholder,
    CallReply,
    CallValue,
    GuestCall,
    Returned,
    SandboxOutcome,
    SandboxRun,
    Stopped,
    StopProgram,
    Threw,
)
from vardy_worker.contracts.model import ModelReply, ModelRequest, TokenUsage
from vardy_worker.testing.one_by_one import OneByOne

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.execution import Ref

FENCE = "```"


def fenced(source: str) -> str:
    """A program as a model writes it."""
    return f"Here it is:\n{FENCE}javascript\n{source}\n{FENCE}\n"


class AnsweringModel(OneByOne):
    """A model that gives its answers in order; an exception among them is raised."""

    def __init__(self, *answers: str | ModelReply | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelReply):
            return answer
        usage = TokenUsage(prompt_tokens=100, completion_tokens=10, cost_usd=0.5)
        return ModelReply(text=answer, model="fake/model", usage=usage)


class Guest:
    """What a played program may do: call functions, several of them in one tick."""

    def __init__(self, handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]]) -> None:
        self._handle = handle
        self._next = 0

    def call(self, function: str, *, refs: tuple[Ref, ...] = (), **args: Any) -> CallReply:
        return self.batch((function, args, refs))[0]

    def value(self, function: str, **args: Any) -> object:
        reply = self.call(function, **args)
        assert isinstance(reply, CallValue)
        return reply.value

    def effect(self, function: str, *, refs: tuple[Ref, ...] = (), **args: Any) -> int:
        reply = self.call(function, refs=refs, **args)
        assert isinstance(reply, CallPlaceholder)
        return reply.effect

    def batch(self, *calls: tuple[str, JsonObject, tuple[Ref, ...]]) -> Sequence[CallReply]:
        made = []
        for function, args, refs in calls:
            made.append(GuestCall(id=self._next, function=function, args=args, refs=refs, line=2, column=3))
            self._next += 1
        return self._handle(made)


Play: TypeAlias = "Callable[[Guest], object]"


class PlayedSandbox:
    """Plays a Python function instead of running the program; what it returns is the output.

    A play may return a `SandboxOutcome` of its own; a failed call that it lets through as
    an `AssertionError` ends as the program's uncaught error would.
    """

    def __init__(self, *plays: Play) -> None:
        self.plays = list(plays)
        self.runs: list[SandboxRun] = []

    def run(
        self,
        run: SandboxRun,
        handle: Callable[[Sequence[GuestCall]], Sequence[CallReply]],
        *,
        started: Callable[[], None] | None = None,
    ) -> SandboxOutcome:
        self.runs.append(run)
        if started is not None:
            started()
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        try:
            output = play(Guest(handle))
        except StopProgram:
            return Stopped()
        if isinstance(output, SandboxOutcome):
            return output
        return Returned(output=output)

    def close(self) -> None:
        """Nothing to end."""


def threw(call_id: int | None = None, *, message: str = "boom") -> Threw:
    """A program that threw, by itself or with the error of a call."""
    return Threw(name="Error", message=message, line=2, column=3, call_id=call_id)

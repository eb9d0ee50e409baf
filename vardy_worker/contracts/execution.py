"""One execution of a program: what crosses the bridge, and how it ends."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject, JsonValue
from vardy_worker.contracts.limits import Limits


class Ref(Contract):
    """The argument at `at` is the result of an earlier effect, at `path` in it (JSON Pointers)."""

    at: str
    effect: int
    path: str = ""


class GuestCall(Contract):
    """One function call made by a program.

    `args` is the argument object without its references: an object key that held one is
    absent, an array element that held one is null. Integers beyond 2^53 are decimal strings.
    """

    id: int
    function: str
    args: JsonValue
    refs: tuple[Ref, ...] = ()
    line: int = 0
    column: int = 0


class CallValue(Contract):
    """The call returned. Integers of any size; the sandbox hands big ones over as BigInt."""

    kind: Literal["value"] = "value"
    value: JsonValue


class CallPlaceholder(Contract):
    """The call was a write: recorded as this effect, its result does not exist yet."""

    kind: Literal["placeholder"] = "placeholder"
    effect: int


class CallFailure(Contract):
    """The call failed; the program sees an error it may catch. No secrets in `message`."""

    kind: Literal["failure"] = "failure"
    code: str
    message: str


CallReply: TypeAlias = CallValue | CallPlaceholder | CallFailure


class SandboxRun(Contract):
    """All a child needs to run one program. `functions` are the globals to define, with `judge` also the judge's."""

    source: str
    functions: tuple[str, ...]
    judge: bool = False
    params: JsonValue = Field(default_factory=dict)
    now_ms: int
    seed: str
    limits: Limits


class ConsoleLine(Contract):
    """One captured line. For the operator; never sent to a model."""

    level: Literal["log", "info", "warn", "error", "debug"]
    text: str
    round: int | None = Field(None, description="of an explore, the round whose program printed it")


class Captured(Contract):
    """What every end of a program carries."""

    console: tuple[ConsoleLine, ...] = ()
    console_truncated: bool = False
    warnings: tuple[str, ...] = ()
    cpu_ms: float = 0


class Returned(Captured):
    """The program ended well. `output` holds null where `output_refs` has a reference."""

    kind: Literal["returned"] = "returned"
    output: JsonValue
    output_refs: tuple[Ref, ...] = ()


class Threw(Captured):
    """The program threw. `line` and `column` (from 1; 0 unknown) are those of its source.

    `call_id` names the failed call when the thrown error is that call's error, or has it
    as a `cause`. `code` is `execution.thrown`, or a narrower `execution.*` code that the
    guest knows: `execution.placeholder`, `execution.value`, `execution.missing`,
    `execution.unawaited_call` (then the place is that of the call).
    """

    kind: Literal["threw"] = "threw"
    code: str = "execution.thrown"
    name: str = ""
    message: str = ""
    line: int = 0
    column: int = 0
    call_id: int | None = None


class LimitHit(Captured):
    """A limit ended the program. `limit` is a field of `Limits`, or "" where none applies.

    `value` is how large what broke it was; None where it was not measured to the end.
    `function`, `line` and `column` name the call that broke it, where a call did.
    """

    kind: Literal["limit"] = "limit"
    code: str
    limit: str = ""
    limit_value: float = 0
    value: float | None = None
    function: str = ""
    line: int = 0
    column: int = 0


class Stopped(Captured):
    """The caller's handler ended the program (`StopProgram`)."""

    kind: Literal["stopped"] = "stopped"


SandboxOutcome: TypeAlias = Returned | Threw | LimitHit | Stopped


class StopProgram(Exception):  # noqa: N818 - a signal from the call handler, not an error
    """Raised by a call handler to end the program at once; the run's outcome is `Stopped`."""


class CallSummary(Contract):
    """One call as the job remembers it: no arguments, no rows."""

    id: int
    function: str
    ok: bool
    code: str = ""


class ValueShape(Contract):
    """The shape of a value that may have surprised a program: never the value (`prompts.shape_of`)."""

    label: str = Field(description="what it is, in Vardy's words, e.g. `list_orders returned`")
    shape: str


class EffectDraft(Contract):
    """A recorded write before the plan is made. `args` are validated and canonical."""

    function: str
    version: str
    args: JsonObject
    refs: tuple[Ref, ...] = ()

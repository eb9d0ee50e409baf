"""The company's functions, and what calling one comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.execution import Ref
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.user import User


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One call of a company's function. `args` as in the plan, references resolved."""

    function: str
    args: JsonObject
    job_id: str
    user: User
    idempotency_key: str = ""
    attempt: int = 1
    approved_by: tuple[User, ...] = ()


@dataclass(frozen=True, slots=True)
class CallOk:
    """The function returned; `value` is its serialised result (integers of any size)."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class CallFailed:
    """`FunctionError`: definitely not applied."""

    message: str
    retryable: bool = False
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CallUnknown:
    """It crashed, timed out after it began, or its result does not fit: the outcome is unknown.

    `code` is `function.crashed`, `function.timeout`, `function.bad_result` or
    `function.result_too_large`; `correlation_id` stands in the operator's log with the exception.
    """

    code: str
    message: str
    correlation_id: str


CallOutcome = CallOk | CallFailed | CallUnknown


@dataclass(frozen=True, slots=True)
class BadArguments:
    """Arguments that do not fit; `problems` are `{"at": pointer, "message": …, "expected": …}`, without values."""

    problems: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class GoodArguments:
    """Validated arguments in canonical JSON form (big integers as decimal strings)."""

    args: JsonObject


class FunctionHost(Protocol):
    """The company's functions, running in this process."""

    @property
    def exhausted(self) -> bool:
        """So many calls were given up and never ended that the process should be replaced."""

    def catalogue(self) -> Catalogue:
        """What is registered."""

    def check(
        self, function: str, args: JsonValue, refs: Sequence[Ref], *, effects: Sequence[str] = ()
    ) -> GoodArguments | BadArguments:
        """Validates the arguments of one call, as far as references let it.

        `effects` are the functions of the earlier effects, by position, whose result
        schemas the references are checked against.
        """

    def call_many(
        self, calls: Sequence[FunctionCall], *, deadline: float, in_flight_max: int, result_bytes_max: int
    ) -> Sequence[CallOutcome]:
        """Calls concurrently and returns outcomes in order, by `deadline` (monotonic seconds)."""

    def start(self) -> None:
        """Runs the company's start hooks."""

    def stop(self) -> None:
        """Runs the company's stop hooks; waits for calls under way, within reason."""

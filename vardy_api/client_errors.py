"""The exceptions of the client.

VardyError
└── ClientError
    ├── VardyProblem            the service answered with a problem; `code`, `status`, `details`
    │   ├── Unauthorized          401
    │   ├── Forbidden             403
    │   ├── NotFound              404, 410
    │   ├── Conflict              409
    │   │   └── PlanChanged         412: the plan is not the one that was shown
    │   ├── Invalid               any other 4xx: 400, 405, 408, 413, 415, 422, 428, 431
    │   │   └── InvalidArguments    the same, found before anything was sent
    │   ├── RateLimited           429; `retry_after_seconds`
    │   └── ServiceFailed         5xx
    ├── Unreachable             no answer, after retries
    └── WaitTimeout             the job did not settle in time; `job` is how it was seen last

What an exception holds can be logged and pickled: neither keys nor what was sent are in it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS, VardyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.view import JobView


class ClientError(VardyError):
    """Anything the client raises."""

    code = "client.error"

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made anew from `args`, which the constructors of the subclasses do not take.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ClientError], args: tuple[Any, ...], state: dict[str, Any]) -> ClientError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class Unreachable(ClientError):  # noqa: N818 - named for the state, as its siblings
    """The service gave no answer, after retries. Whether the last try arrived is not known."""

    code = "client.unreachable"


class WaitTimeout(ClientError):  # noqa: N818 - the same
    """The job did not settle in time; it goes on. `job` is how it was seen last."""

    code = "client.wait_timeout"

    def __init__(self, job: JobView, seconds: float) -> None:
        super().__init__(
            f"Job {job.id} is still {job.status.value} after {seconds:g} s; it goes on.",
            details={"job": job.id, "status": job.status.value},
        )
        self.job = job


class VardyProblem(ClientError):  # noqa: N818 - the same
    """The service refused. `message` is its sentence, `code` its stable code, `status` that of HTTP.

    `retry_after_seconds` is when the service said that it may be tried again, if it did.
    """

    def __init__(self, problem: Problem, *, retry_after_seconds: float | None = None) -> None:
        details: dict[str, Any] = problem.details
        super().__init__(problem.detail, code=problem.code, details=details)
        self.status = problem.status
        self.title = problem.title
        self.instance = problem.instance
        self.retry_after_seconds = retry_after_seconds

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The single findings, where the service names several (`at`, `message`, …)."""
        found: list[dict[str, Any]] = self.details.get("problems", [])
        return found


class Unauthorized(VardyProblem):
    """No API key, or one that is not valid."""


class Forbidden(VardyProblem):
    """The key, or the person, may not do this."""


class NotFound(VardyProblem):
    """There is no such thing, or not any more, or it is not visible to the key."""


class Conflict(VardyProblem):
    """The present state does not allow this."""


class PlanChanged(Conflict):
    """The plan is not the one that was shown; nothing was done."""


class Invalid(VardyProblem):
    """The request itself is wrong."""


class InvalidArguments(Invalid):
    """No request can have these arguments, so none was sent; code and `problems` are as the service would say."""


class RateLimited(VardyProblem):
    """Too many requests, or a ceiling is reached; `retry_after_seconds` says when it may be tried again."""


class ServiceFailed(VardyProblem):
    """The service, or its store, failed."""


_BY_STATUS: Mapping[int, type[VardyProblem]] = MappingProxyType(
    {
        401: Unauthorized,
        403: Forbidden,
        404: NotFound,
        409: Conflict,
        410: NotFound,
        412: PlanChanged,
        429: RateLimited,
    }
)

_SERVER_FAULT = 500


def problem_error(problem: Problem, *, retry_after_seconds: float | None = None) -> VardyProblem:
    """The exception of a problem. Without a header that says when to try again, its details may say it."""
    told = problem.details.get("retry_after_seconds")
    if retry_after_seconds is None and isinstance(told, int | float) and told >= 0:
        retry_after_seconds = float(told)
    kind = _BY_STATUS.get(problem.status, ServiceFailed if problem.status >= _SERVER_FAULT else Invalid)
    return kind(problem, retry_after_seconds=retry_after_seconds)


def unfit(*problems: dict[str, Any]) -> VardyProblem:
    """Why no request can have these arguments; each problem says `at` which place (a JSON Pointer), and `message`."""
    first = problems[0]
    message = f"{first['at'] or 'the body'}: {first['message']}."
    return refusal("request.invalid", message, {"problems": list(problems)})


def refusal(code: str, message: str, details: dict[str, Any] | None = None) -> VardyProblem:
    """What the service would answer, where that is known before anything is sent."""
    status, title = PROBLEMS[code]
    kind = _BY_STATUS.get(status, InvalidArguments)
    shaped = Problem(
        type=f"/problems/{code}", title=title, status=status, detail=message, code=code, details=details or {}
    )
    return kind(shaped)

"""The exceptions of the client.

VardyError
└── ClientError
    ├── VardyProblem            the service answered with a problem; `code`, `status`, `details`
    │   ├── Unauthorized          401
    │   ├── Forbidden             403
    │   ├── NotFound              404, 410
    │   ├── Conflict              409
    │   │   └── PlanChanged         412: the plan is not the one that was shown
    │   ├── Invalid               400, 405, 413, 422, 428
    │   ├── RateLimited           429
    │   └── ServiceFailed         5xx
    ├── Unreachable             no answer, after retries
    └── WaitTimeout             the job did not settle in time; `job` is how it was seen last
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.errors import VardyError

if TYPE_CHECKING:
    from vardy_api.shapes import Problem
    from vardy_worker.contracts.view import JobView


class ClientError(VardyError):
    """Anything the client raises."""

    code = "client.error"


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
    """The service refused. `message` is its sentence, `code` its stable code, `status` that of HTTP."""

    def __init__(self, problem: Problem) -> None:
        details: dict[str, Any] = problem.details
        super().__init__(problem.detail, code=problem.code, details=details)
        self.status = problem.status
        self.title = problem.title
        self.instance = problem.instance

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


class RateLimited(VardyProblem):
    """Too many requests, after retries."""


class ServiceFailed(VardyProblem):
    """The service, or its store, failed."""


_BY_STATUS: dict[int, type[VardyProblem]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: NotFound,
    412: PlanChanged,
    429: RateLimited,
}

_SERVER_FAULT = 500


def problem_error(problem: Problem) -> VardyProblem:
    """The exception of a problem."""
    kind = _BY_STATUS.get(problem.status, ServiceFailed if problem.status >= _SERVER_FAULT else Invalid)
    return kind(problem)

"""The errors of Vardy: one tree, stable codes.

    VardyError
    ├── TransientError            worth trying again, nothing was changed
    │   ├── StoreUnavailable        store.unavailable
    │   │   └── NotConfirmed          the same
    │   ├── QueueUnavailable        queue.unavailable
    │   └── ModelUnavailable        generation.model_unavailable
    └── PermanentError            trying again gives the same
        ├── SettingsError           settings.invalid
        ├── RequestError            request.*, auth.*, …: answered over HTTP with `http_status`
        ├── RegistrationError       functions.invalid
        ├── RulesError              rules.invalid
        ├── ModelRejected           generation.model_rejected
        ├── RecordTooNew            store.schema
        └── FenceLost               commit.fence_lost

Expected ends of a job are values (`ErrorInfo` on the record), not exceptions.
Library errors are translated where the library is used, with `__cause__` kept.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from vardy_worker.contracts.base import Contract, JsonObject
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


class ErrorInfo(Contract):
    """Why a job is where it is: a stable code, a sentence to act on, and details."""

    code: str
    message: str
    details: JsonObject = Field(default_factory=dict)


DISCARDED: Final = "commit.discarded"
"""What a `PARTIAL` says whose rest was given up."""


def is_discarded(error: ErrorInfo | None) -> bool:
    """Whether that is what a job's error says."""
    return error is not None and error.code == DISCARDED


JOB_ERRORS: Mapping[str, Status] = MappingProxyType(
    {
        "generation.no_program": Status.GENERATION_ERROR,
        "generation.no_answer": Status.GENERATION_ERROR,
        "generation.truncated": Status.GENERATION_ERROR,
        "generation.program_too_large": Status.GENERATION_ERROR,
        "generation.model_unavailable": Status.GENERATION_ERROR,
        "generation.model_rejected": Status.GENERATION_ERROR,
        "generation.not_configured": Status.GENERATION_ERROR,
        "generation.quota": Status.GENERATION_ERROR,
        "validation.program": Status.VALIDATION_BLOCKED,
        "validation.params": Status.VALIDATION_BLOCKED,
        "validation.arguments": Status.VALIDATION_BLOCKED,
        "validation.functions": Status.VALIDATION_BLOCKED,
        "validation.recipe": Status.VALIDATION_BLOCKED,
        "execution.timeout": Status.EXECUTION_ERROR,
        "execution.cpu": Status.EXECUTION_ERROR,
        "execution.memory": Status.EXECUTION_ERROR,
        "execution.stack": Status.EXECUTION_ERROR,
        "execution.deadlock": Status.EXECUTION_ERROR,
        "execution.unawaited_call": Status.EXECUTION_ERROR,
        "execution.calls_budget": Status.EXECUTION_ERROR,
        "execution.args_too_large": Status.EXECUTION_ERROR,
        "execution.output_too_large": Status.EXECUTION_ERROR,
        "execution.effects_budget": Status.EXECUTION_ERROR,
        "execution.plan_too_large": Status.EXECUTION_ERROR,
        "execution.thrown": Status.EXECUTION_ERROR,
        "execution.value": Status.EXECUTION_ERROR,
        "execution.placeholder": Status.EXECUTION_ERROR,
        "execution.missing": Status.EXECUTION_ERROR,
        "execution.judge_not_configured": Status.EXECUTION_ERROR,
        "execution.judge_budget": Status.EXECUTION_ERROR,
        "execution.judge_unavailable": Status.EXECUTION_ERROR,
        "execution.judge_bad_answer": Status.EXECUTION_ERROR,
        "execution.sandbox_lost": Status.EXECUTION_ERROR,
        "execution.poison": Status.EXECUTION_ERROR,
        "execution.internal": Status.EXECUTION_ERROR,
        "function.failed": Status.FUNCTION_ERROR,
        "function.crashed": Status.FUNCTION_ERROR,
        "function.timeout": Status.FUNCTION_ERROR,
        "function.bad_result": Status.FUNCTION_ERROR,
        "function.result_too_large": Status.FUNCTION_ERROR,
        "policy.blocked": Status.POLICY_BLOCKED,
        "policy.rule_failed": Status.POLICY_BLOCKED,
        "policy.denied": Status.POLICY_BLOCKED,
        "policy.expired": Status.POLICY_BLOCKED,
        "policy.changed": Status.POLICY_BLOCKED,
        "plan.function_changed": Status.POLICY_BLOCKED,
        "plan.damaged": Status.POLICY_BLOCKED,
        "commit.failed": Status.PARTIAL,
        "commit.unknown": Status.PARTIAL,
        "commit.cancelled": Status.PARTIAL,
        DISCARDED: Status.PARTIAL,
        "commit.poison": Status.PARTIAL,
        "job.cancelled": Status.CANCELLED,
    }
)
"""Every code that a job's `error` can carry, and the status it comes with.

Two say why a requeue went nowhere and leave the status as it was (`PARTIAL` or
`FUNCTION_ERROR`): `policy.changed` and `plan.function_changed`.
"""


PROBLEMS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "request.malformed": (422, "The body is not JSON"),
        "request.invalid": (422, "The request does not fit its schema"),
        "request.too_large": (413, "The body is too large"),
        "request.head_too_large": (431, "The request's headers are too large"),
        "request.framing": (400, "This is no HTTP/1.1 request"),
        "request.timeout": (408, "The request took too long to arrive"),
        "request.media_type": (415, "The body is not sent as JSON"),
        "request.not_found": (404, "There is no such address"),
        "request.method": (405, "The address does not take this method"),
        "auth.missing": (401, "An API key is needed"),
        "auth.invalid": (401, "The API key is not valid"),
        "auth.scope": (403, "The API key lacks a scope"),
        "auth.person": (403, "The API key is bound to another person"),
        "job.not_found": (404, "There is no such job"),
        "job.conflict": (409, "The job's status does not allow this"),
        "plan.none": (404, "The job has no plan"),
        "plan.erased": (410, "The plan's contents were erased"),
        "recipe.not_found": (404, "There is no such recipe"),
        "recipe.conflict": (409, "The recipe was changed meanwhile"),
        "recipe.invalid": (422, "The recipe does not validate"),
        "function.not_found": (404, "There is no such function"),
        "audit.not_found": (404, "There is no such chain in the audit trail"),
        "key.not_found": (404, "There is no such key"),
        "key.conflict": (409, "The key's state does not allow this"),
        "rules.invalid": (422, "The rules file is not valid"),
        "rules.conflict": (409, "The rules were changed meanwhile"),
        "digest.missing": (428, "The plan's digest is needed in If-Match"),
        "digest.mismatch": (412, "The plan is not the one that was shown"),
        "approval.requester": (403, "The requester cannot approve"),
        "approval.role": (403, "The person has none of the roles that may decide"),
        "approval.reason": (422, "A denial needs a reason"),
        "approval.expired": (409, "The approval has expired"),
        "commit.unresolved": (409, "An effect's outcome is unknown and must be resolved first"),
        "commit.blocked": (409, "The rules now active block the plan"),
        "effect.not_found": (404, "The plan has no such effect"),
        "effect.not_unknown": (409, "The effect's outcome is not unknown"),
        "effect.result": (422, "The effect's result is needed and must fit its schema"),
        "idempotency.mismatch": (422, "The Idempotency-Key was used with another body"),
        "idempotency.in_flight": (409, "A request with this Idempotency-Key is under way"),
        "cursor.invalid": (422, "The cursor is not valid"),
        "rate.limited": (429, "Too many requests"),
        "quota.exceeded": (429, "A ceiling of the key or the person is reached"),
        "service.unavailable": (503, "The store cannot be reached"),
        "service.busy": (503, "The service is at a limit of its own"),
        "internal": (500, "Vardy failed; the operator's log has the correlation id"),
    }
)
"""Every problem code over HTTP: its status and title. The type is `/problems/{code}`."""


class VardyError(Exception):
    """The root. `code` is stable, `message` a sentence a person can act on."""

    code = "internal"

    def __init__(self, message: str, *, code: str | None = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details or {}
        if code is not None:
            self.code = code

    def info(self) -> ErrorInfo:
        """The same as a value, for a job's record."""
        return ErrorInfo(code=self.code, message=self.message, details=self.details)


class TransientError(VardyError):
    """Worth trying again; nothing was changed."""


class PermanentError(VardyError):
    """Trying again gives the same."""


class StoreUnavailable(TransientError):  # noqa: N818 - named for the state, as its siblings
    """Redis could not be reached, or refused to write."""

    code = "store.unavailable"


class NotConfirmed(StoreUnavailable):
    """The writes are made, but the disk or the replicas did not confirm them in time."""


class QueueUnavailable(TransientError):  # noqa: N818 - the same
    """A message could not be published. The reconciler publishes it later."""

    code = "queue.unavailable"


class ModelUnavailable(TransientError):  # noqa: N818 - the same
    """No configured model answered in time, after retries and fallbacks."""

    code = "generation.model_unavailable"


class ModelRejected(PermanentError):  # noqa: N818 - the same
    """The provider refused the request: a wrong key, an unknown model, a bad request."""

    code = "generation.model_rejected"


class SettingsError(PermanentError):
    """A setting is missing or wrong; the message names it."""

    code = "settings.invalid"


class RegistrationError(PermanentError):
    """A function cannot be registered; the message says the fix."""

    code = "functions.invalid"


class RulesError(PermanentError):
    """A rules file is refused whole. `details` has `line` (from 1) and `rule` where known."""

    code = "rules.invalid"


class RecordTooNew(PermanentError):  # noqa: N818 - the same
    """A stored record was written by a newer Vardy; this process must be upgraded."""

    code = "store.schema"


class FenceLost(PermanentError):  # noqa: N818 - the same
    """Another worker holds the job now; this one may not write or start anything."""

    code = "commit.fence_lost"


class RequestError(PermanentError):
    """A request that is answered with a problem document. `code` is one of `PROBLEMS`."""

    code = "request.invalid"

    @property
    def http_status(self) -> int:
        """The HTTP status of the code."""
        return PROBLEMS[self.code][0]

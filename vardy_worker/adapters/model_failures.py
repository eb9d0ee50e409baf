"""What went wrong with one model, told without a word of the request or of the answer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import httpx

from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject

log = get_logger(__name__)

Reason = Literal[
    "rate_limited",
    "timeout",
    "server_error",
    "unreachable",
    "malformed_answer",
    "closing",
    "late",
    "missing_key",
    "authentication",
    "unknown_model",
    "unknown_provider",
    "context_length",
    "content_policy",
    "bad_request",
    "library",
]

TRANSIENT: frozenset[Reason] = frozenset(
    {"rate_limited", "timeout", "server_error", "unreachable", "malformed_answer", "closing", "late"}
)
"""Reasons that may be gone at the next try."""

SENTENCES: dict[Reason, str] = {
    "rate_limited": "{model} answered that its rate limit is reached.",
    "timeout": "{model} did not answer within {seconds:g} seconds (VARDY_MODEL_TIMEOUT_SECONDS).",
    "server_error": "{model} answered with a server error.",
    "unreachable": "{model} could not be connected to; check the network and the provider's base address.",
    "malformed_answer": "{model} answered with something that is not a chat completion.",
    "late": "{model} did not answer before the time for it was over.",
    "closing": "The call of {model} was given up because this worker is stopping.",
    "missing_key": "{model} needs a provider key, and these variables are not set: {missing}.",
    "authentication": "{model} refused the provider key; check the key and what it may use.",
    "unknown_model": "{model} is not known to its provider; check VARDY_MODEL, VARDY_MODEL_FALLBACKS and "
    "VARDY_JUDGE_MODEL.",
    "unknown_provider": "{model} names no provider that litellm knows; VARDY_MODEL, VARDY_MODEL_FALLBACKS and "
    "VARDY_JUDGE_MODEL take provider/model, for example openai/gpt-5.",
    "context_length": "The prompt is too long for {model}; narrow the functions, shorten the request, "
    "or choose a model with a larger context.",
    "content_policy": "{model} refused the request by the provider's content policy.",
    "bad_request": "{model} refused the request as malformed; the model may not be one for chat.",
    "library": "The model library failed before {model} could be asked ({kind}); see the operator's log.",
}

# Two providers report a missing key as a server or connection error.
_MISSING_KEY = re.compile(r"(missing|no|without|pass).{0,40}(api[_ ]?key|credential)", re.IGNORECASE | re.DOTALL)

# Known before anything is sent, and told like a refusal of the provider.
_NO_PROVIDER = "LLM Provider NOT provided"

_BY_CLASS: tuple[tuple[str, Reason], ...] = (
    ("ContextWindowExceededError", "context_length"),
    ("ContentPolicyViolationError", "content_policy"),
    ("AuthenticationError", "authentication"),
    ("PermissionDeniedError", "authentication"),
    ("NotFoundError", "unknown_model"),
    ("RateLimitError", "rate_limited"),
    ("Timeout", "timeout"),
    ("APIConnectionError", "unreachable"),
    ("APIResponseValidationError", "malformed_answer"),
)
"""litellm's classes, narrow ones first, and what they mean here."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one model gave no answer. `http_status` is 0 where there was no HTTP answer."""

    model: str
    reason: Reason
    http_status: int = 0
    tries: int = 1
    retry_after_seconds: float | None = None
    timeout_seconds: float = 0
    missing: tuple[str, ...] = ()
    kind: str = ""

    @property
    def transient(self) -> bool:
        """Whether another try, or another model, may do better."""
        return self.reason in TRANSIENT

    @property
    def about(self) -> Literal["model", "content", "request", "time"]:
        """What was wrong, as `ModelFailed` tells it."""
        match self.reason:
            case "content_policy" | "context_length":
                return "content"
            case "bad_request":
                return "request"
            case "late":
                return "time"
            case _:
                return "model"

    @classmethod
    def timeout(cls, model: str, seconds: float) -> Failure:
        """No answer in time."""
        return cls(model, "timeout", timeout_seconds=seconds)

    @classmethod
    def malformed(cls, model: str) -> Failure:
        """An answer without the fields of a chat completion."""
        return cls(model, "malformed_answer")

    @classmethod
    def closing(cls, model: str) -> Failure:
        """The adapter was closed during the call."""
        return cls(model, "closing")

    @classmethod
    def late(cls, model: str) -> Failure:
        """The caller's time was over."""
        return cls(model, "late")

    def after(self, tries: int) -> Failure:
        """The same after so many tries."""
        return replace(self, tries=tries)

    def sentence(self) -> str:
        """What a person can act on."""
        sentence = SENTENCES[self.reason].format(
            model=self.model,
            seconds=self.timeout_seconds,
            missing=", ".join(self.missing) or "the provider's key",
            kind=self.kind,
        )
        return f"{sentence} It was tried {self.tries} times." if self.tries > 1 else sentence

    def details(self) -> JsonObject:
        """For logs and the job's error."""
        details: JsonObject = {"model": self.model, "reason": self.reason, "tries": self.tries}
        if self.http_status:
            details["http_status"] = self.http_status
        if self.missing:
            details["missing"] = list(self.missing)
        return details


def classify(error: Exception, model: str, litellm: Any, timeout_seconds: float) -> Failure:
    """The failure an exception of litellm stands for."""
    response = getattr(error, "response", None)
    # litellm gives exceptions a response of its own making where the provider sent none.
    answered = _answered(response)
    status = int(getattr(error, "status_code", 0) or 0) if answered else 0
    reason = _reason(error, litellm, int(getattr(error, "status_code", 0) or 0))
    missing: tuple[str, ...] = ()
    if not answered and reason in {"server_error", "unreachable", "authentication"} and _MISSING_KEY.search(str(error)):
        reason, missing = "missing_key", _missing_keys(litellm, model)
    elif not answered and reason == "bad_request" and _NO_PROVIDER in str(error):
        reason = "unknown_provider"
    elif not answered and reason == "server_error":
        reason = "unreachable" if _lost_on_the_way(error) else "malformed_answer"
    if reason == "library":
        log.error("model.library_failed", model=model, kind=type(error).__name__)
    return Failure(
        model,
        reason,
        http_status=status,
        retry_after_seconds=_retry_after(response) if reason in TRANSIENT else None,
        timeout_seconds=timeout_seconds,
        missing=missing,
        kind=type(error).__name__,
    )


def _reason(error: Exception, litellm: Any, status: int) -> Reason:
    for name, reason in _BY_CLASS:
        if isinstance(error, getattr(litellm.exceptions, name)):
            return reason
    if status in {401, 403}:
        return "authentication"
    if status in {408, 409, 425}:
        return "server_error"
    if 400 <= status < 500:  # noqa: PLR2004 - the class of client errors
        return "bad_request"
    if status >= 500:  # noqa: PLR2004 - the class of server errors
        return "server_error"
    return "library"


def _lost_on_the_way(error: BaseException) -> bool:
    """Whether the connection failed; otherwise an answer came that litellm could not read."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return any(isinstance(one, OSError | httpx.TransportError) for one in causes)


def _answered(response: Any) -> bool:
    return bool(getattr(response, "headers", None))


def _retry_after(response: Any) -> float | None:
    value = (getattr(response, "headers", None) or {}).get("retry-after")
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value, (getattr(response, "headers", None) or {}).get("date"))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _seconds_until(moment: str, now: str | None) -> float | None:
    """Both are HTTP dates by the provider's clock, so that ours does not matter."""
    try:
        return max(0.0, (parsedate_to_datetime(moment) - parsedate_to_datetime(now or "")).total_seconds())
    except (ValueError, TypeError):
        return None


def _missing_keys(litellm: Any, model: str) -> tuple[str, ...]:
    try:
        found = litellm.validate_environment(model)
    except Exception:  # noqa: BLE001 - only a hint for the message
        return ()
    return tuple(found.get("missing_keys") or ())

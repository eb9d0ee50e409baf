"""One question to a language model, and its answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from vardy_worker.contracts.base import Contract, well_formed
from vardy_worker.contracts.errors import ErrorInfo


class Message(Contract):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelRequest(Contract):
    """What is asked. `fallbacks` are tried in order when `model` cannot be reached.

    `answer_tokens_max` ends a longer answer with `finish_reason` `length`; None leaves that to
    the provider. What a model thinks counts, too.
    """

    messages: tuple[Message, ...]
    model: str
    fallbacks: tuple[str, ...] = ()
    timeout_seconds: float = 60
    retries: int = 2
    answer_tokens_max: int | None = None
    purpose: Literal["program", "explore", "classify", "ai"] = "program"
    job_id: str = ""


class TokenUsage(Contract):
    """Tokens and cost of some calls. `cost_usd` is 0 for models without a known price."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0

    def plus(self, other: TokenUsage) -> TokenUsage:
        """The sum of both."""
        return TokenUsage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )


class ModelReply(Contract):
    """The model's text. `model` is the one that answered, `finish_reason` as litellm normalises it.

    Half of a surrogate pair in the text, which JSON can bring and nothing can store, is U+FFFD.
    """

    text: Annotated[str, AfterValidator(well_formed)]
    finish_reason: str = "stop"
    model: str
    usage: TokenUsage = Field(default_factory=TokenUsage)


class ModelFailed(Contract):
    """There is no reply to one request of many. Neither words of it nor of an answer are in `error`.

    `about` says what was wrong: the `model` (not reachable, or not to be used), the `content`
    (refused, or too long), the `request` (refused for what the provider does not say clearly:
    its content, or every one of its kind), or the `time`, which was over.
    """

    error: ErrorInfo
    about: Literal["model", "content", "request", "time"]

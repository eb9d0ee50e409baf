"""What may still be spent, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.job import JudgeUsage
from vardy_worker.contracts.judge import JudgeFailure
from vardy_worker.contracts.model import ModelReply

if TYPE_CHECKING:
    from vardy_worker.contracts.judge import JudgeBudget
    from vardy_worker.contracts.model import ModelFailed
    from vardy_worker.contracts.quota import QuotaExceeded


@dataclass(frozen=True, slots=True)
class Price:
    """What some calls may take: tokens of their messages and, at the most, of their answers."""

    calls: int = 0
    tokens: int = 0

    def plus(self, other: Price) -> Price:
        """Both together."""
        return Price(self.calls + other.calls, self.tokens + other.tokens)

    def minus(self, other: Price) -> Price:
        """What one takes more than the other."""
        return Price(self.calls - other.calls, self.tokens - other.tokens)


class Ledger:
    """The budget of one `ask`. What is reserved cannot be reserved again; what a call took less comes back."""

    def __init__(self, budget: JudgeBudget) -> None:
        self._left = Price(budget.calls, budget.tokens)
        self._exceeded = budget.exceeded
        self.usage = JudgeUsage()

    def lacking(self, price: Price) -> JudgeFailure | None:
        """Why the price cannot be paid; None when it can."""
        if self._exceeded is not None and price != Price():
            return _over(self._exceeded)
        if price.calls > self._left.calls:
            return _refusal("judge_calls_max", "calls", price.calls, self._left.calls)
        if price.tokens > self._left.tokens:
            return _refusal("judge_tokens_max", "tokens", price.tokens, self._left.tokens)
        return None

    def reserve(self, price: Price) -> bool:
        """Sets the price aside; False, and nothing is, when it cannot be paid."""
        if self.lacking(price) is not None:
            return False
        self._left = self._left.minus(price)
        return True

    def settle(self, reserved: int, answer: ModelReply | ModelFailed) -> None:
        """One call was made: its reserved tokens give way to what it took. Without a reply nobody knows that."""
        calls = self.usage.calls + 1
        if isinstance(answer, ModelReply):
            taken = answer.usage.prompt_tokens + answer.usage.completion_tokens
            self._left = self._left.plus(Price(0, reserved - taken))
            self.usage = JudgeUsage(**self.usage.plus(answer.usage).model_dump(), calls=calls)
        else:
            self.usage = self.usage.model_copy(update={"calls": calls})


def _refusal(limit: str, unit: str, needed: int, left: int) -> JudgeFailure:
    return JudgeFailure(
        code="execution.judge_budget",
        message=f"The judge would need up to {needed:,} {unit}, and {max(0, left):,} are left for this job "
        f"(VARDY_{limit.upper()}); give it fewer or shorter texts. Nothing was asked.",
        details={"limit": limit, "needed": needed, "left": max(0, left)},
    )


def _over(exceeded: QuotaExceeded) -> JudgeFailure:
    return JudgeFailure(
        code="execution.judge_budget",
        message=f"{exceeded.sentence} The judge was not asked.",
        details=exceeded.model_dump(mode="json"),
    )


def useless(texts: int) -> JudgeFailure:
    """The model answered, and nothing in its answers was a label."""
    return JudgeFailure(
        code="execution.judge_unavailable",
        message=f"The judge's model gave no label for any of {texts:,} texts: it does not follow the form of the "
        "answer, or its answers are cut off before they begin. Choose another model (VARDY_JUDGE_MODEL).",
        details={"texts": texts},
    )


def unavailable(error: ErrorInfo) -> JudgeFailure:
    """No model answered. `error` is the model port's, and free of content."""
    return JudgeFailure(
        code="execution.judge_unavailable",
        message=f"The judge's model gave no answer. {error.message}",
        details=error.details,
    )

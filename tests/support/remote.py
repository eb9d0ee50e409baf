"""A target that remembers keys, and the functions that write to it, for tests of whole lives of jobs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vardy_worker import CallContext, FunctionError, Functions

if TYPE_CHECKING:
    from collections.abc import Callable

IDEMPOTENT = frozenset({"pay", "book"})


@dataclass(frozen=True)
class Call:
    """One call that reached the target. `refused`: it said that it changed nothing."""

    function: str
    key: str
    args: dict[str, object]
    attempt: int
    refused: bool


@dataclass
class Remote:
    """The system behind the functions. What it applied it knows by key, where the function gives it one.

    `failing` are the errors of its next calls, by function. A `FunctionError` means that
    nothing was applied, any other that it was.
    """

    calls: list[Call] = field(default_factory=list)
    failing: dict[str, list[Exception]] = field(default_factory=lambda: defaultdict(list))
    watch: Callable[[str, str], None] = lambda _function, _key: None
    """Asked at every call, before anything else, with the function and the key."""
    _keys: set[str] = field(default_factory=set)
    _applied: Counter[str] = field(default_factory=Counter)

    def call(self, context: CallContext, function: str, **args: object) -> None:
        """One call of a function."""
        key = context.idempotency_key
        self.watch(function, key)
        error = self.failing[function].pop(0) if self.failing[function] else None
        refused = isinstance(error, FunctionError)
        self.calls.append(Call(function, key, args, context.attempt, refused))
        if not refused:
            self._apply(function, key)
        if error is not None:
            raise error

    def _apply(self, function: str, key: str) -> None:
        if function in IDEMPOTENT and key in self._keys:
            return
        self._keys.add(key)
        self._applied[key] += 1

    def reset(self) -> None:
        """As new: nothing was called, nothing fails, nobody watches."""
        self.__init__()  # type: ignore[misc] # every field is made by it, and none is forgotten

    def applied(self, key: str) -> int:
        """How often the effect with this key was applied."""
        return self._applied[key]

    def reached(self, key: str) -> int:
        """How many calls with this key may have been applied."""
        return sum(call.key == key and not call.refused for call in self.calls)

    @property
    def applied_keys(self) -> set[str]:
        """Every key under which anything was applied."""
        return {key for key, times in self._applied.items() if times}


def remote_functions(remote: Remote, *, retries: int = 3) -> Functions:
    """A read, and writes of each kind, which all reach the target. Other `retries` make another version of `book`."""
    functions = Functions()

    @functions.read
    def count_orders(city: str) -> int:
        """How many orders a city has."""
        return len(city)

    @functions.write(idempotent=True, retries=3)
    def pay(context: CallContext, amount: int) -> dict[str, int]:
        """Pays, safely repeated."""
        remote.call(context, "pay", amount=amount)
        return {"id": amount * 10}

    @functions.write(retries=3)
    def ring(context: CallContext, who: int) -> str:
        """Rings a bell, not safely repeated."""
        remote.call(context, "ring", who=who)
        return "rung"

    @functions.write(idempotent=True, retries=retries)
    def book(context: CallContext, day: int) -> int:
        """Books, safely repeated."""
        remote.call(context, "book", day=day)
        return day

    return functions

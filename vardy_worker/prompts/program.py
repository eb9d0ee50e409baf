"""The prompt that asks for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.contracts.model import Message
from vardy_worker.functions.declarations import declarations_for
from vardy_worker.prompts.example import example_program
from vardy_worker.prompts.shape import shape_of
from vardy_worker.prompts.template import fenced, template

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.limits import Limits

SHOWN_LIMITS = (
    "calls_max",
    "calls_in_flight_max",
    "effects_max",
    "execute_seconds_max",
    "guest_cpu_seconds_max",
    "guest_memory_mib_max",
    "output_bytes_max",
    "call_args_bytes_max",
    "program_bytes_max",
    "judge_calls_max",
    "judge_tokens_max",
)


def program_prompt(
    *, catalogue: Catalogue, request: str, params: JsonObject, limits: Limits, judge: bool = False
) -> tuple[Message, ...]:
    """A system and a user message.

    `catalogue` is the part that the user may use. The system message depends on the
    catalogue, the limits and `judge` alone; the user message holds the request as it is and
    the shape of the params: keys and types, no values.
    """
    return (
        Message(role="system", content=_system(catalogue, limits, judge=judge)),
        Message(role="user", content=_user(request, params)),
    )


def _system(catalogue: Catalogue, limits: Limits, *, judge: bool) -> str:
    writes = any(spec.kind is FunctionKind.WRITE for spec in catalogue.functions)
    parts = frozenset({"writes" if writes else "no_writes"}) | described_parts(catalogue, judge=judge)
    return template("program").fill(described(catalogue, limits), parts=parts)


def described_parts(catalogue: Catalogue, *, judge: bool) -> frozenset[str]:
    """The optional parts of a system message that depend on functions and judge."""
    given = {"judge": judge, "example": bool(catalogue.functions)}
    return frozenset(name for name, is_there in given.items() if is_there)


def described(catalogue: Catalogue, limits: Limits) -> dict[str, str]:
    """The values of a system message: functions, an example, and limits as numbers."""
    declarations = declarations_for(catalogue) or "// There are no functions."
    return {
        "declarations": fenced(declarations, "typescript"),
        "example": fenced(example_program(catalogue), "javascript"),
        **{name: limit_text(getattr(limits, name)) for name in SHOWN_LIMITS},
    }


def limit_text(value: float) -> str:
    """A number as prompts have it."""
    # 30 and 30.0 are the same limit, and must be the same text in the stable prefix.
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def _user(request: str, params: JsonObject) -> str:
    return f"<request>\n{request.strip()}\n</request>\n\n{params_text(params)}"


def params_text(params: JsonObject) -> str:
    """The shape of the params, as prompts have it."""
    return (
        f"The shape of `params`; its values are there when the program runs:\n<params>\n{shape_of(params)}\n</params>\n"
    )

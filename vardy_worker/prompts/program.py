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
    example = example_program(catalogue)
    parts = {"writes" if writes else "no_writes"}
    parts |= {"judge"} if judge else set()
    parts |= {"example"} if example else set()
    declarations = declarations_for(catalogue) or "// There are no functions."
    values = {
        "declarations": fenced(declarations, "typescript"),
        "example": fenced(example, "javascript"),
        **{name: _number(getattr(limits, name)) for name in SHOWN_LIMITS},
    }
    return template("program").fill(values, parts=frozenset(parts))


def _number(value: float) -> str:
    # 30 and 30.0 are the same limit, and must be the same text in the stable prefix.
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def _user(request: str, params: JsonObject) -> str:
    return (
        f"<request>\n{request.strip()}\n</request>\n\n"
        "The shape of `params`; its values are there when the program runs:\n"
        f"<params>\n{shape_of(params)}\n</params>\n"
    )

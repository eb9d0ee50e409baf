"""What is wrong with an envelope, for the program that it is to bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.base import JsonObject, make_pointer
from vardy_worker.contracts.envelope import exact_number
from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.rules.shapes import shape_of
from vardy_worker.rules.vocabulary import near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from vardy_worker.contracts.envelope import Bounds, Envelope, FunctionEnvelope
    from vardy_worker.contracts.functions import FunctionSpec


def envelope_problems(envelope: Envelope, called: Sequence[FunctionSpec]) -> Iterator[JsonObject]:
    """Every problem as `{"at": pointer, "message": sentence}`; `called` are the functions of the program."""
    writes = {spec.name: spec for spec in called if spec.kind is FunctionKind.WRITE}
    reads = {spec.name for spec in called} - set(writes)
    if not envelope.functions:
        yield _problem(("functions",), f"The envelope names no write function{_there_are(writes)}")
    for name, bounds in envelope.functions.items():
        if name in writes:
            yield from _function_problems(name, bounds, writes[name])
        elif name in reads:
            yield _problem(("functions", name), f"`{name}` is a read function, and a plan has only writes.")
        else:
            yield _problem(("functions", name), f"The program does not call `{name}`{_there_are(writes, like=name)}")


def _function_problems(name: str, bounds: FunctionEnvelope, spec: FunctionSpec) -> Iterator[JsonObject]:
    fields = shape_of(spec.input_schema).fields
    numeric = [argument for argument, shape in fields.items() if shape.numeric]
    for argument, bound in bounds.arguments.items():
        at = ("functions", name, "arguments", argument)
        if argument not in fields:
            yield _problem(at, f"`{name}` has no argument `{argument}`{_there_are(numeric, like=argument)}")
        elif argument not in numeric:
            yield _problem(at, f"The argument `{argument}` of `{name}` is no number{_there_are(numeric)}")
        else:
            yield from _bound_problems(at, bound)


def _bound_problems(at: tuple[str, ...], bound: Bounds) -> Iterator[JsonObject]:
    least, most, total = exact_number(bound.min), exact_number(bound.max), exact_number(bound.sum_max)
    if least is None and most is None and total is None:
        yield _problem(at, "It says nothing: give `min`, `max` or `sum_max`.")
    if least is not None and most is not None and least > most:
        yield _problem((*at, "min"), "`min` is above `max`, so nothing would be within.")
    if total is not None and total < max(least or 0, 0):
        yield _problem(
            (*at, "sum_max"), "`sum_max` is below what a single effect may have, so nothing would be within."
        )


def _problem(at: tuple[str, ...], message: str) -> JsonObject:
    return {"at": make_pointer(("envelope", *at)), "message": message}


def _there_are(names: Iterable[str], *, like: str = "") -> str:
    """The end of a sentence."""
    hint = near(like, names) or "; there are none"
    return hint if hint.endswith("?") else f"{hint}."

"""CEL as the language of rules, on Google's cel-cpp through `cel-expr-python`.

What this module keeps from its callers, because each would let a failing rule pass:
an evaluation error is a *value* whose `.value()` is a text, and so true; an exhausted
budget raises instead; every comparison with NaN is false; and messages contain values.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from cel_expr_python import cel

from vardy_worker.rules import cel_wire
from vardy_worker.rules.cel_formula import formula_of
from vardy_worker.rules.cel_uses import find_uses
from vardy_worker.rules.engine import PlanRules
from vardy_worker.rules.language import (
    ExpressionError,
    ExpressionProblem,
    Failed,
    Outcome,
    Parsed,
    Unbound,
    UntypedExpression,
    ValueType,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonValue

_NOT_FINITE = "@not-finite"
"""What the error of a guarded expression quotes; `cel_wire.Guard`."""

_PROBLEM = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
# Anchored, because what follows may quote a value that looks like one of these.
_UNBOUND = re.compile(r'[A-Z_]+: No value with name "([^"]*)" found')
_OVERLOAD = re.compile(r"[A-Z_]+: No matching overloads found : ([^()\s]*)(?:\(([\w., ()<>]*)\))?")

_REASONS = (
    (f'Key not found in map : "{_NOT_FINITE}"', "its arithmetic gives a number that is not finite"),
    ("Key not found", "it reads a key that is not there"),
    ("budget exceeded", "its loops exceed the budget of an evaluation"),
    ("divide by zero", "it divides by zero"),
    ("modulus by zero", "it divides by zero"),
    ("overflow", "a number overflows"),
    ("out of ", "a number is out of range"),
    ("invalid regular expression", "a regular expression is not valid"),
    ("cannot convert", "a value cannot be converted"),
    ("conversion", "a value cannot be converted"),
    ("construction from null", "a text is not valid Unicode"),
    ("SELECT", "it reads a field of something that has no fields"),
    ("index out of bounds", "it reads an element that is not there"),
    ("Index error", "it reads an element that is not there"),
)
"""What the library's messages contain, and what may be said of them: those may quote values."""


class CelProgram:
    """A compiled expression."""

    def __init__(self, expression: cel.Expression) -> None:
        self._expression = expression

    def run(self, scope: cel.Activation) -> Outcome:
        """True or false, or why there is neither."""
        try:
            result = self._expression.eval(scope)
            # The type first: the value of an error is a text, and asking for that of null is unsafe.
            kind = result.type()
            if kind == cel.Type.BOOL:
                return result.value() is True
            if kind == cel.Type.ERROR:
                return _failure(str(result.value()))
            return Failed(f"it gives {_a(_plain(kind))} instead of true or false")
        except Exception as error:  # noqa: BLE001 - whatever the library raises must block
            return _failure(str(error))


class CelLanguage:
    """Parses, checks and compiles CEL. One may be shared by all threads."""

    def __init__(self) -> None:
        # The library builds its compilers lazily and does not say that this is thread-safe.
        self._lock = threading.Lock()
        self._bare = cel.NewEnv(variables={})

    def parse(self, text: str) -> Parsed:
        """Raises `ExpressionError` with every syntax error and every name that cannot exist."""
        try:
            with self._lock:
                serialised = self._bare.compile(text, disable_check=True).serialize()
        except Exception as error:  # noqa: BLE001 - the library has no exception of its own
            raise _compile_error(str(error)) from None
        tree, offsets = cel_wire.read_parsed(serialised)
        return Parsed(text, find_uses(tree, text, offsets), formula_of(tree))

    def compile(self, parsed: Parsed, variables: Mapping[str, ValueType]) -> CelProgram:
        """Raises `ExpressionError`: wrong types, a result that is not boolean, untyped arithmetic."""
        with self._lock:
            env = cel.NewEnv(variables={_dotted(name): _type(kind) for name, kind in variables.items()})
            try:
                expression = env.compile(_renamed(parsed, variables))
            except Exception as error:  # noqa: BLE001 - the library has no exception of its own
                raise _compile_error(str(error)) from None
            result = expression.return_type()
            if result not in (cel.Type.BOOL, cel.Type.DYN, _NULLABLE["bool"]):
                name = str(result.name()).lower()
                raise ExpressionError(
                    ExpressionProblem(f"the expression must be true or false, but it is {_a(name)}", 1)
                )
            return CelProgram(_guarded(env, expression))

    def bind(self, values: Mapping[str, JsonValue]) -> cel.Activation:
        """Values by name. Types are taken from the values, so a wrong one fails the evaluation."""
        return self._bare.Activation({_dotted(name): value for name, value in values.items()})


def _dotted(name: str) -> str:
    """The name under which CEL knows a variable.

    `has(args.urgent)` asks the map `args`, but the compiler would take a declared variable
    `args.urgent` for the answer. So dotted variables go by another root, equally long.
    """
    return name[0].upper() + name[1:] if "." in name else name


def _renamed(parsed: Parsed, variables: Mapping[str, ValueType]) -> str:
    """The text with the roots of all dotted variables renamed; columns stay."""
    text = list(parsed.text)
    for use in parsed.uses:
        if use.offset is None:
            continue
        root = str(use.path[0])
        if parsed.text[use.offset : use.offset + len(root)] != root:
            raise ExpressionError(ExpressionProblem(f"write `{root}` plainly", use.line, use.column))
        names = [str(step) for step in use.path[: use.named]]
        if any(".".join(names[:length]) in variables for length in range(2, len(names) + 1)):
            text[use.offset] = root[0].upper()
    return "".join(text)


def _guarded(env: cel.Env, expression: cel.Expression) -> cel.Expression:
    serialised = expression.serialize()
    guard = cel_wire.Guard(cel_wire.unwrap(serialised), failure=_NOT_FINITE)
    try:
        guarded = guard.apply()
    except cel_wire.UntypedArithmetic as error:
        sign = error.function.strip("_")
        message = (
            f"`{sign}` is applied to values whose types are not known beforehand; "
            "say what they are with int(…), double(…) or string(…)"
        )
        raise UntypedExpression(ExpressionProblem(message, 1)) from None
    if guarded is None:
        return expression
    kind = next(value for number, _, value in cel_wire.fields(serialised) if number == 1)
    return env.deserialize(cel_wire.message((1, cel_wire.BYTES, kind), (2, cel_wire.BYTES, guarded)))


_PLAIN = {"bool": cel.Type.BOOL, "int": cel.Type.INT, "double": cel.Type.DOUBLE, "string": cel.Type.STRING}
_NULLABLE = {
    "bool": cel.Type("google.protobuf.BoolValue"),
    "int": cel.Type("google.protobuf.Int64Value"),
    "double": cel.Type("google.protobuf.DoubleValue"),
    "string": cel.Type("google.protobuf.StringValue"),
}


def _type(kind: ValueType) -> cel.Type:
    if kind.kind == "list":
        return cel.Type.List(_type(kind.of) if kind.of else cel.Type.DYN)
    if kind.kind == "map":
        return cel.Type.Map(cel.Type.STRING, _type(kind.of) if kind.of else cel.Type.DYN)
    return (_NULLABLE if kind.nullable else _PLAIN).get(kind.kind, cel.Type.DYN)


def _compile_error(message: str) -> ExpressionError:
    found: list[ExpressionProblem] = []
    for match in _PROBLEM.finditer(message):
        text = match[3].removesuffix(" [INVALID_ARGUMENT]").replace(" (in container '')", "")
        problem = ExpressionProblem(_clear(text), max(int(match[1]), 0), max(int(match[2]), 0))
        if problem not in found:
            found.append(problem)
    if not found:
        found.append(ExpressionProblem(_clear(message.split("\n", 1)[0])))
    return ExpressionError(*found)


_NO_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '([^']*)'")


_CLEARER = (
    (re.compile(r"[Rr]ecursion (?:depth|limit)"), "the expression is nested too deeply"),
    (re.compile(r"reserved identifier: (\w+)"), "`{0}` is a reserved word and cannot stand alone"),
    (re.compile(r"undeclared reference to '(.*)'"), "nothing called `{0}` takes these arguments"),
)


def _clear(message: str) -> str:
    """The library's compile error, which quotes only the rule, with a hint where one helps."""
    for pattern, sentence in _CLEARER:
        if match := pattern.search(message):
            return sentence.format(*match.groups())
    match = _NO_OVERLOAD.search(message)
    if not match:
        return message.partition(" expecting {")[0].strip()
    return f"`{match[1].strip('_')}` cannot be applied to {_readable(match[2])}{_hint(match[2])}"


def _hint(types: str) -> str:
    if "list" in types or "map" in types:
        return ""
    if "double" in types and "int" in types:
        return "; write a number with a decimal point (1.0), or convert with int(…) or double(…)"
    if "string" in types and ("int" in types or "double" in types):
        return "; convert with int(…), double(…) or string(…) (a decimal travels as text)"
    return ""


def _readable(types: str) -> str:
    """CEL's names of types in the words of the documentation."""
    return re.sub(r"wrapper\((\w+)\)", r"\1 or null", types).replace("null_type", "null").replace("int64", "int")


def _failure(message: str) -> Unbound | Failed:
    unbound = _UNBOUND.match(message)
    if unbound:
        return Unbound(unbound[1][0].lower() + unbound[1][1:])
    overload = _OVERLOAD.match(message)
    if overload:
        operator, types = overload[1].replace("<jump_condition>", "? :").strip("_"), overload[2]
        if types is None:
            return Failed(f"`{operator}` cannot be applied to these types")
        hint = "; test it with `!= null` first" if "null_type" in types else ""
        return Failed(f"`{operator}` cannot be applied to ({_readable(types)}){hint}")
    for part, reason in _REASONS:
        if part in message:
            return Failed(reason)
    return Failed("the evaluation failed")


def _plain(kind: cel.Type) -> str:
    """The name of a type without what it holds."""
    return str(kind.name()).lower().partition("<")[0].removesuffix("_type")


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "aeiou" else f"a {name}"


class CelRules(PlanRules):
    """The rule engine, with CEL as its language."""

    def __init__(self) -> None:
        super().__init__(CelLanguage())

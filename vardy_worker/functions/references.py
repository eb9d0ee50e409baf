"""Arguments that are results of earlier effects: checked by type, since no value exists yet."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jsonschema import FormatChecker
from jsonschema.validators import extend
from pydantic import TypeAdapter
from pydantic_core import to_json

from vardy_worker.contracts.base import (
    JsonObject,
    JsonValue,
    make_pointer,
    pointer_parts,
    pointer_set,
    safe_integers,
)
from vardy_worker.contracts.functions import Catalogue, FunctionKind
from vardy_worker.functions.arguments import in_order, read_object, to_stored, validate
from vardy_worker.functions.problems import problem, unique, unknown_argument, wrong_type
from vardy_worker.functions.subschema import ANY, Alternatives, at_pointer, expected, kinds, literals, step
from vardy_worker.json_schemas import validator_class
from vardy_worker.ports import BadArguments, GoodArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from vardy_worker.contracts.execution import Ref
    from vardy_worker.functions.registry import Registered

_FORMATS = {"date": date, "date-time": datetime, "time": time, "duration": timedelta, "uuid": UUID, "decimal": Decimal}

DEPTH_MAX = 20
"""How deep two schemas are compared; recursive models never end otherwise."""


class _Hole:
    """Stands where a reference will be filled in; fits every schema."""


HOLE = _Hole()


def check_with_references(
    function: Registered,
    catalogue: Catalogue,
    args: JsonValue,
    refs: Sequence[Ref],
    effects: Sequence[str],
) -> GoodArguments | BadArguments:
    """Validates what can be validated before the referred results exist.

    Arguments without references are checked in full. A reference must point at something
    that the referred function's result has, of a type that can fit. An argument that
    holds references somewhere inside is checked against its schema, with anything
    allowed in those places.
    """
    if function.kind is FunctionKind.READ:
        message = "is the result of a write, which does not exist before the plan is committed: pass it only to a write"
        return BadArguments(tuple(problem(ref.at, message) for ref in refs))
    args = read_object(function, args if all(ref.at.startswith("/") for ref in refs) else "one reference")
    if isinstance(args, BadArguments):
        return args
    problems = [found for ref in refs for found in _reference_problems(ref, catalogue, function, effects)]
    whole = {parts[0] for parts in map(_parts, refs) if len(parts) == 1}
    holed = {parts[0] for parts in map(_parts, refs) if len(parts) > 1}
    problems.extend(
        problem(make_pointer([name]), "is a reference, and has references inside it") for name in sorted(whole & holed)
    )
    plain = {name: value for name, value in args.items() if name not in whole | holed}
    required = function.input_schema["required"]
    for name in required:
        if name not in plain and name not in whole | holed:
            at = make_pointer([name])
            problems.append(problem(at, "is missing", expected(at_pointer(function.input_schema, at))))
    checked = validate(function.types.partial, plain, function.input_schema)
    if isinstance(checked, BadArguments):
        problems.extend(checked.problems)
    problems.extend(_hole_problems(function, args, refs, holed))
    if problems or isinstance(checked, BadArguments):
        return BadArguments(unique(problems))
    known = to_stored(function, function.types.partial, checked)
    if isinstance(known, BadArguments):
        return known
    defaults = {name: value for name, value in function.types.defaults.items() if name not in whole | holed}
    nested = {name: args[name] for name in args if name in holed}
    stored = {**defaults, **known, **nested}
    return GoodArguments(safe_integers(in_order(function, stored)))


def _parts(ref: Ref) -> list[str]:
    return pointer_parts(ref.at)


# --- does the referred result fit? --------------------------------------------------------


def _reference_problems(
    ref: Ref, catalogue: Catalogue, function: Registered, effects: Sequence[str]
) -> Iterator[JsonObject]:
    target = at_pointer(function.input_schema, ref.at)
    if not target:
        yield unknown_argument(ref.at, function.input_schema)
        return
    source_function = catalogue.get(effects[ref.effect]) if 0 <= ref.effect < len(effects) else None
    if source_function is None:
        yield problem(ref.at, f"refers to effect {ref.effect}, which is not an earlier effect", expected(target))
        return
    is_pointer = ref.path == "" or ref.path.startswith("/")
    source = at_pointer(source_function.output_schema, ref.path) if is_pointer else ()
    if not source:
        yield problem(
            ref.at, f"refers to {ref.path}, which the result of {source_function.name} does not have", expected(target)
        )
    elif not _fits(source, source_function.output_schema, target, function.input_schema, DEPTH_MAX):
        what = f"the result of {source_function.name}" + (f" at {ref.path}" if ref.path else "")
        yield problem(ref.at, f"must be {expected(target)}, but {what} is {expected(source)}", expected(target))


def _fits(source: Alternatives, source_root: JsonObject, target: Alternatives, root: JsonObject, depth: int) -> bool:
    """Whether some value of the source may be a value of the target; in doubt, yes."""
    return any(_may_fit(one, source_root, other, root, depth) for one in source for other in target)


def _may_fit(source: JsonObject, source_root: JsonObject, target: JsonObject, root: JsonObject, depth: int) -> bool:
    given, taken = kinds(source), kinds(target)
    if ANY in given or ANY in taken or depth == 0:
        return True
    if given & {"integer", "number"} and taken & {"integer", "number"}:
        return True
    common = given & taken
    if not common:
        return False
    values, allowed = literals(source), literals(target)
    if values is not None and allowed is not None:
        return any(value in allowed for value in values)
    if common == {"object"}:
        return all(
            bool(inner := step((source,), name, source_root))
            and _fits(inner, source_root, step((target,), name, root), root, depth - 1)
            for name in target.get("required", ())
        )
    if common == {"array"} and "items" in source and "items" in target:
        return _fits(step((source,), "0", source_root), source_root, step((target,), "0", root), root, depth - 1)
    return True


# --- arguments with references inside -----------------------------------------------------


def _hole_problems(
    function: Registered, args: JsonObject, refs: Sequence[Ref], holed: set[str]
) -> Iterator[JsonObject]:
    filled = {name: value for name, value in args.items() if name in holed}
    for ref in refs:
        if len(_parts(ref)) > 1:
            try:
                filled = pointer_set(filled, ref.at, HOLE)
            except LookupError:
                yield problem(ref.at, "is not a place of these arguments")
                return
    schema = {**function.input_schema, "required": []}
    validator: Validator = _validator_class()(schema, format_checker=_formats())
    for error in validator.iter_errors(filled):
        yield from _schema_problems(error, args, function.input_schema)


@lru_cache(maxsize=1)
def _validator_class() -> Callable[..., Validator]:
    """JSON Schema in which a hole fits everywhere."""
    plain: Any = validator_class()
    keywords = {name: _unless_hole(keyword) for name, keyword in plain.VALIDATORS.items()}
    made: Callable[..., Validator] = extend(plain, keywords)  # type: ignore[no-untyped-call] # the stubs leave it untyped
    return made


@lru_cache(maxsize=1)
def _formats() -> FormatChecker:
    """The formats that texts stand for, read as a whole argument would read them."""
    checker = FormatChecker(formats=())
    for name, kind in _FORMATS.items():
        checker.checks(name, raises=ValueError)(_reader(TypeAdapter(kind)))
    return checker


def _reader(adapter: TypeAdapter[Any]) -> Callable[[object], bool]:
    def reads(value: object) -> bool:
        if isinstance(value, str):
            adapter.validate_json(to_json(value), strict=True)
        return True

    return reads


def _unless_hole(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def check(validator: Validator, value: Any, instance: Any, schema: JsonObject) -> Any:
        return () if instance is HOLE else keyword(validator, value, instance, schema) or ()

    return check


def _schema_problems(error: ValidationError, args: JsonObject, schema: JsonObject) -> Iterator[JsonObject]:
    at = make_pointer(error.absolute_path)
    keyword: str = str(error.validator)
    limit: Any = error.validator_value
    found: Any = error.instance
    wanted = expected(at_pointer(schema, at))
    if keyword == "required":
        for missing in (at + make_pointer([name]) for name in limit if name not in found):
            yield problem(missing, "is missing", expected(at_pointer(schema, missing)))
    elif keyword == "additionalProperties":
        known = {name for place in at_pointer(schema, at) for name in place.get("properties", {})}
        for extra in (name for name in found if name not in known):
            yield unknown_argument(at + make_pointer([extra]), schema)
    elif (branch := _meant_branch(error)) is not None:
        for inner in branch:
            yield from _schema_problems(inner, args, schema)
    elif keyword in {"type", "anyOf", "oneOf", "enum", "const", "format"}:
        yield wrong_type(at, wanted, args)
    else:
        yield problem(at, f"breaks the limit {keyword} = {limit}", wanted)


def _meant_branch(error: ValidationError) -> list[ValidationError] | None:
    """The errors of the one branch of a union whose JSON type the value has, where there is just one."""
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = [
        errors
        for errors in branches.values()
        if not any(inner.validator == "type" and not inner.path for inner in errors)
    ]
    return meant[0] if len(meant) == 1 else None

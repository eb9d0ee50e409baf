"""What changed of a function between two versions, in words and data, for whoever reviewed its use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.base import make_pointer, sha256_json
from vardy_worker.contracts.recipe import ChangeKind, FunctionChange
from vardy_worker.functions.schemas import COMMENTS, without
from vardy_worker.functions.typescript import type_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.functions import FunctionSpec

OPTIONS: Final = ("roles", "idempotent", "timeout_seconds", "retries", "key_valid_seconds")
"""The fields of a function's entry that a company sets beside its types."""


def changes_of(name: str, before: FunctionSpec | None, after: FunctionSpec | None) -> tuple[FunctionChange, ...]:
    """The differences of two versions, at least one.

    `before` is None where that version was not kept, `after` where the function is gone.
    """
    if after is None:
        return (_change(name, ChangeKind.GONE, "It is not registered any more."),)
    if before is None:
        return (_change(name, ChangeKind.OTHER, "It has another version now; the one before was not kept."),)
    found = (*_kind(before, after), *_arguments(before, after), *_result(before, after), *_options(before, after))
    return found or (_change(name, ChangeKind.OTHER, "It has another version now; nothing that is described differs."),)


def _change(name: str, kind: ChangeKind, message: str, at: str = "", *values: JsonValue) -> FunctionChange:
    before, after = values or (None, None)
    return FunctionChange(function=name, change=kind, message=message, at=at, before=before, after=after)


def _kind(before: FunctionSpec, after: FunctionSpec) -> Iterator[FunctionChange]:
    if before.kind is not after.kind:
        message = f"It is a {after.kind.value} function now; it was a {before.kind.value} function."
        yield _change(after.name, ChangeKind.KIND, message, "/kind", before.kind.value, after.kind.value)


def _arguments(before: FunctionSpec, after: FunctionSpec) -> Iterator[FunctionChange]:
    old, new = _bare(before.input_schema), _bare(after.input_schema)
    had, has = old.get("properties", {}), new.get("properties", {})
    for argument in sorted({*had, *has}):
        at = make_pointer(("input_schema", "properties", argument))
        is_required = argument in new.get("required", ())
        if argument not in has:
            message = f"The argument `{argument}` is gone."
            yield _change(after.name, ChangeKind.ARGUMENT_REMOVED, message, at, had[argument], None)
        elif argument not in had:
            message = f"The argument `{argument}` is new, and {'required' if is_required else 'may be left out'}."
            yield _change(after.name, ChangeKind.ARGUMENT_ADDED, message, at, None, has[argument])
        else:
            if is_required is not (argument in old.get("required", ())):
                yield _required(after.name, argument, is_required=is_required)
            yield from _argument(after.name, argument, old, new)


def _required(name: str, argument: str, *, is_required: bool) -> FunctionChange:
    kind = ChangeKind.ARGUMENT_REQUIRED if is_required else ChangeKind.ARGUMENT_OPTIONAL
    message = f"The argument `{argument}` {'is required now' if is_required else 'may be left out now'}."
    return _change(name, kind, message, "/input_schema/required", not is_required, is_required)


def _argument(name: str, argument: str, old: JsonObject, new: JsonObject) -> Iterator[FunctionChange]:
    had, has = dict(old["properties"][argument]), dict(new["properties"][argument])
    defaults = had.pop("default", None), has.pop("default", None)
    at = make_pointer(("input_schema", "properties", argument))
    place = _difference(_closed(had, old), _closed(has, new))
    if place is not None:
        words = f"The argument `{argument}` {_retyped('takes', 'took', had, has, place)}"
        yield _change(name, ChangeKind.ARGUMENT_TYPE, words, at, had, has)
    if _difference(*defaults) is not None and argument not in {*old.get("required", ()), *new.get("required", ())}:
        words = (
            f"The argument `{argument}` is {_text(defaults[1])} now when it is left out; it was {_text(defaults[0])}."
        )
        yield _change(name, ChangeKind.ARGUMENT_DEFAULT, words, f"{at}/default", *defaults)


def _result(before: FunctionSpec, after: FunctionSpec) -> Iterator[FunctionChange]:
    old, new = _bare(before.output_schema), _bare(after.output_schema)
    place = _difference(_closed(old, old), _closed(new, new))
    if place is not None:
        words = f"It {_retyped('returns', 'returned', old, new, place)}"
        yield _change(after.name, ChangeKind.RESULT, words, "/output_schema", old, new)


def _options(before: FunctionSpec, after: FunctionSpec) -> Iterator[FunctionChange]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    for option in OPTIONS:
        if old[option] != new[option]:
            message = f"Its option `{option}` is {_text(new[option])} now; it was {_text(old[option])}."
            yield _change(after.name, ChangeKind.OPTION, message, f"/{option}", old[option], new[option])


def _retyped(now: str, then: str, had: JsonObject, has: JsonObject, place: str) -> str:
    """The two types where their texts differ, else where one is described otherwise."""
    before, after = _type(had), _type(has)
    if before != after:
        return f"{now} `{after}` now; it {then} `{before}`."
    return f"{now} `{after}`, which is described otherwise at {place}."


def _type(schema: JsonObject) -> str:
    return type_text(schema, lambda name: name)


def _text(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bare(schema: JsonObject) -> JsonObject:
    bare: JsonObject = without(schema, COMMENTS)
    return bare


def _closed(schema: JsonObject, root: JsonObject) -> JsonObject:
    """A schema with those definitions that it needs, wherever it stood."""
    definitions = root.get("$defs", {})
    needed: JsonObject = {}
    waiting: list[JsonValue] = [{key: value for key, value in schema.items() if key != "$defs"}]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            name = str(node.get("$ref", "")).removeprefix("#/$defs/")
            if name in definitions and name not in needed:
                needed[name] = definitions[name]
                waiting.append(definitions[name])
            waiting.extend(node.values())
    return {**{key: value for key, value in schema.items() if key != "$defs"}, "$defs": needed}


def _difference(before: JsonValue, after: JsonValue, at: str = "") -> str | None:
    """The pointer of the first place where two values differ, "/" for the whole; None where they are the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                return at + make_pointer((key,))
            inner = _difference(before[key], after[key], at + make_pointer((key,)))
            if inner is not None:
                return inner
        return None
    # As the version of a function is made: 1 is 1.0, and is not true.
    return None if sha256_json(before) == sha256_json(after) else at or "/"

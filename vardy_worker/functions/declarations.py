"""`declare function` texts, and the types they need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from vardy_worker.contracts.base import JsonObject
from vardy_worker.contracts.functions import Catalogue, FunctionKind
from vardy_worker.functions.generator import SchemaGenerator
from vardy_worker.functions.names import GLOBAL_NAMES, RESERVED_WORDS
from vardy_worker.functions.schemas import without
from vardy_worker.functions.typescript import comment, definition_text, object_text, type_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from vardy_worker.functions.registry import Functions, Registered

    Key = tuple[str, str]

EFFECT = "Effect"
EFFECT_TYPE = """\
/**
 * What a write returns. The write has not run when the program goes on: this stands for its later result T.
 * Pass it, or a property of it, as an argument of a later write, or return it from run.
 * Its value does not exist yet: never test, compare, print or compute with it.
 */
type Effect<T> = {readonly [K in keyof T]: Effect<T[K]>};"""

_TAKEN = GLOBAL_NAMES | RESERVED_WORDS | {EFFECT, "Record", "Partial", "Required", "Readonly", "Pick", "Omit", "any"}
_NOT_CODE = re.compile(r"/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def render(functions: Functions) -> tuple[dict[str, str], dict[str, str]]:
    """The declaration of each function, and the text of each type that any of them names."""
    schemas, definitions = _shared_schemas(functions)
    names = _type_names(definitions)
    declared = {function.name: _declaration(function, schemas, names.__getitem__) for function in functions}
    types = {
        names[key]: definition_text(names[key], definition, names.__getitem__)
        for key, definition in definitions.items()
    }
    if any(function.kind is FunctionKind.WRITE for function in functions):
        types[EFFECT] = EFFECT_TYPE
    return declared, dict(sorted(types.items()))


def needed_types(catalogue: Catalogue) -> dict[str, str]:
    """The types that the functions of a catalogue need: those of others it may hold beside them."""
    needed = _needed((spec.declaration for spec in catalogue.functions), catalogue.types)
    return {name: catalogue.types[name] for name in sorted(needed)}


def declarations_for(catalogue: Catalogue) -> str:
    """The TypeScript of a catalogue: the types its functions need, then the functions, each in order of name."""
    functions = sorted(catalogue.functions, key=lambda spec: spec.name)
    texts = list(needed_types(catalogue).values())
    texts.extend(spec.declaration for spec in functions)
    return "\n\n".join(texts) + "\n" if texts else ""


def _needed(texts: Iterable[str], types: dict[str, str]) -> set[str]:
    found: set[str] = set()
    waiting = list(texts)
    while waiting:
        words = set(_WORD.findall(_NOT_CODE.sub(" ", waiting.pop())))
        new = (words & types.keys()) - found
        found |= new
        waiting.extend(types[name] for name in new)
    return found


def _shared_schemas(functions: Functions) -> tuple[dict[Key, JsonObject], dict[str, JsonObject]]:
    """Schemas of all arguments and results at once, so that equal names of different models come apart.

    The keys are (function, argument) and (function, "return").
    """
    inputs: list[tuple[Key, Literal["validation", "serialization"], TypeAdapter[Any]]] = []
    for function in functions:
        types = function.types
        inputs.extend(
            ((function.name, argument), "validation", TypeAdapter(annotation))
            for argument, annotation in types.parameters.items()
        )
        inputs.append(((function.name, "return"), "serialization", types.result))
    made, shared = TypeAdapter.json_schemas(inputs, schema_generator=SchemaGenerator)
    titles = frozenset({"title"})
    schemas = {key: without(schema, titles) for (key, _), schema in made.items()}
    definitions = {key: without(schema, titles) for key, schema in shared.get("$defs", {}).items()}
    return schemas, definitions


def _type_names(definitions: Iterable[str]) -> dict[str, str]:
    """A TypeScript name for each key of `$defs`: `Page[Item]-Input` becomes `PageItemInput`."""
    names: dict[str, str] = {}
    for key in sorted(definitions):
        # What programs get is met most often, so it has the plain name.
        words = re.findall(r"[A-Za-z0-9]+", key.removesuffix("-Output"))
        name = "".join(word[0].upper() + word[1:] for word in words) or "Model"
        if name[0].isdigit() or name in _TAKEN:
            name = f"Model{name}"
        used = set(names.values())
        names[key] = next(free for free in (name, *(f"{name}{n}" for n in range(2, 10_000))) if free not in used)
    return names


def _declaration(function: Registered, schemas: dict[Key, JsonObject], name_of: Callable[[str], str]) -> str:
    types = function.types
    arguments: JsonObject = {
        "properties": {
            argument: {**schemas[function.name, argument], **_default_of(function, argument)}
            for argument in types.parameters
        },
        "required": [argument for argument in types.parameters if argument not in types.defaults],
    }
    result = type_text(schemas[function.name, "return"], name_of)
    returned = f"{EFFECT}<{result}>" if function.kind is FunctionKind.WRITE else result
    mark = "" if arguments["required"] else "?"
    taken = f"args{mark}: {object_text(arguments, name_of)}" if types.parameters else ""
    head = "\n".join(comment(function.doc)) + "\n" if function.doc.strip() else ""
    return f"{head}declare function {function.name}({taken}): Promise<{returned}>;"


def _default_of(function: Registered, argument: str) -> JsonObject:
    defaults = function.types.defaults
    return {"default": defaults[argument]} if argument in defaults else {}

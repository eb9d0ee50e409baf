"""What may be told to a model of an error: words of Vardy's own, and nothing that came from data.

An `ErrorInfo` is made for people who may read the job, so its message can hold a function's
message or what a program threw. Here everything is built anew from the code and from those
details that are known to be numbers, names of the catalogue, or words of the program itself.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from vardy_worker.contracts.base import make_pointer, pointer_parts
from vardy_worker.contracts.judge import JUDGE_FUNCTIONS
from vardy_worker.functions.subschema import ANY, at_pointer, kinds
from vardy_worker.programs.globals import MISSING_GLOBALS, MISSING_METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.errors import ErrorInfo
    from vardy_worker.contracts.functions import Catalogue

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "generation.no_program": "Your answer held no program that defines `async function run(params)`. "
        "If the request cannot be done with these functions, say again in one sentence what is missing.",
        "generation.no_answer": "Your text was no answer: it was empty, too long, or a program where none can run "
        "any more.",
        "generation.truncated": "Your answer was cut off by the length limit. Write a much shorter one, "
        "without comments.",
        "generation.program_too_large": "Your program is too large. Write a shorter one, without data inside.",
        "validation.program": "Your program was checked before it ran, and does not pass.",
        "validation.params": "The program did not fit the params.",
        "validation.arguments": "The arguments of a call do not fit its declaration.",
        "validation.functions": "The program used a function that this request may not use.",
        "execution.timeout": "The program took too long, function calls included. Make fewer calls, "
        "and start independent ones together.",
        "execution.cpu": "The program computed for too long. Look for a loop that does not end, or for a "
        "search inside a search; use a Map.",
        "execution.memory": "The program needed too much memory. Keep fewer rows at once.",
        "execution.stack": "The program recursed too deeply. Use a loop.",
        "execution.deadlock": "The program waited for a promise that nothing can settle. Await only function calls.",
        "execution.unawaited_call": "The program ended while a function call was not awaited.",
        "execution.calls_budget": "The program made too many function calls. Use a function that returns a list, "
        "or filter before calling.",
        "execution.args_too_large": "The arguments of a call were too large.",
        "execution.output_too_large": "The program returned too much. Return counts, sums or the few values that "
        "answer the request.",
        "execution.effects_budget": "The program called writes too often.",
        "execution.plan_too_large": "The arguments of all writes together were too large.",
        "execution.thrown": "The program threw an error.",
        "execution.value": "The program returned or passed on a value that cannot be carried over, such as one "
        "that contains itself.",
        "execution.placeholder": "The program used the result of a write as if it existed. It may only be passed "
        "on as an argument of a later write, or be returned.",
        "execution.missing": "The program used something that does not exist here.",
        "execution.judge_budget": "The program asked the judge for more than is left of its budget. Filter in code "
        "first, judge fewer or shorter texts, and give all of them to one call.",
        "execution.judge_unavailable": "The judge cannot be reached now. Answer without `classify` and `ai` if that "
        "can be done.",
        "execution.judge_bad_answer": "`ai` gave no value of the type that was asked for. Ask for a simpler type, or "
        "say in the instruction what each field holds.",
        "function.failed": "A function call failed.",
        "function.crashed": "A function call failed.",
        "function.timeout": "A function call took too long.",
        "function.bad_result": "A function call returned something that does not fit its declaration.",
        "function.result_too_large": "A function call returned too much. Narrow it by its arguments.",
    }
)
"""What is said for each code. Codes that no program can mend have the general sentence."""

GENERAL_SENTENCE = "The program did not run to its end."

ERROR_NAMES = frozenset(
    {"Error", "TypeError", "ReferenceError", "RangeError", "SyntaxError", "AggregateError", "URIError", "EvalError"}
)

_JUDGE_ARGUMENTS: JsonObject = {
    "properties": {
        "texts": {"type": "array"},
        "labels": {"type": "array"},
        "options": {"properties": {"instructions": {}, "type": {"properties": {}}}},
        "instruction": {},
        "data": {},
    }
}
"""What is known of the places in the judge's arguments."""

_WORD = r"([A-Za-z_$][\w$]*)"
_ENGINE_MESSAGES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"cannot (?:read|set) property '{_WORD}' of (?:undefined|null)",
        rf"'?{_WORD}'? is not (?:defined|a function|iterable|an object|a constructor)",
        rf"{_WORD} is not initialized",
        r"not a (?:function|constructor|date)",
        r"(?:value|object|undefined|null) is not iterable",
        r"cannot convert (?:undefined|null|symbol|bigint) to (?:object|string|number|bigint)",
        r"cannot (?:mix BigInt and other types, use explicit conversions|convert to BigInt)",
        r"invalid (?:array length|date|time value|count)",
    )
)
"""Messages of the engine's own errors. A word in one is shown only if it stands in the program."""


def sentence_of(error: ErrorInfo, program: str, catalogue: Catalogue) -> str:
    """What was wrong, with the limit or the engine's message where that is free of data."""
    parts = [SENTENCES.get(error.code, GENERAL_SENTENCE)]
    function = error.details.get("function")
    if isinstance(function, str) and is_callable(function, catalogue):
        parts.append(f"It was a call of `{function}`.")
    limit, value = error.details.get("limit_value"), error.details.get("value")
    if isinstance(limit, int | float) and limit > 0:
        was = f", it was {value:,g}" if isinstance(value, int | float) else ""
        parts.append(f"The limit is {limit:,g}{was}.")
    if error.code == "execution.missing":
        parts.extend(_instead(error.message))
    elif error.code.startswith("execution."):
        parts.extend(_thrown(error, program))
    return " ".join(parts)


def place_of(error: ErrorInfo) -> tuple[int, int] | None:
    """The line and column (0: unknown) of an error, from 1; None where it has no place."""
    line, column = error.details.get("line"), error.details.get("column")
    if isinstance(line, int) and line > 0:
        return line, column if isinstance(column, int) else 0
    return None


def problems_of(error: ErrorInfo, program: str, catalogue: Catalogue) -> list[str]:
    """The wrong arguments of a call: which, and what was expected there."""
    problems = error.details.get("problems")
    function = error.details.get("function")
    if error.code != "validation.arguments" or not isinstance(problems, list) or not isinstance(function, str):
        return []
    if not is_callable(function, catalogue):
        return []
    spec = catalogue.get(function)
    schema = _JUDGE_ARGUMENTS if spec is None else spec.input_schema
    return [_problem(problem, schema, program) for problem in problems if isinstance(problem, dict)]


def is_callable(name: str, catalogue: Catalogue) -> bool:
    """Whether programs may know the name: a function's, or one of the judge's."""
    return name in JUDGE_FUNCTIONS or catalogue.get(name) is not None


def property_names(schema: JsonValue) -> frozenset[str]:
    """Every property name that a JSON Schema declares, at any depth."""
    names: set[str] = set()
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            properties = item.get("properties")
            names.update(properties if isinstance(properties, dict) else ())
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return frozenset(names)


def _problem(problem: dict[str, JsonValue], schema: JsonObject, program: str) -> str:
    at = problem.get("at")
    # A key can be data too, so only declared names, places in lists and words of the program are shown.
    parts = pointer_parts(at) if isinstance(at, str) and at.startswith("/") else []
    known = property_names(schema)
    shown = [
        part if part in known or _stands_in(part, program) or _is_in_list(schema, parts[:level]) else "…"
        for level, part in enumerate(parts)
    ]
    message = problem.get("message")
    # What comes after ", not" is the shape of the value, with its keys.
    said = message.partition(", not ")[0] if isinstance(message, str) else "does not fit its declaration"
    return f"`{'/'.join(shown) or 'the arguments'}` {said}"


def _is_in_list(schema: JsonObject, above: list[str]) -> bool:
    """Whether only a list fits a place, so that what follows is a place in it, and no key as of a map."""
    found = {kind for place in at_pointer(schema, make_pointer(above)) for kind in kinds(place)}
    return "array" in found and found.isdisjoint({"object", ANY})


def _instead(message: str) -> list[str]:
    """For each thing of the fixed lists that the message names: what to use instead."""
    listed = {**MISSING_GLOBALS, **MISSING_METHODS}
    return [f"`{name}`: {hint}" for name, hint in listed.items() if _stands_in(name, message.partition(":")[0])]


def _thrown(error: ErrorInfo, program: str) -> list[str]:
    name = error.details.get("name")
    if not isinstance(name, str) or name not in ERROR_NAMES:
        return []
    message = _engine_message(error.message, program)
    return [f"{name}: {message}." if message else f"It was of the class {name}."]


def _engine_message(message: str, program: str) -> str:
    """The engine's message at the end of an error's, if every word in it is the engine's or the program's."""
    said = message.rsplit(": ", 1)[-1].strip()
    for pattern in _ENGINE_MESSAGES:
        match = pattern.fullmatch(said)
        if match and all(_stands_in(word, program) for word in match.groups()):
            return said
    return ""


def _stands_in(word: str, program: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", program) is not None

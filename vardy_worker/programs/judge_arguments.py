"""What `classify` and `ai` take: the questions that their arguments make, or what is wrong with them.

The checks of a program's text go by the same rules, as far as the text shows the values.
"""

from __future__ import annotations

import json
import math
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, TypeAlias

from vardy_worker.contracts.base import JsonObject, JsonValue, make_pointer
from vardy_worker.contracts.judge import UNKNOWN, AiQuestion, ClassifyQuestion
from vardy_worker.functions.problems import problem, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

LABELS_MIN: Final = 2
LABELS_MAX: Final = 50
LABEL_CHARACTERS_MAX: Final = 200
YES_NO: Final = ("yes", "no")
"""The labels of a question."""

TYPE_WORDS: Final = ("string", "number", "boolean")
_OTHER_WORDS: Final = {
    "text": "string",
    "str": "string",
    "integer": "number",
    "int": "number",
    "float": "number",
    "bool": "boolean",
}
TYPE_DEPTH_MAX: Final = 8
TYPE_FIELDS_MAX: Final = 100
"""Fields of an `ai` type, with those of objects inside it."""

SIGNATURES: Final = {
    "classify": "classify(texts, labels, {instructions: …})",
    "ai": "ai(instruction, data, {type: …})",
}
OPTIONS: Final = {"classify": ("instructions",), "ai": ("type",)}

TEXTS_WANTED: Final = "an array of strings"
LABELS_WANTED: Final = f"an array of {LABELS_MIN} to {LABELS_MAX} labels, or a yes/no question as a string"
LABEL_WANTED: Final = f"a string of 1 to {LABEL_CHARACTERS_MAX} characters"
TYPE_WANTED: Final = '"string", "number", "boolean", an object of fields such as {city: "string"}, or [type] for a list'
PROBLEMS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class ClassifyCall:
    """A call of `classify`. `missing` are the places of the texts that are null: `unknown` without being asked."""

    question: ClassifyQuestion
    missing: frozenset[int] = frozenset()

    def value(self, labels: Sequence[str]) -> JsonValue:
        """What the program gets for the labels of the question's texts: one label for each text, and the counts."""
        given = iter(labels)
        total = len(self.question.texts) + len(self.missing)
        found = [UNKNOWN if place in self.missing else next(given) for place in range(total)]
        counts = dict.fromkeys([*self.question.labels, UNKNOWN], 0)
        for label in found:
            counts[label] += 1
        return {"labels": found, "counts": counts}


@dataclass(frozen=True, slots=True)
class AiCall:
    """A call of `ai`."""

    question: AiQuestion


@dataclass(frozen=True, slots=True)
class BadJudgeCall:
    """The arguments make no question. Problems are as those of functions, in the form of `ports.BadArguments`."""

    problems: tuple[JsonObject, ...]


JudgeCall: TypeAlias = ClassifyCall | AiCall


def judge_call(function: str, args: JsonObject) -> JudgeCall | BadJudgeCall:
    """The question of one call, whose arguments have the names that the sandbox gives them."""
    return _classify(args) if function == "classify" else _ai(args)


def folded_label(label: str) -> str:
    """What two labels must not share: an answer is matched to its label by no more than this."""
    return " ".join(unicodedata.normalize("NFC", label).casefold().split())


def close_type(word: str) -> str:
    """The type that somebody writing this word may have meant; "" when there is none."""
    if word.lower() in _OTHER_WORDS:
        return _OTHER_WORDS[word.lower()]
    return next(iter(get_close_matches(word.lower(), TYPE_WORDS, n=1)), "")


# --- classify ----------------------------------------------------------------------------


def _classify(args: JsonObject) -> ClassifyCall | BadJudgeCall:
    problems: list[JsonObject] = []
    texts, missing = _texts(args, problems)
    asked = args.get("labels")
    labels = YES_NO if isinstance(asked, str) else _labels(args, problems)
    if isinstance(asked, str) and not asked.strip():
        problems.append(problem("/labels", "must say what is asked, not an empty string", LABELS_WANTED))
    instructions = _option("classify", args, problems)
    if instructions is not None and not isinstance(instructions, str):
        problems.append(_wrong("/options/instructions", "a string", instructions))
    if problems:
        return BadJudgeCall(tuple(problems[:PROBLEMS_MAX]))
    question = ClassifyQuestion(
        texts=texts,
        labels=labels,
        question=asked if isinstance(asked, str) else "",
        instructions=instructions or "",
    )
    return ClassifyCall(question, missing)


def _texts(args: JsonObject, problems: list[JsonObject]) -> tuple[tuple[str, ...], frozenset[int]]:
    given = args.get("texts")
    if not isinstance(given, list):
        problems.append(_wrong("/texts", TEXTS_WANTED, given, missing="texts" not in args))
        return (), frozenset()
    texts: list[str] = []
    missing: set[int] = set()
    for index, item in enumerate(given):
        if item is None:
            missing.add(index)
        elif (text := _text(item)) is not None:
            texts.append(text)
        elif len(problems) < PROBLEMS_MAX:
            problems.append(_wrong(f"/texts/{index}", "a string", item))
    return tuple(texts), frozenset(missing)


def _text(item: JsonValue) -> str | None:
    """A text, or a number as its text; None for what is neither."""
    if isinstance(item, str):
        return item
    if isinstance(item, int | float) and not isinstance(item, bool) and math.isfinite(item):
        return json.dumps(item)
    return None


def _labels(args: JsonObject, problems: list[JsonObject]) -> tuple[str, ...]:
    given = args.get("labels")
    if not isinstance(given, list):
        problems.append(_wrong("/labels", LABELS_WANTED, given, missing="labels" not in args))
        return ()
    if not LABELS_MIN <= len(given) <= LABELS_MAX:
        problems.append(_wrong("/labels", LABELS_WANTED, given))
        return ()
    first: dict[str, int] = {}
    for index, label in enumerate(given):
        if not isinstance(label, str) or not label.strip() or len(label) > LABEL_CHARACTERS_MAX:
            problems.append(_wrong(f"/labels/{index}", LABEL_WANTED, label))
            continue
        earlier = first.setdefault(folded_label(label), index)
        if earlier != index:
            message = f"must differ from label {earlier} by more than case and spaces"
            problems.append(problem(f"/labels/{index}", message, "a label of its own"))
    return tuple(label for label in given if isinstance(label, str))


# --- ai ----------------------------------------------------------------------------------


def _ai(args: JsonObject) -> AiCall | BadJudgeCall:
    problems: list[JsonObject] = []
    instruction = args.get("instruction")
    if not isinstance(instruction, str) or not instruction.strip():
        wanted = "a string that says what to do"
        problems.append(_wrong("/instruction", wanted, instruction, missing="instruction" not in args))
    if "data" not in args:
        problems.append(problem("/data", "is missing, or undefined", "any value"))
    asked = _option("ai", args, problems)
    if asked is None and isinstance(args.get("options") or {}, dict):
        problems.append(problem("/options/type", "is missing", TYPE_WANTED))
    schema = None if asked is None else _Types(problems).schema(asked, ("options", "type"))
    if problems or schema is None:
        return BadJudgeCall(tuple(problems[:PROBLEMS_MAX]))
    return AiCall(AiQuestion(instruction=str(instruction), data=args["data"], type=schema))


class _Types:
    """Makes JSON Schemas of the types that `ai` is given. Adds what is wrong to `problems`."""

    def __init__(self, problems: list[JsonObject]) -> None:
        self._problems = problems
        self._fields = 0

    def schema(self, asked: JsonValue, path: tuple[str | int, ...]) -> JsonObject | None:
        if isinstance(asked, str) and asked in TYPE_WORDS:
            return {"type": asked}
        if isinstance(asked, str):
            close = close_type(asked)
            hint = f'; did you mean "{close}"?' if close else f": {TYPE_WANTED}"
            self._refuse(path, f"must be a known type{hint}")
            return None
        if isinstance(asked, dict) and asked:
            return self._object(asked, path)
        if isinstance(asked, list) and len(asked) == 1:
            items = self.schema(asked[0], (*path, 0)) if self._fits(path) else None
            return None if items is None else {"type": "array", "items": items}
        self._refuse(path, f"must be {TYPE_WANTED}, not {shape(asked)}")
        return None

    def _object(self, asked: JsonObject, path: tuple[str | int, ...]) -> JsonObject | None:
        self._fields += len(asked)
        if not self._fits(path):
            return None
        fields = {name: self.schema(inner, (*path, name)) for name, inner in asked.items()}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    def _fits(self, path: tuple[str | int, ...]) -> bool:
        if len(path) - 2 >= TYPE_DEPTH_MAX:
            self._refuse(path, f"must be no deeper than {TYPE_DEPTH_MAX} levels")
            return False
        if self._fields > TYPE_FIELDS_MAX:
            self._refuse(path, f"must have no more than {TYPE_FIELDS_MAX} fields")
            return False
        return True

    def _refuse(self, path: tuple[str | int, ...], message: str) -> None:
        self._problems.append(problem(make_pointer(path), message, TYPE_WANTED))


# --- both --------------------------------------------------------------------------------


def _option(function: str, args: JsonObject, problems: list[JsonObject]) -> JsonValue:
    """The value of the function's one option; None where it is not given."""
    (name,) = OPTIONS[function]
    options = args.get("options")
    if options is None:
        return None
    if not isinstance(options, dict):
        problems.append(_wrong("/options", f"an object with `{name}`", options))
        return None
    problems.extend(
        problem(make_pointer(["options", key]), f"is not known here; the option is {name}", "nothing")
        for key in options
        if key != name
    )
    return options.get(name)


def _wrong(at: str, wanted: str, value: JsonValue, *, missing: bool = False) -> JsonObject:
    return problem(at, "is missing" if missing else f"must be {wanted}, not {shape(value)}", wanted)

"""The prompts of the judge: texts to be labelled, and small tasks on data."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.model import Message
from vardy_worker.prompts.template import template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject, JsonValue

HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ue000-\uf8ff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
"""Controls, what is invisible, ends lines in some readers or turns the direction of writing, and private characters.

The two joiners are none of them, nor is the selector of emoji: Persian and emoji are written with them.
"""


def classify_prompt(
    *, labels: Sequence[str], question: str, instructions: str, texts: Sequence[tuple[str, str]]
) -> tuple[Message, ...]:
    """A system message for all batches of one question, and a user message with (id, text) of one batch.

    `question` is not empty for one of yes and no; then the labels are not listed.
    """
    parts = {"rules", "question" if question else "labels", "answer"} | ({"instructions"} if instructions else set())
    lines = [visible_json({"id": text_id, "text": text}) for text_id, text in texts]
    values = {
        "labels": visible_json(list(labels)),
        "question": visible_json(question),
        "instructions": visible_json(instructions),
        "texts": "\n".join(lines),
        "count": str(len(lines)),
    }
    return (
        Message(role="system", content=template("classify").fill(values, parts=frozenset(parts))),
        Message(role="user", content=template("classify").fill(values, parts=frozenset({"texts"}))),
    )


def ai_prompt(*, instruction: str, data: JsonValue, type_: JsonObject) -> tuple[Message, ...]:
    """A system message for one task and type, and a user message with the data."""
    values = {"instruction": visible_json(instruction), "type": visible_json(type_), "data": visible_json(data)}
    return (
        Message(role="system", content=template("ai").fill(values, parts=frozenset({"rules"}))),
        Message(role="user", content=template("ai").fill(values, parts=frozenset({"data"}))),
    )


def ai_again_prompt(messages: Sequence[Message], answer: str, problem: str) -> tuple[Message, ...]:
    """The same, continued by an answer that did not do and what was wrong with it."""
    again = template("ai").fill({"problem": problem}, parts=frozenset({"again"}))
    return (*messages, Message(role="assistant", content=answer), Message(role="user", content=again))


def visible_json(value: JsonValue) -> str:
    """JSON in one line in which every character can be seen, and no tag or chat template's mark can be written."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return HIDDEN.sub(lambda found: _escaped(found[0]), text).replace("<", "\\u003c")


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if character > "\x7f" else f"\\u{ord(character):04x}"

"""What the scripted model answers as a judge: labels by words, for the topics of the demo's tickets.

It is no language model here either. A text gets the one topic whose words it has; with words
of none or of several topics, and for every other question, it is `unknown`. It knows no `ai`.
"""

from __future__ import annotations

import json
from typing import Final

TOPICS: Final = {
    "delivery": ("parcel", "arrived", "deliver", "courier"),
    "wrong product": ("wrong", "instead of", "i ordered"),
    "faulty product": ("leak", "broken", "noise", "does not work"),
    "billing": ("invoice", "price", "cost", "refund"),
    "account": ("address", "password", "account"),
}
"""Each topic and the words that tell it."""

UNKNOWN: Final = "unknown"
NO_TASKS: Final = "I am the scripted model of Vardy's demo, not a language model: I do no tasks on data."


def answer_as_judge(messages: list[tuple[str, str]]) -> str | None:
    """The answer to a question of the judge's; None for a conversation that is none."""
    asked = messages[-1][1] if messages else ""
    if any(content.startswith("<data>\n") for role, content in messages if role == "user"):
        return NO_TASKS
    if not asked.startswith("<texts>\n"):
        return None
    lines = asked.partition("\n")[2].partition("\n</texts>")[0].splitlines()
    labels = _labels(messages[0][1])
    texts = [json.loads(line) for line in lines]
    return json.dumps({text["id"]: _label(text["text"], labels) for text in texts})


def _labels(system: str) -> list[str]:
    """The labels of the question; empty for one of yes and no."""
    listed = system.partition("# Labels\n\n")[2].partition("\n")[0]
    labels: list[str] = json.loads(listed) if listed else []
    return labels


def _label(text: str, labels: list[str]) -> str:
    said = text.casefold()
    found = [label for label in labels if any(word in said for word in TOPICS.get(label, ()))]
    return found[0] if len(found) == 1 else UNKNOWN

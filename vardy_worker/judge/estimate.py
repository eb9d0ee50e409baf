"""How many tokens a call may take, told before it is made."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.model import Message

TOKENS_PER_CHARACTER: Final = (
    # Prose comes to 0.2 to 0.3. Whatever stands between words may be a token of its own.
    (re.compile("[A-Za-z ]+"), 0.4),
    (re.compile("[\x00-\u07ff]+"), 1.0),
    # Scripts of India and its neighbours, of which the older tokenizers know little.
    (re.compile("[\u0800-\u1fff]+"), 2.2),
    (re.compile("[\u2000-\uffff]+"), 1.5),
    (re.compile("[\U00010000-\U0010ffff]+"), 4.0),
)
"""Characters by their kind, the first that fits; each is more than `cl100k_base` takes for prose."""

MESSAGE_TOKENS: Final = 8
"""What a chat message has beside its text."""


def tokens_of(text: str) -> int:
    """At most so many tokens, for prose of any script and for data; nonsense may take more."""
    tokens, rest = 0.0, text
    for kind, each in TOKENS_PER_CHARACTER:
        other = kind.sub("", rest)
        tokens += each * (len(rest) - len(other))
        rest = other
    return math.ceil(tokens)


def tokens_of_messages(messages: Sequence[Message]) -> int:
    """The same for a conversation."""
    return sum(MESSAGE_TOKENS + tokens_of(message.content) for message in messages)

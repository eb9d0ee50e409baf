"""How many tokens a call may take, told before it is made."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.model import Message

CHARACTERS_PER_TOKEN: Final = 2.5
"""Of Latin letters and spaces. Tokenizers in use come to 3.5 to 5 in prose."""

WIDE_BYTES_PER_TOKEN: Final = 2
"""UTF-8 bytes of everything that is not ASCII. Cyrillic, Arabic and Chinese come to 2 to 6."""

MESSAGE_TOKENS: Final = 8
"""What a chat message has beside its text."""

_PLAIN: Final = re.compile("[A-Za-z ]+")


def tokens_of(text: str) -> int:
    """At most so many tokens, for prose of any script and for data; nonsense may take more.

    Each digit, sign and line end counts as one.
    """
    other = _PLAIN.sub("", text)
    narrow = len(other.encode("ascii", "ignore"))
    wide = len(other.encode("utf-8", "replace")) - narrow
    return math.ceil((len(text) - len(other)) / CHARACTERS_PER_TOKEN + narrow + wide / WIDE_BYTES_PER_TOKEN)


def tokens_of_messages(messages: Sequence[Message]) -> int:
    """The same for a conversation."""
    return sum(MESSAGE_TOKENS + tokens_of(message.content) for message in messages)

"""Texts that look as if they speak to a model are kept apart from the others.

No list of words can tell an attack, and none has to: a text that is found here is judged like
any other, only in the company of its like. So a model that follows it can mislabel those.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from vardy_worker.prompts.judge import HIDDEN

_FORMAT: Final = re.compile(
    r"""```|~~~|<\s{0,9}[/|]?\s{0,9}[a-z]|\[/?(?:inst|think|sys)\b|\{\s{0,9}["']|["']\s{0,9}:|</s>|^\s{0,9}\#{1,6}\s
    |\b(?:system|assistant|user|developer|human)\s{0,9}:""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
"""Fences, tags, JSON, headings, and roles of a conversation."""

_WORDS: Final = re.compile(
    r"""\b(?:ignore|disregard|forget|override|obey|pretend|jailbreak|prompts?|instructions?|classif\w+|labels?|labell?ed
    |ids?|json|assistant|gpt|llm|chatbot|language\ model|categor\w+|ignorier\w*|anweisung\w*|ignora\w*|instruc\w+
    |ignorez?|consignes?|игнорир\w+|инструкци\w+)\b|忽略|指示|指令|标签|無視|ラベル|무시|지시|تجاهل|تعليمات""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words of orders to a model, in some languages. Customers use a few of them, too, and lose nothing by it."""

LONG_CHARACTERS: Final = 2_000
"""What is longer has room for more than a message."""


def may_address_a_model(text: str) -> bool:
    """Whether a text has the form or the words of something that is said to a model."""
    if len(text) > LONG_CHARACTERS or HIDDEN.search(text):
        return True
    # Compatibility forms, such as fullwidth letters, are read as what they stand for.
    plain = unicodedata.normalize("NFKC", text)
    return bool(_FORMAT.search(plain) or _WORDS.search(plain))

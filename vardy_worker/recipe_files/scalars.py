"""What one scalar of YAML means as JSON, and how a JSON scalar is written so that no reader takes it for another."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonValue

_CORE: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, JsonValue]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_OTHER_NUMBER: Final = re.compile(r"[-+]?0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?")
"""Numbers of YAML 1.2 that JSON has not; those of YAML 1.1 the resolver knows."""
_YAML_1_1: Final = yaml.resolver.Resolver()
_DIGITS_MAX: Final = 1000

_PLAIN: Final = re.compile(r"[^\W\d_](?:[\w .,;()/+'!?%&=-]|:(?=[^ ]))*(?<![ :])")
_PLAIN_IN_FLOW: Final = re.compile(r"[^\W\d_](?:[\w .()/+'-])*(?<! )")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class AmbiguousScalarError(ValueError):
    """A plain text that is one thing to some readers of YAML and another thing to others, or no JSON."""


def plain_value(text: str) -> JsonValue:
    """What a scalar without quotes means: as in JSON, and a text otherwise.

    Raises `AmbiguousScalarError` for what the versions of YAML take for different things (`no`,
    `012`, `1_000`, `12:30`), and for numbers that JSON or a 64-bit float does not hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return _number(text)
    shown = text[:50]
    if (tag := _tag(text)) == "bool":
        message = f'`{shown}` is a truth value to some readers and a text to others: write "{shown}", or true or false'
        raise AmbiguousScalarError(message)
    if tag not in {"str", "timestamp"} or _OTHER_NUMBER.fullmatch(text):
        message = f'`{shown}` is read in more than one way: write a text as "{shown}", a number as JSON does'
        raise AmbiguousScalarError(message)
    return text


def _tag(text: str) -> str:
    """What YAML 1.1 takes a plain scalar for: `str`, `bool`, `int` and so on."""
    tag: str = _YAML_1_1.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call] # the stubs leave it untyped
    return tag.removeprefix(_CORE)


def _number(text: str) -> JsonValue:
    if len(text) > _DIGITS_MAX:
        message = f"a number has at most {_DIGITS_MAX} digits"
        raise AmbiguousScalarError(message)
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if math.isinf(number) or Decimal(text) != Decimal(repr(number)):
        message = f'`{text[:50]}` is more than a number can hold exactly: write it as a text, "{text[:50]}"'
        raise AmbiguousScalarError(message)
    return number


def spelled(value: JsonValue, *, in_flow: bool = False) -> str:
    """A JSON scalar as YAML: unmistakable in every version of it, and without `*/`, which would end the comment."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # Without a dot, an exponent makes it a text to readers of YAML 1.1.
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    return str(value) if _is_plain(value, in_flow=in_flow) else quoted(value)


def _is_plain(text: str, *, in_flow: bool = False) -> bool:
    pattern = _PLAIN_IN_FLOW if in_flow else _PLAIN
    if not pattern.fullmatch(text):
        return False
    try:
        return plain_value(text) == text and _tag(text) == "str"
    except AmbiguousScalarError:
        return False


def is_shown(text: str) -> bool:
    """Whether every character can be seen by whoever reads the file, blanks included."""
    return text.isprintable()


def quoted(text: str) -> str:
    """A text in double quotes; what cannot be seen, or could deceive a reader, is escaped."""
    return '"' + "".join(_escaped(sign) for sign in text).replace("*/", "*\\/") + '"'


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    code = ord(sign)
    return f"\\U{code:08X}" if code > 0xFFFF else f"\\u{code:04X}"  # noqa: PLR2004 - what four digits hold

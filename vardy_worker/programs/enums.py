"""TypeScript enums as constant objects."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from vardy_worker.programs.sheet import Edit
from vardy_worker.programs.syntax import string_value

if TYPE_CHECKING:
    from vardy_worker.programs.nodes import Node


def enum_as_object(enum: Node) -> list[Edit] | str:
    """The edits that make `enum A { B = 1, C }` the object `A`; or a sentence why not.

    Every member stays on its line. Numbers get their way back (`A[1]` is `"B"`), as in
    TypeScript. Members whose value is computed have no plain form.
    """
    name, body = enum.get("name"), enum.get("body")
    if name is None or body is None:
        return "This enum has no name or no members."
    edits = [Edit(enum.start, name.end, f"const {name.text} ="), Edit(body.end, body.end, ";")]
    following: int | None = 0
    for member in body.named_children():
        key = member.get("name") if member.kind == "enum_assignment" else member
        value = member.get("value") if member.kind == "enum_assignment" else None
        if key is None or key.kind == "computed_property_name":
            return f"The enum `{name.text}` has a computed member."
        key_text = string_value(key) if key.kind == "string" else key.text
        if value is None:
            if following is None:
                return f"The member `{key_text}` of the enum `{name.text}` needs a value."
            number: int | None = following
        else:
            number = _whole(value)
            if number is None and value.kind not in {"string", "template_string", "number"}:
                return f"The member `{key_text}` of the enum `{name.text}` is computed."
        shown = value.text if value is not None else str(number)
        back = f", {dumps(str(number))}: {dumps(key_text)}" if number is not None else ""
        edits.append(Edit(member.start, member.end, f"{key.text}: {shown}{back}"))
        following = number + 1 if number is not None else None
    return edits


def _whole(value: Node) -> int | None:
    text = value.text.replace("_", "")
    if value.kind not in {"number", "unary_expression"}:
        return None
    try:
        return int(text, 0)
    except ValueError:
        return None

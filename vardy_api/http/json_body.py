"""Bodies: JSON as RFC 8259 has it, and nothing that only Python's parser would take."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi.routing import APIRoute

from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request
    from starlette.responses import Response

    from vardy_worker.contracts.base import JsonValue

JSON_DEPTH_MAX = 64
"""Objects and arrays within each other."""


def _malformed(message: str, **details: int) -> RequestError:
    return RequestError(message, code="request.malformed", details=details)


def _no_constant(name: str) -> NoReturn:
    raise _malformed(f"JSON has no {name}.")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _malformed("A number in the body is too large.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _malformed("An object in the body has the same key twice.")
    return found


def _depth_within(value: JsonValue, levels: int) -> bool:
    layer = [value]
    for _ in range(levels + 1):
        layer = [
            inner
            for item in layer
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not layer:
            return True
    return False


def parse_json(content: bytes) -> JsonValue:
    """The value of a JSON text. Raises `RequestError` `request.malformed`, which repeats nothing of it.

    Refused beyond plain syntax errors: NaN and infinite numbers, duplicate keys, lone
    surrogates, more than `JSON_DEPTH_MAX` levels, integers of thousands of digits.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _malformed("The body is not UTF-8.", byte=error.start) from None
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        raise _malformed(message, line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _malformed(f"The body nests deeper than {JSON_DEPTH_MAX} levels.") from None
    except ValueError:
        raise _malformed("An integer in the body has too many digits.") from None
    if not _depth_within(value, JSON_DEPTH_MAX):
        raise _malformed(f"The body nests deeper than {JSON_DEPTH_MAX} levels.")
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _malformed("A string in the body has half of a surrogate pair.") from None
    return value


class JsonRoute(APIRoute):
    """A route whose body is parsed strictly, before the framework looks at it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler behind the strict parser."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            content = await request.body()
            if content:
                media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if media_type != "application/json":
                    raise _malformed("Send the body as JSON, with Content-Type: application/json.")
                # The framework takes what the request has cached instead of parsing again.
                request._json = parse_json(content)  # noqa: SLF001 - its cache has no public name
            return await inner(request)

        return handle

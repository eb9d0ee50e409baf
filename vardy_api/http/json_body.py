"""The routes of `/v1`, and their bodies: JSON as RFC 8259 has it, and nothing that only Python's parser would take."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any, NoReturn

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from vardy_api.http.auth import authenticate
from vardy_api.http.entity_tags import conditional
from vardy_api.http.header_lines import join_lines
from vardy_api.http.known_query import KnownQuery
from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pydantic_core import ErrorDetails
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.responses import Response

    from vardy_worker.contracts.base import JsonValue

MEDIA_TYPE = "application/json"
JSON_DEPTH_MAX = 64
"""Objects and arrays within each other."""
JSON_BRACKETS_MAX = 100_000
"""Those that open an object or an array, in texts too. Half a million empty arrays would take a second to read."""
MISFITS_MAX = 1000
"""Values of a body that do not fit its shape and are looked at one by one: of half a million it takes seconds."""
INLINE_BYTES_MAX = 16 * 1024
"""Larger bodies are parsed by a thread, so that other requests do not wait for it."""


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
    if content.count(b"[") + content.count(b"{") > JSON_BRACKETS_MAX:
        raise _malformed(f"The body has more than {JSON_BRACKETS_MAX} objects and arrays.")
    if content.startswith(BOM_UTF8):
        raise _malformed("The body begins with a byte order mark; send it without.")
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


def typed_json(shape: TypeAdapter[Any], content: bytes) -> JsonValue:
    """The value of a JSON text whose types are those of the shape, without being turned into them: `0` is not `false`.

    Raises as `parse_json` does, and `RequestValidationError`; `request.invalid` for more than `MISFITS_MAX` misfits.
    """
    value = parse_json(content)
    try:
        shape.validate_json(content, strict=True)
    except ValidationError as error:
        if error.error_count() > MISFITS_MAX:
            message = f"The body has {error.error_count()} values that do not fit."
            raise RequestError(message, details={"problems": [{"at": "", "message": message}]}) from None
        wrong = [each for each in error.errors(include_url=False, include_context=False) if not _is_whole(each)]
        if wrong:
            raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in wrong]) from None
    return value


def _is_whole(error: ErrorDetails) -> bool:
    """Whether it is about a whole number that is written with a fraction of 0, which JSON does not tell apart."""
    given = error["input"]
    return error["type"] == "int_type" and isinstance(given, float) and given.is_integer()


async def _parsed(shape: TypeAdapter[Any], content: bytes) -> JsonValue:
    if len(content) > INLINE_BYTES_MAX:
        return await run_in_threadpool(typed_json, shape, content)
    return typed_json(shape, content)


def _media_type(message: str) -> RequestError:
    return RequestError(message, code="request.media_type", details={"accept": MEDIA_TYPE})


def check_media_type(headers: Headers) -> None:
    """Raises `RequestError` `request.media_type` unless the headers say: JSON, in UTF-8, as it is."""
    said = EmailMessage()
    said["content-type"] = headers.get("content-type", "text/plain")
    if said.get_content_type() != MEDIA_TYPE:
        raise _media_type(f"Send the body as JSON, with Content-Type: {MEDIA_TYPE}.")
    if str(said.get_param("charset", "utf-8")).lower() not in {"utf-8", "utf8", "us-ascii"}:
        raise _media_type("Send the body in UTF-8; JSON has no other encoding.")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _media_type("Send the body as it is, without Content-Encoding.")


class JsonRoute(APIRoute):
    """A route of `/v1`, as all of them are: who calls comes first, then the query, then the body.

    The body is parsed strictly, before the framework looks at it; where the route takes none it is
    not looked at. What is read has an entity tag.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler behind these checks."""
        inner = super().get_route_handler()
        query = KnownQuery(self.dependant)
        body: Any = None if self.body_field is None else self.body_field.field_info.annotation
        shape = None if body is None else TypeAdapter[Any](body)

        async def handle(request: Request) -> Response:
            join_lines(request.scope)
            await authenticate(request)
            query.check(request.query_params)
            if shape is not None and (content := await request.body()):
                check_media_type(request.headers)
                # The framework takes what the request has cached instead of parsing again.
                request._json = await _parsed(shape, content)  # noqa: SLF001 - its cache has no public name
            return conditional(request, await inner(request))

        return handle

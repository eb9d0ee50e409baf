"""What `Vardy` and `AsyncVardy` have in common on the way to the service, apart from blocking or awaiting."""

from __future__ import annotations

import os
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

import httpx

from vardy_api.client_calls import Reply
from vardy_api.client_errors import ClientError
from vardy_api.client_flows import Lost, Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from httpx_sse import ServerSentEvent

    from vardy_api.client_calls import Call
    from vardy_api.shapes import Via

PORT_MAX = 65535
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""How long an answer may take beyond the time it is held back on purpose."""
SILENCE_SECONDS = 40.0
"""How long a stream may say nothing; the service sends something at least every 15 s."""
NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
EVENT_STREAM = "text/event-stream"

UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=20)
"""As many connections as calls are under way: each one that waits for a job holds one."""


def address(url: str | None) -> str:
    """The address of the service, without a slash at its end. Raises `ClientError` for none."""
    given = url or os.environ.get("VARDY_URL") or "http://127.0.0.1:8000"
    try:
        parsed = httpx.URL(given)
    except (httpx.InvalidURL, TypeError) as error:
        raise ClientError(f"The address cannot be read: {str(error).rstrip('.')}.", code="client.bad_url") from error
    if parsed.userinfo:
        raise ClientError("The address names a user; give the key as api_key instead.", code="client.bad_url")
    if parsed.scheme not in {"http", "https"} or not parsed.host or (parsed.port or 1) > PORT_MAX:
        raise ClientError(f"{given!r} is not an http or https address.", code="client.bad_url")
    if parsed.query or parsed.fragment:
        raise ClientError("The address ends in a query or a fragment; leave it out.", code="client.bad_url")
    return given.rstrip("/?#")


@contextmanager
def usable_environment() -> Iterator[None]:
    """Raises `ClientError` for proxies and certificates that the environment names and no connection can use."""
    try:
        yield
    except (httpx.InvalidURL, ValueError, ImportError) as error:
        msg = f"A proxy that the environment names cannot be used: {error}"
        raise ClientError(msg, code="client.bad_url") from error
    except OSError as error:
        msg = f"The certificates that the environment names cannot be read: {error.strerror}."
        raise ClientError(msg, code="client.tls") from error


def trust(url: str) -> ssl.SSLContext | bool:
    """Whom to trust. For an http address without a proxy over TLS it is nobody.

    Reading the certificates of authorities takes longer than all else that a client does at its start.
    """
    over_tls = url.startswith("https:") or any(proxy.startswith("https:") for proxy in getproxies().values())
    return True if over_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def key_headers(api_key: str | None, via: Via) -> dict[str, str]:
    """The headers of every request. Raises `ClientError` for what is no key."""
    given = os.environ.get("VARDY_API_KEY", "") if api_key is None else api_key
    key = given.strip() if isinstance(given, str) else None
    if key is None or not (key.isascii() and key.isprintable()):
        raise ClientError("The API key has characters that no key has.", code="auth.invalid")
    headers = {"User-Agent": "vardy-python", "Accept": "application/json", "Vardy-Via": via}
    return headers | ({"Authorization": f"Bearer {key}"} if key else {})


def request_options(call: Call[Any]) -> dict[str, Any]:
    """The arguments of httpx for a call."""
    headers = dict(call.headers)
    if call.content is not None:
        headers["Content-Type"] = "application/json"
    timeout = httpx.Timeout(ANSWER_SECONDS + call.wait_seconds, connect=CONNECT_SECONDS)
    return {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "headers": headers,
        "content": call.content,
        "timeout": timeout,
    }


def stream_options(call: Call[Any]) -> dict[str, Any]:
    """The same for one that opens a stream."""
    return request_options(call) | {"timeout": httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)}


def is_stream(response: httpx.Response) -> bool:
    """Whether an answer is a stream of events."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.status_code == httpx.codes.OK and kind == EVENT_STREAM


def as_reply(response: httpx.Response) -> Reply:
    """An answer that was read to its end."""
    return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)


def as_message(event: ServerSentEvent) -> Message:
    """One message of a stream."""
    return Message(id=event.id, type=event.event, data=event.data, retry_ms=event.retry)


def lost(error: httpx.RequestError, url: str) -> Lost:
    """What a broken connection means. Raises `ClientError` for an address that will never work."""
    if isinstance(error, httpx.UnsupportedProtocol):
        raise ClientError(f"{url} is not an http or https address.", code="client.bad_url") from error
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            msg = f"The certificate of {url} is not trusted here: {cause.verify_message}."
            raise ClientError(msg, code="client.tls") from error
        if isinstance(cause, ssl.SSLError) and isinstance(error, httpx.ConnectError):
            msg = f"{url} answers, but not with TLS that this machine takes; is it an http address?"
            raise ClientError(msg, code="client.tls") from error
    reason = f"The Vardy API at {url} cannot be reached ({type(error).__name__}); is it running?"
    return Lost(reason, arrived=not isinstance(error, NEVER_ARRIVED), silent=isinstance(error, httpx.ReadTimeout))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__

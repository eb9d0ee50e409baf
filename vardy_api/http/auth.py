"""Who calls and from where, from the headers of the request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from vardy_api.operations.caller import Caller
from vardy_api.operations.facade import Operations
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from starlette.datastructures import Headers

_bearer = HTTPBearer(
    scheme_name="ApiKey",
    bearerFormat="vk_<key id>_<secret>",
    description="An API key of Vardy, as a bearer token.",
    auto_error=False,
)


async def operations(request: Request) -> Operations:
    """The use cases of this application."""
    found: Operations = request.app.state.operations
    return found


UseCases = Annotated[Operations, Depends(operations)]


def bearer_token(headers: Headers) -> str:
    """The token of the one header Authorization; "" without one, or with another scheme.

    Raises `RequestError` `auth.invalid` for several: a proxy, and whoever reads the log of one,
    may have taken another of them than Vardy would.
    """
    given = headers.getlist("authorization")
    if len(given) > 1:
        raise RequestError("Send the header Authorization once.", code="auth.invalid")
    scheme, _, token = "".join(given).strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def authenticate(request: Request) -> None:
    """Finds out who calls, before anything else of the request is looked at. Raises `RequestError`."""
    use = await operations(request)
    caller = await run_in_threadpool(use.admission.admit, bearer_token(request.headers))
    via = "cli" if request.headers.get("vardy-via", "").strip().lower() == "cli" else "api"
    request.state.caller = replace(caller, via=via, address=request.client.host if request.client else "")


async def _caller(
    request: Request,
    _bearer: Annotated[object, Depends(_bearer)],
    _vardy_via: Annotated[
        str, Header(alias="Vardy-Via", description="`cli` for a request of the command line.")
    ] = "api",
) -> Caller:
    found: Caller = request.state.caller
    return found


async def require_operator(request: Request, use: Operations) -> None:
    """Raises `RequestError` unless the request has a valid key with `operate` or `admin`."""
    caller = await run_in_threadpool(use.admission.admit, bearer_token(request.headers))
    caller.need(Scope.OPERATE, Scope.ADMIN)


Authenticated = Annotated[Caller, Depends(_caller)]
"""The caller of a route; without a valid key the answer is 401."""

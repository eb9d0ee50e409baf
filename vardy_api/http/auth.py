"""Who calls and from where, from the headers of the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool

from vardy_api.operations.caller import Caller
from vardy_api.operations.facade import Operations

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


async def _caller(
    request: Request,
    use: UseCases,
    _: Annotated[object, Depends(_bearer)],
    vardy_via: Annotated[str, Header(description="`cli` for a request of the command line.")] = "api",
) -> Caller:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    caller = await run_in_threadpool(
        use.authentication.authenticate, token.strip() if scheme.lower() == "bearer" else ""
    )
    via = "cli" if vardy_via.strip().lower() == "cli" else "api"
    return replace(caller, via=via, address=request.client.host if request.client else "")


Authenticated = Annotated[Caller, Depends(_caller)]
"""The caller of a route; without a valid key the answer is 401."""

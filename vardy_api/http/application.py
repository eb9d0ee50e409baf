"""The HTTP application over the use cases."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect

from vardy_api.http import (
    routes_admin,
    routes_audit,
    routes_erasure,
    routes_events,
    routes_jobs,
    routes_library,
    routes_recipes,
    routes_rules,
    routes_run,
    routes_service,
    routes_verbs,
)
from vardy_api.http.answer_examples import answer_examples
from vardy_api.http.description import describe
from vardy_api.http.forwarded import TrustedProxies
from vardy_api.http.leaving import nobody_left
from vardy_api.http.methods import HeadIsGet
from vardy_api.http.metrics import HttpMetrics, StoreMetrics
from vardy_api.http.middleware import BODY_SECONDS_MAX, BodyLimit, Measure, SecurityHeaders, UnexpectedErrors
from vardy_api.http.problems import install_problem_handlers
from vardy_api.http.reference import add_reference
from vardy_api.shapes import EventView, Problem
from vardy_worker.contracts.plan import PlanBody

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from vardy_api.operations.facade import Operations

DESCRIPTION = (
    "Submit jobs, look at plans, decide on them, and repair commits. Every error is an "
    "application/problem+json document of one shape; its `code` is stable."
)


class Api(FastAPI):
    """The application. `stop_waiting` lets held-back requests answer at once, from any thread."""

    _loop: asyncio.AbstractEventLoop | None = None

    def began(self, loop: asyncio.AbstractEventLoop) -> None:
        """Remembers the loop that the application is served in."""
        self._loop = loop

    def stop_waiting(self) -> None:
        """Ends every wait; safe to call from a signal handler."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.state.operations.held.stop)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI 3.1 document, with the shapes that routes refer to by name."""
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for model in (Problem, PlanBody, EventView):
                schema = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
                schemas.update(schema.pop("$defs", {}))
                schemas[model.__name__] = schema
            _drop_framework_errors(document)
            describe(document, answer_examples())
        return self.openapi_schema or {}


def _drop_framework_errors(document: dict[str, Any]) -> None:
    """Takes out the framework's own shape of a 422: no route answers it."""
    for unused in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(unused, None)
    for methods in document["paths"].values():
        for route in methods.values():
            if "application/json" in route["responses"].get("422", {}).get("content", {}):
                del route["responses"]["422"]


def make_app(
    operations: Operations,
    *,
    request_bytes_max: int,
    trusted_proxies: Sequence[str] = (),
    metrics_key_needed: bool = False,
    body_seconds_max: float = BODY_SECONDS_MAX,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
) -> Api:
    """The application. Nothing is started: `lifespan` is what runs around its serving."""
    metrics = HttpMetrics(polls=lambda: operations.held.polls, streams=lambda: len(operations.held.streams))
    metrics.registry.register(StoreMetrics(operations.service))
    app = Api(
        title="Vardy",
        version=version("vardy"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        # The outermost first. What BodyLimit or the routes answer gets headers and is measured.
        middleware=[
            Middleware(Measure, metrics=metrics),
            Middleware(TrustedProxies, trusted=trusted_proxies),
            Middleware(SecurityHeaders),
            Middleware(HeadIsGet),
            Middleware(UnexpectedErrors),
            Middleware(BodyLimit, bytes_max=request_bytes_max, seconds_max=body_seconds_max),
        ],
    )
    app.state.operations = operations
    app.state.metrics = metrics
    app.state.metrics_key_needed = metrics_key_needed
    app.add_exception_handler(ClientDisconnect, nobody_left)
    routers = [
        routes_run,
        routes_jobs,
        routes_events,
        routes_verbs,
        routes_erasure,
        routes_library,
        routes_recipes,
        routes_rules,
        routes_admin,
        routes_audit,
        routes_service,
    ]
    for routes in routers:
        app.include_router(routes.router)
    add_reference(app)
    known = [*app.routes, *(route for routes in routers for route in routes.router.routes)]
    install_problem_handlers(app, known)
    return app

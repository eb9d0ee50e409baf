"""The reference of the API for people, made from its OpenAPI document. No scripts, nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response


def reference_page(document: dict[str, Any]) -> str:
    """The page of an OpenAPI document: every route with its parameters and answers."""
    info = document["info"]
    return "".join(
        (
            "<!doctype html><html lang=en><meta charset=utf-8>",
            '<meta name=viewport content="width=device-width">',
            f"<title>{escape(info['title'])}</title><h1>{escape(info['title'])} {escape(info['version'])}</h1>",
            f"<p>{escape(info.get('description', ''))}</p>",
            "<p>For machines: <a href=/openapi.json>openapi.json</a>.</p>",
            *(
                part
                for path, methods in document["paths"].items()
                for method, route in methods.items()
                for part in _route(method, path, route)
            ),
        )
    )


def _route(method: str, path: str, route: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
    yield f"<p>{escape(route['summary'])}. {escape(route.get('description', ''))}</p>"
    if parameters := route.get("parameters"):
        yield "<table><tr><th>parameter<th>in<th>needed<th>what"
        for parameter in parameters:
            cells = (
                parameter["name"],
                parameter["in"],
                "yes" if parameter.get("required") else "no",
                parameter.get("description", ""),
            )
            yield "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells)
        yield "</table>"
    yield "<ul>"
    for status, answer in route["responses"].items():
        yield f"<li>{status}: {escape(answer['description'])}"
    yield "</ul>"


def add_reference(app: FastAPI) -> None:
    """Serves the page at `/docs`."""

    async def docs(_: Request) -> Response:
        return HTMLResponse(reference_page(app.openapi()))

    app.add_route("/docs", docs, include_in_schema=False)

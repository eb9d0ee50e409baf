"""The reference of the API for people, made from its OpenAPI document."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from vardy_api.http.pages import page, with_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response


def reference(document: dict[str, Any]) -> str:
    """The content of the page of an OpenAPI document: every operation by its tag, with examples."""
    info = document["info"]
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        f"<p>{_text(info.get('description', ''))}</p>",
        '<p>For machines: <a href="/openapi.json">openapi.json</a>.</p>',
    ]
    tags = document["tags"]
    listed = "".join(f'<li><a href="#{escape(tag["name"])}">{escape(tag["name"])}</a></li>' for tag in tags)
    parts.append(f"<nav><ul>{listed}</ul></nav>")
    for tag in tags:
        parts.append(f'<h2 id="{escape(tag["name"])}">{escape(tag["name"])}</h2><p>{_text(tag["description"])}</p>')
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    parts.extend(_operation(method, path, operation))
    return "".join(parts)


def _text(text: str) -> str:
    """A description as HTML: blank lines part paragraphs."""
    return with_code(text).replace("\n\n", "</p><p>")


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<h3 id="{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></h3>'
    yield f"<p>{_text(operation['summary'])}. {_text(operation.get('description', ''))}</p>"
    if parameters := operation.get("parameters"):
        yield "<table><tr><th>parameter</th><th>in</th><th>needed</th><th>what</th></tr>"
        for parameter in parameters:
            needed = "yes" if parameter.get("required") else "no"
            yield f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
            yield f"<td>{needed}</td><td>{_text(parameter.get('description', ''))}</td></tr>"
        yield "</table>"
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for example in content.get("examples", {}).values():
        yield _example(f"Body: {example['summary']}", example["value"])
    yield "<ul>"
    for status, answer in operation["responses"].items():
        yield f"<li>{escape(status)}: {_text(answer['description'])}</li>"
    yield "</ul>"
    for status, answer in operation["responses"].items():
        shown = answer.get("content", {}).get("application/json", {}).get("example")
        if shown is not None:
            yield _example(f"Answer: {status}", shown)


def _example(summary: str, value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def add_reference(app: FastAPI) -> None:
    """Serves the page at `/docs`."""

    async def docs(_: Request) -> Response:
        document = app.openapi()
        return page(document["info"]["title"], reference(document))

    app.add_route("/docs", docs, include_in_schema=False)

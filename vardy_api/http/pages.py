"""Pages for people: one style, no scripts, nothing from elsewhere, and a policy that says so."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import Final

from starlette.responses import HTMLResponse

STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font:.9rem/1.4 ui-monospace,monospace}"
    "pre{overflow:auto;padding:.75rem;border:1px solid #8886;border-radius:.25rem}"
    "table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}"
    "h2{margin-top:2.5rem}h3{margin-top:2rem}nav ul{columns:18rem}"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


_CODE: Final = re.compile(r"`([^`]+)`")


def with_code(text: str) -> str:
    """A text as HTML; what stands in backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def page(title: str, content: str) -> HTMLResponse:
    """The page of that title; `content` is HTML, in which everything from elsewhere was escaped."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{content}</main></body></html>"
    )
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})

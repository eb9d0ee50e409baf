"""The parameters of every listing: where a page begins, and how long it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

LIMIT_DEFAULT = 50
LIMIT_MAX = 200

Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]
PageLimit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Items of a page, at the most.")]

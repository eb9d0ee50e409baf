"""Pages of summaries, one or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vardy_api.shapes import SummaryPage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vardy_api.client import Vardy

Filters = dict[str, Any]
"""The named arguments that `Vardy.list_jobs` and `iterate_jobs` share."""


def list_page(
    client: Vardy,
    filters: Mapping[str, Any],
    *,
    limit: int,
    cursor: str | None = None,
    everything: bool = False,
) -> SummaryPage:
    """One page, or with `everything` all that follow as one."""
    if not everything:
        return client.list_jobs(**filters, limit=limit, cursor=cursor)
    if cursor is None:
        return SummaryPage(items=tuple(client.iterate_jobs(**filters)))
    page = client.list_jobs(**filters, cursor=cursor)
    items = list(page.items)
    while page.next is not None:
        page = client.list_jobs(**filters, cursor=page.next)
        items += page.items
    return SummaryPage(items=tuple(items))

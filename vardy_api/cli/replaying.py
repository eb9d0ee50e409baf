"""`vardy rules test`: page after page of stored plans, as one report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api.cli.progress import shown_progress
from vardy_api.rule_shapes import rules_test_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vardy_api.cli.listing import Filters
    from vardy_api.cli.session import Session
    from vardy_api.rule_shapes import RulesTestPage, RulesTestReport

PAGE_JOBS = 50
"""Jobs that one request looks at: an answer within about a second."""


def replay(session: Session, text: str, filters: Filters, *, last: int) -> RulesTestReport:
    """The rules over the newest `last` plans that match, with the progress shown."""
    with shown_progress(session, "plans") as advance:
        return rules_test_report(_pages(session, text, filters, last, advance))


def _pages(
    session: Session, text: str, filters: Filters, last: int, advance: Callable[[int, int | None], None]
) -> Iterator[RulesTestPage]:
    cursor, left = None, last
    while left:
        page = session.client.test_rules(text, **filters, cursor=cursor, limit=min(PAGE_JOBS, left))
        yield page
        advance(len(page.items), last)
        left -= len(page.items)
        cursor = page.next
        if cursor is None:
            return

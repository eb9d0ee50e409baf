"""`vardy rules test`: page after page of stored plans, as one report."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from vardy_api.rule_shapes import rules_test_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vardy_api.cli.listing import Filters
    from vardy_api.cli.session import Session
    from vardy_api.rule_shapes import RulesTestPage, RulesTestReport

PAGE_JOBS = 50
"""Jobs that one request looks at: an answer within about a second."""


def replay(session: Session, text: str, filters: Filters, *, last: int) -> RulesTestReport:
    """The rules over the newest `last` plans that match, with a bar on a terminal."""
    with _bar(session, last) as advance:
        return rules_test_report(_pages(session, text, filters, last, advance))


def _pages(
    session: Session, text: str, filters: Filters, last: int, advance: Callable[[int], None]
) -> Iterator[RulesTestPage]:
    cursor, left = None, last
    while left:
        page = session.client.test_rules(text, **filters, cursor=cursor, limit=min(PAGE_JOBS, left))
        yield page
        advance(len(page.items))
        left -= len(page.items)
        cursor = page.next
        if cursor is None:
            return


@contextmanager
def _bar(session: Session, total: int) -> Iterator[Callable[[int], None]]:
    stderr = session.out.stderr
    if not stderr.is_terminal or session.as_json:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task("plans", total=total)
        yield lambda done: progress.advance(task, done)

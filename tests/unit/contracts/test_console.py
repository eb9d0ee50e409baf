from __future__ import annotations

from vardy_worker.contracts.execution import ConsoleLine
from vardy_worker.contracts.job import ConsoleRecord


def printed(*texts: str, truncated: bool = False) -> ConsoleRecord:
    return ConsoleRecord(lines=tuple(ConsoleLine(level="log", text=text) for text in texts), truncated=truncated)


def shown(record: ConsoleRecord) -> list[tuple[int | None, str]]:
    return [(line.round, line.text) for line in record.lines]


def test_rounds_follow_each_other() -> None:
    first = ConsoleRecord().with_round(1, printed("a", "b"), bytes_max=100)
    both = first.with_round(2, printed("c"), bytes_max=100)
    assert shown(both) == [(1, "a"), (1, "b"), (2, "c")]
    assert not both.truncated


def test_a_round_that_runs_again_takes_the_place_of_its_first_try() -> None:
    first = ConsoleRecord().with_round(1, printed("a"), bytes_max=100)
    died = first.with_round(2, printed("b", "c"), bytes_max=100)
    assert shown(died.with_round(2, printed("d"), bytes_max=100)) == [(1, "a"), (2, "d")]


def test_a_worker_that_was_taken_for_lost_takes_no_later_round_away() -> None:
    both = ConsoleRecord().with_round(1, printed("a"), bytes_max=100).with_round(2, printed("b"), bytes_max=100)
    assert both.with_round(1, printed("a"), bytes_max=100) == both
    assert shown(both.with_round(1, printed("c" * 100), bytes_max=100)) == [(1, "c" * 100)]


def test_all_rounds_share_one_limit_in_bytes() -> None:
    first = ConsoleRecord().with_round(1, printed("ééé"), bytes_max=8)
    both = first.with_round(2, printed("ab", "c"), bytes_max=8)
    assert shown(both) == [(1, "ééé"), (2, "ab")]
    assert both.truncated


def test_what_was_cut_in_any_round_stays_marked() -> None:
    first = ConsoleRecord().with_round(1, printed("a", truncated=True), bytes_max=100)
    assert first.with_round(2, printed("b"), bytes_max=100).truncated

"""What the judge keeps, for how long, and how little it needs its cache."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from tests.support.judge import JudgingModel, ai, ask, classify, make_judge, sorts
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.judge import AiValue, Classified

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKER = "marker-77"
STRING = {"type": "string"}


class RecordingCache:
    """A cache that shows what it was given, and may be away."""

    def __init__(self, *, away: bool = False) -> None:
        self.kept: dict[str, Any] = {}
        self.asked: list[str] = []
        self.keep_seconds: set[int] = set()
        self.away = away

    def get_many(self, keys: Sequence[str]) -> Mapping[str, Any]:
        self.asked += keys
        if self.away:
            raise StoreUnavailable("Redis did not answer in time.")
        return {key: self.kept[key] for key in keys if key in self.kept}

    def put_many(self, answers: Mapping[str, Any], *, keep_seconds: int) -> None:
        if self.away:
            raise StoreUnavailable("Redis did not answer in time.")
        self.kept |= answers
        self.keep_seconds.add(keep_seconds)


def test_keys_and_kept_labels_hold_no_word_of_texts_or_questions() -> None:
    cache = RecordingCache()
    judge = make_judge(sorts(lambda _: "spam"), cache=cache, judge_cache_seconds=77)
    ask(judge, classify([f"{MARKER} 1", f"{MARKER} 2"], instructions=MARKER))
    assert len(cache.kept) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", key) for key in cache.asked)
    assert set(cache.kept.values()) == {"spam"}
    assert cache.keep_seconds == {77}


def test_nothing_is_kept_or_looked_up_where_the_retention_is_zero() -> None:
    cache = RecordingCache()
    model = JudgingModel(sorts(lambda _: "spam"))
    judge = make_judge(model, cache=cache, judge_cache_seconds=0)
    for _ in range(2):
        ask(judge, classify(["a"]))
    assert (cache.asked, cache.kept) == ([], {})
    assert len(model.asked) == 2


def test_a_cache_that_is_away_costs_only_calls_and_is_tried_once() -> None:
    cache = RecordingCache(away=True)
    judge = make_judge(sorts(lambda _: "spam"), cache=cache)
    with capture_logs() as logs:
        judged = ask(judge, classify(["a", "b"]))
    assert judged.answers == (Classified(labels=("spam", "spam")),)
    assert [line["event"] for line in logs] == ["judge.cache_away", "judge.asked"]


def test_a_cache_that_goes_away_meanwhile_costs_only_what_it_would_have_kept() -> None:
    cache = RecordingCache()

    def script(one: Any) -> str:
        cache.away = True
        return sorts(lambda _: "spam")(one)

    judged = ask(make_judge(script, cache=cache), classify(["a", "b"]))
    assert judged.answers == (Classified(labels=("spam", "spam")),)
    assert cache.kept == {}


@pytest.mark.parametrize("kept", ["admin", "", None, 3, ["spam"], {"label": "spam"}, {"value": "spam"}])
def test_what_is_kept_and_is_none_of_the_labels_is_asked_anew(kept: Any) -> None:
    cache = RecordingCache()
    judge = make_judge(sorts(lambda _: "ham"), cache=cache)
    ask(judge, classify(["a"]))
    [key] = cache.kept
    cache.kept[key] = kept
    assert ask(judge, classify(["a"])).answers == (Classified(labels=("ham",)),)
    assert cache.kept[key] == "ham"


@pytest.mark.parametrize("kept", ["x", None, {"value": 3}, {"values": "x"}, []])
def test_what_is_kept_and_is_no_value_of_the_type_is_asked_anew(kept: Any) -> None:
    cache = RecordingCache()
    judge = make_judge(lambda _: '{"value": "short"}', cache=cache)
    ask(judge, ai("Do it.", {}, STRING))
    [key] = cache.kept
    cache.kept[key] = kept
    assert ask(judge, ai("Do it.", {}, STRING)).answers == (AiValue(value="short"),)
    assert cache.kept[key] == {"value": "short"}


def test_what_was_known_is_not_kept_anew_so_that_its_time_ends() -> None:
    cache = RecordingCache()
    judge = make_judge(sorts(lambda _: "spam"), cache=cache)
    ask(judge, classify(["a"]))
    [first] = cache.kept
    kept = dict(cache.kept)
    cache.kept[first] = "SPAM"
    ask(judge, classify(["a", "b"]))
    assert cache.kept[first] == "SPAM"
    assert len(cache.kept) == len(kept) + 1


def test_each_wave_is_kept_before_the_next_one_is_asked() -> None:
    cache = RecordingCache()
    seen: list[int] = []

    def script(one: Any) -> str:
        seen.append(len(cache.kept))
        return sorts(lambda _: "spam")(one) if len(one.texts) == 1 else "no"

    ask(make_judge(script, cache=cache), classify(["a", "b", "c"]))
    assert seen == [0, 0, 0, 1, 1]


def test_one_line_is_logged_for_each_ask_and_tells_no_text() -> None:
    judge = make_judge(sorts(lambda _: "spam"))
    ask(judge, classify(["a"]))
    with capture_logs() as logs:
        ask(judge, classify(["a", MARKER, MARKER], instructions=MARKER), classify(["a"]))
    [line] = logs
    told = {name: line[name] for name in ("job_id", "questions", "distinct", "cached", "calls", "unjudged", "failed")}
    assert told == {
        "job_id": "job_1",
        "questions": 2,
        "distinct": 3,
        "cached": 1,
        "calls": 1,
        "unjudged": 0,
        "failed": 0,
    }
    assert MARKER not in str(logs)

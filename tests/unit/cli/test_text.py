"""Words for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from vardy_api.cli.options import parse_duration, parse_moment, parse_person
from vardy_api.cli.text import ago, counted, duration, escaped_json, expiry, one_line, pretty_json, short_json, visible

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("São Paulo, 10 €, 😀", "São Paulo, 10 €, 😀"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("a\rb", "a\\u000db"),
        ("\x9b31m", "\\u009b31m"),
        ("evil\u202egpj.exe", "evil\\u202egpj.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_characters_that_deceive_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_what_is_shown_never_controls_a_terminal(text: str) -> None:
    shown = visible(text)
    assert not any(ord(character) < 32 and character not in "\t\n" for character in shown)
    assert not any(0x7F <= ord(character) <= 0x9F for character in shown)
    assert "\n" not in one_line(text)
    shown.encode()


@given(st.text())
def test_escaped_json_is_the_same_value(text: str) -> None:
    value = {text: [text]}
    written = escaped_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(written) == value
    assert visible(written) == written


def test_json_is_short_on_one_line_and_pretty_on_several() -> None:
    value = {"name": "Ana", "n": [1, None]}
    assert short_json(value) == '{"name": "Ana", "n": [1, null]}'
    assert short_json(value, 10) == '{"name": …'
    assert pretty_json({"a": 1}) == '{\n  "a": 1\n}'
    assert pretty_json("plain\ntext") == "plain\ntext"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (12.4, "12 s"),
        (60, "1 min"),
        (7199, "2 h"),
        (86_399, "24 h"),
        (86_400 * 3, "3 d"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_times_are_told_from_now() -> None:
    assert ago(NOW - timedelta(minutes=5), NOW) == "5 min ago"
    assert ago(NOW + timedelta(seconds=3), NOW) == "0.0 s ago"
    assert ago(None, NOW) == "-"
    assert expiry(NOW + timedelta(hours=3), NOW) == "expires in 3 h"
    assert expiry(NOW, NOW) == "expired"
    assert expiry(None, NOW) == "-"
    assert (counted(1, "job"), counted(2, "job"), counted(0, "entry", "entries")) == ("1 job", "2 jobs", "0 entries")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("30s", 30), ("1.5m", 90), ("5 min", 300), ("2h", 7200), ("7D", 604_800)]
)
def test_lengths_of_time_are_read_with_their_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-5", "1w", "h", "1h30m"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="30s"):
        parse_duration(text)


def test_a_moment_is_absolute_or_so_long_ago() -> None:
    assert parse_moment("2025-03-01T12:00:00Z") == NOW
    assert parse_moment("2025-03-01T12:00").tzinfo is not None
    two_hours_ago = parse_moment("2h")
    assert timedelta(hours=2) <= datetime.now(UTC) - two_hours_ago < timedelta(hours=2, minutes=1)


def test_a_person_is_an_id_or_an_object_with_more_roles() -> None:
    assert parse_person(None, None) is None
    assert parse_person("ana", None) == "ana"
    assert parse_person("ana", ["support"]) == {"id": "ana", "roles": ["support"]}
    assert parse_person(' {"id": "ana", "roles": ["a"]}', ["b"]) == {"id": "ana", "roles": ["a", "b"]}

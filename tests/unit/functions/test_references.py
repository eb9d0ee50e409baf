from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from vardy_worker import Functions
from vardy_worker.contracts.execution import Ref
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.ports import BadArguments, GoodArguments


class Priority(Enum):
    HIGH = "high"
    LOW = "low"


class Owner(BaseModel):
    id: int
    email: str | None = None


class Ticket(BaseModel):
    id: int
    title: str
    priority: Priority
    owner: Owner
    tags: list[str]
    notes: dict[str, int]


class Note(BaseModel):
    ticket_id: int
    text: str
    level: Literal["high", "low"] = "low"


class Mail(BaseModel):
    to: str
    about: list[int]


def runtime() -> FunctionRuntime:
    functions = Functions()

    @functions.write
    def create_ticket(title: str) -> Ticket:
        raise NotImplementedError

    @functions.write
    def archive(title: str) -> None: ...

    @functions.write
    def anything(title: str) -> Any:
        raise NotImplementedError

    @functions.write
    def assign(
        ticket_id: int,
        to: str = "nobody",
        owner: Owner | None = None,
        tags: list[str] | None = None,
        when: date | None = None,
    ) -> None: ...

    @functions.write
    def add_notes(notes: list[Note], mail: Mail | None = None, urgent: bool = False) -> None: ...

    @functions.read
    def show(ticket_id: int) -> str:
        raise NotImplementedError

    return FunctionRuntime(functions)


EFFECTS = ["create_ticket", "archive", "anything"]


def check(function: str, args: Any, *refs: Ref) -> GoodArguments | BadArguments:
    return runtime().check(function, args, refs, effects=EFFECTS)


def good(function: str, args: Any, *refs: Ref) -> dict[str, Any]:
    checked = check(function, args, *refs)
    assert isinstance(checked, GoodArguments), checked
    return checked.args


def bad(function: str, args: Any, *refs: Ref) -> dict[str, str]:
    checked = check(function, args, *refs)
    assert isinstance(checked, BadArguments), checked
    return {problem["at"]: problem["message"] for problem in checked.problems}


def test_an_argument_that_is_a_reference_stays_out_and_the_rest_is_checked_and_completed() -> None:
    assert good("assign", {"to": "ana"}, Ref(at="/ticket_id", effect=0, path="/id")) == {
        "to": "ana",
        "owner": None,
        "tags": None,
        "when": None,
    }


def test_an_optional_argument_that_is_a_reference_gets_no_default() -> None:
    args = good("assign", {"ticket_id": 1}, Ref(at="/owner", effect=0, path="/owner"))
    assert "owner" not in args


@pytest.mark.parametrize(
    ("at", "path"),
    [
        ("/ticket_id", "/id"),
        ("/ticket_id", "/owner/id"),
        ("/ticket_id", "/notes/anything"),
        ("/to", "/title"),
        ("/to", "/priority"),
        ("/to", "/owner/email"),
        ("/to", "/tags/0"),
        ("/owner", "/owner"),
        ("/tags", "/tags"),
    ],
)
def test_a_reference_of_a_type_that_can_fit_is_good(at: str, path: str) -> None:
    good("assign", {} if at == "/ticket_id" else {"ticket_id": 7}, Ref(at=at, effect=0, path=path))


@pytest.mark.parametrize(
    ("at", "path", "message"),
    [
        ("/ticket_id", "/title", "must be an integer, but the result of create_ticket at /title is a string"),
        ("/ticket_id", "", "but the result of create_ticket is an object with id, title, priority"),
        ("/to", "/id", "must be a string, but the result of create_ticket at /id is an integer"),
        ("/tags", "/notes", "must be a list, or null, but"),
        ("/ticket_id", "/number", "refers to /number, which the result of create_ticket does not have"),
        ("/ticket_id", "/title/length", "which the result of create_ticket does not have"),
        ("/ticket_id", "id", "which the result of create_ticket does not have"),
        ("/colour", "/title", "is not known here; the names are: ticket_id, to, owner, tags, when"),
    ],
)
def test_a_reference_that_can_never_fit_is_refused(at: str, path: str, message: str) -> None:
    args = {} if at == "/ticket_id" else {"ticket_id": 7}
    problems = bad("assign", args, Ref(at=at, effect=0, path=path))
    assert message in problems[at]


def test_an_object_with_more_than_is_needed_may_fit() -> None:
    good("assign", {"ticket_id": 7}, Ref(at="/owner", effect=0, path=""))


def test_an_object_that_lacks_what_is_needed_cannot_fit() -> None:
    assert "/notes/0" in bad("add_notes", {"notes": [None]}, Ref(at="/notes/0", effect=0, path="/owner"))


def test_the_result_of_a_function_that_returns_nothing_fits_only_null() -> None:
    good("assign", {"ticket_id": 7}, Ref(at="/owner", effect=1))
    assert "is null" in bad("assign", {}, Ref(at="/ticket_id", effect=1))["/ticket_id"]


def test_a_result_of_any_type_may_fit_anywhere() -> None:
    good("assign", {}, Ref(at="/ticket_id", effect=2, path="/deep/inside"))


@pytest.mark.parametrize("effect", [3, -1])
def test_a_reference_to_no_earlier_effect_is_refused(effect: int) -> None:
    assert "not an earlier effect" in bad("assign", {}, Ref(at="/ticket_id", effect=effect))["/ticket_id"]


def test_other_arguments_are_still_checked() -> None:
    problems = bad("assign", {"to": 7, "when": "soon", "x": 1}, Ref(at="/ticket_id", effect=0, path="/id"))
    assert set(problems) == {"/to", "/when", "/x"}
    assert bad("assign", {}, Ref(at="/to", effect=0, path="/title")) == {"/ticket_id": "is missing"}


def test_references_inside_an_argument_leave_holes_and_the_rest_of_it_is_checked() -> None:
    refs = (Ref(at="/notes/0/ticket_id", effect=0, path="/id"), Ref(at="/mail/about/1", effect=0, path="/id"))
    args = {
        "notes": [{"text": "x"}, {"ticket_id": "9007199254740993", "text": "y"}],
        "mail": {"to": "a", "about": [1, None]},
    }
    assert good("add_notes", args, *refs) == {
        "notes": [{"text": "x"}, {"ticket_id": "9007199254740993", "text": "y"}],
        "mail": {"to": "a", "about": [1, None]},
        "urgent": False,
    }
    wrong = {"notes": [{"level": "mid"}, {"ticket_id": "x", "text": 5}], "mail": {"about": ["a", None]}, "urgent": 1}
    assert bad("add_notes", wrong, *refs) == {
        "/notes/0/text": "is missing",
        "/notes/0/level": 'must be "high", or "low", not a string of 3 characters',
        "/notes/1/ticket_id": "must be an integer, not a string of 1 character",
        "/notes/1/text": "must be a string, not an integer",
        "/mail/to": "is missing",
        "/mail/about/0": "must be an integer, not a string of 1 character",
        "/urgent": "must be a boolean, not an integer",
    }


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int
    codes: list[Annotated[int, Field(le=10)]]


def test_limits_and_unknown_names_around_a_hole_are_found() -> None:
    functions = Functions()

    @functions.write
    def number() -> int:
        raise NotImplementedError

    @functions.write
    def use(strict: Strict) -> None: ...

    args = {"strict": {"codes": [11], "colour": "red"}}
    refs = (Ref(at="/strict/id", effect=0),)
    checked = FunctionRuntime(functions).check("use", args, refs, effects=["number"])
    assert isinstance(checked, BadArguments)
    assert {problem["at"]: problem["message"] for problem in checked.problems} == {
        "/strict/codes/0": "breaks the limit maximum = 10",
        "/strict/colour": "is not known here; the names are: id, codes",
    }


class Appointment(BaseModel):
    number: int
    day: date | None = None
    at: datetime | None = None
    clock: time | None = None
    length: timedelta | None = None
    key: UUID | None = None
    cost: Decimal | None = None


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("day", "2026-02-28", "2026-02-30"),
        ("at", "2026-02-28T10:00:00Z", "tomorrow"),
        ("clock", "10:00:00", "25:00:00"),
        ("length", "PT5M", "five minutes"),
        ("key", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99"),
        ("cost", "12.50", "a lot"),
    ],
)
def test_texts_around_a_hole_are_read_as_what_they_stand_for(name: str, right: str, wrong: str) -> None:
    functions = Functions()

    @functions.write
    def number() -> int:
        raise NotImplementedError

    @functions.write
    def book(appointment: Appointment) -> None: ...

    host = FunctionRuntime(functions)
    refs = (Ref(at="/appointment/number", effect=0),)
    good_one = {"appointment": {name: right}}
    assert host.check("book", good_one, refs, effects=["number"]) == GoodArguments(good_one)
    refused = host.check("book", {"appointment": {name: wrong}}, refs, effects=["number"])
    assert isinstance(refused, BadArguments)
    assert [problem["at"] for problem in refused.problems] == [f"/appointment/{name}"]
    assert wrong not in str(refused.problems)


def test_a_hole_of_the_wrong_type_is_refused() -> None:
    problems = bad("add_notes", {"notes": [{"text": "x"}]}, Ref(at="/notes/0/ticket_id", effect=0, path="/title"))
    assert "must be an integer" in problems["/notes/0/ticket_id"]


def test_a_literal_takes_a_reference_to_an_enum_that_shares_a_value() -> None:
    good("add_notes", {"notes": [{"ticket_id": 1, "text": "x"}]}, Ref(at="/notes/0/level", effect=0, path="/priority"))


@pytest.mark.parametrize("at", ["/notes/5", "/notes/0/text/deep", "/mail/about/x"])
def test_a_reference_at_a_place_that_does_not_exist_is_refused(at: str) -> None:
    args = {"notes": [{"ticket_id": 1, "text": "x"}]}
    assert at in bad("add_notes", args, Ref(at=at, effect=0, path="/id"))


def test_a_reference_within_a_reference_is_refused() -> None:
    refs = (Ref(at="/owner", effect=0, path="/owner"), Ref(at="/owner/id", effect=0, path="/id"))
    assert "has references inside" in bad("assign", {"ticket_id": 1}, *refs)["/owner"]


@pytest.mark.parametrize("at", ["", "ticket_id"])
def test_the_argument_object_itself_cannot_be_a_reference(at: str) -> None:
    assert bad("assign", {}, Ref(at=at, effect=0)) == {"": "takes one object of named arguments"}


def test_a_read_takes_no_reference() -> None:
    problems = bad("show", {}, Ref(at="/ticket_id", effect=0, path="/id"))
    assert "pass it only to a write" in problems["/ticket_id"]


def test_data_that_looks_like_a_reference_stays_data() -> None:
    functions = Functions()

    @functions.write
    def keep(row: dict[str, Any]) -> None: ...

    row = {"$effect": 0, "at": "/x", "effect": 1, "path": ""}
    checked = FunctionRuntime(functions).check("keep", {"row": row}, ())
    assert checked == GoodArguments({"row": row})

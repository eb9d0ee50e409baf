"""The questions that the scripted model knows, and how it answers each from what it is shown.

A question has a program for each round, a file of `answers/`, and an answer that is put
together from the summaries in the conversation: the model knows no number of the shop's.
In a later program `{{agent}}` stands for a number that an earlier summary gave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from vardy_worker.demo.texts import program, shorten, tagged

if TYPE_CHECKING:
    from vardy_worker.contracts.base import JsonValue

Summaries: TypeAlias = Sequence["JsonValue"]
"""What the programs that worked returned, in order, as the conversation shows it."""

NO_MORE = "No further program can run."
"""How a prompt says that the answer is due."""
_RETURNED = re.compile(r"^Program \d+ returned:\s+(`{3,})json\n(.*?)\n\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, its programs by round, its answer, and what it shows.

    `values` are the numbers of a later program, from the summaries so far.
    """

    text: str
    programs: tuple[str, ...]
    answer: Callable[[Summaries], str]
    shows: str
    values: Callable[[Summaries], Mapping[str, str]] = lambda _summaries: {}


def _attention(summaries: Summaries) -> str:
    found: Any = summaries[-1]
    if not found["first"]:
        return "Nobody: no invoice is overdue, and no ticket is open."
    lines = [f"- {_because(one)}" for one in found["first"]]
    return (
        f"{found['first'][0]['name']} first. {found['customers_with_trouble']} customers have an overdue invoice or an "
        f"open ticket; {_euros(found['overdue_cents'])} are overdue, and {found['open_tickets']} tickets are open.\n"
        + "\n".join(lines)
    )


def _because(one: Any) -> str:
    urgent = f", {one['urgent_tickets']} of them urgent" if one["urgent_tickets"] else ""
    owed = f"{_euros(one['overdue_cents'])} overdue, the oldest for {_counted(one['days_late'], 'day')}"
    parts = [owed] if one["overdue_cents"] else []
    parts += [f"{_counted(one['open_tickets'], 'open ticket')}{urgent}"] if one["open_tickets"] else []
    return f"{one['name']} (customer {one['id']}): {'; '.join(parts)}"


def _help(summaries: Summaries) -> str:
    load = _busiest(summaries)
    head = f"{load['name']} has {_counted(load['open'], 'open ticket')}, {load['urgent']} of them urgent"
    if len(summaries) == 1:
        return f"{head}. I could not look at them one by one."
    backlog: Any = summaries[-1]
    lines = [
        f"- ticket {one['id']} of {one['customer']}: {one['priority']}, for {_counted(one['days'], 'day')}"
        for one in backlog
    ]
    return "\n".join([f"{head}. The oldest:", *lines])


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _busiest(summaries: Summaries) -> Any:
    counted: Any = summaries[0]
    return counted["agents"][0]


def _bought(summaries: Summaries) -> str:
    found: Any = summaries[-1]
    lines = [f"- {one['product']}: {one['pieces']} pieces, {_euros(one['cents'])}" for one in found["products"][:3]]
    return (
        f"In {found['orders']} orders they bought goods for {_euros(found['cents'])}, most of it these:\n"
        + "\n".join(lines)
    )


def _waiting(summaries: Summaries) -> str:
    found: Any = summaries[-1]
    if not found["paid_invoices"]:
        return "No invoice has been paid yet."
    return (
        f"{found['mean_days']} days on average: that is how long it took from an invoice to its payment, over "
        f"{found['paid_invoices']} paid invoices. Half of them took {found['median_days']} days or more, "
        f"the longest {found['longest_days']}."
    )


def _euros(cents: int) -> str:
    return f"{cents / 100:,.2f} euros"


QUESTIONS: tuple[Question, ...] = (
    Question(
        "Who deserves attention this week?",
        ("attention.js",),
        _attention,
        "one round: a program that reads everything, and an answer from what it returned",
    ),
    Question(
        "Which agent needs help?",
        ("tickets_by_agent.js", "backlog_of_agent.js"),
        _help,
        "two rounds: the second program asks for the agent that the first one found",
        lambda summaries: {"agent": str(_busiest(summaries)["id"])},
    ),
    Question(
        "What do our customers buy?",
        ("bought_rows.js", "bought_counts.js"),
        _bought,
        "a first program that returns too much, whose summary is cut; the second counts",
    ),
    Question(
        "How long do we wait for our money?",
        ("waiting_for_money_wrong.js", "waiting_for_money.js"),
        _waiting,
        "a first program with an unknown function, which costs a round",
    ),
)


def answer_to_question(question: str, messages: Sequence[tuple[str, str]]) -> str:
    """The next program of a conversation of (role, content), or the answer to its question."""
    known = next((each for each in QUESTIONS if _plain(each.text) == _plain(question)), None)
    if known is None:
        return unknown_question(f"“{shorten(question)}”")
    summaries = summaries_in(messages)
    turn = sum(1 for role, _ in messages if role == "assistant")
    try:
        if turn < len(known.programs) and NO_MORE not in messages[-1][1]:
            return program(known.programs[turn], known.values(summaries) if turn else {})
        return known.answer(summaries)
    except (AttributeError, IndexError, KeyError, TypeError):
        return "I can say nothing about that: I was not shown what my programs were to return."


def question_in(messages: Sequence[tuple[str, str]]) -> str | None:
    """The question that an explore's prompt carries between its `<question>` tags."""
    return tagged(messages, "question")


def summaries_in(messages: Sequence[tuple[str, str]]) -> Summaries:
    """The summaries that the conversation shows, oldest first."""
    found = (_RETURNED.search(content) for role, content in messages if role == "user")
    return [json.loads(match[2]) for match in found if match]


def unknown_question(question: str) -> str:
    """What is said to an unknown question: nothing made up, only what is known."""
    examples = "\n".join(f"- {each.text}" for each in QUESTIONS)
    return (
        f"I am the scripted model of Vardy's demo, not a language model, and I have no answer to {question}. "
        f"I know only these questions:\n{examples}\n"
        "Set VARDY_MODEL and the provider's key to ask in your own words."
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".?! ")

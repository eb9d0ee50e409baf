"""The phrases that the scripted model knows, and what it answers to each.

A phrase is a pattern: `{order}` stands for a whole number, `{amount}` for an amount such as
`25` or `25.00`. A request matches when it reads the same, apart from case, spaces and a
final full stop or question mark. Its answers are files of `answers/`, one per turn: the
first is a first answer, the next is what comes after a repair prompt, the last repeats.
In an answer `{{order}}` stands for the number in the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from vardy_worker.demo.judging import answer_as_judge
from vardy_worker.demo.questions import answer_to_question, question_in
from vardy_worker.demo.texts import program, shorten, tagged

NUMBER = r"\d{1,9}"
AMOUNT = r"\d{1,7}(?:\.\d{1,2})?"
KINDS = {"amount": AMOUNT}
"""What a placeholder stands for, where it is not a whole number."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """One pattern, its answers by turn, an example of it, and what it shows. `judge`: it is asked with `--judge`."""

    pattern: str
    answers: tuple[str, ...]
    example: str
    shows: str
    judge: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the scripted model says."""

    text: str
    finish_reason: str = "stop"


PHRASES: tuple[Phrase, ...] = (
    Phrase(
        "which customers have overdue invoices",
        ("overdue_invoices.js",),
        "Which customers have overdue invoices?",
        "reads, joined in the program; SUCCESS",
    ),
    Phrase(
        "how much does customer {customer} owe",
        ("customer_owes.js",),
        "How much does customer 3 owe?",
        "a read with an argument from the request; SUCCESS",
    ),
    Phrase(
        "how much does this customer owe",
        ("this_customer_owes.js",),
        "How much does this customer owe?",
        'a read with an argument from params, e.g. {"customer_id": 3}; SUCCESS',
    ),
    Phrase(
        "what is the status of order {order}",
        ("order_status.js",),
        "What is the status of order 17?",
        "a read; SUCCESS, or FUNCTION_ERROR for an order that does not exist, e.g. 9999",
    ),
    Phrase(
        "how many open tickets does each agent have",
        ("open_tickets_wrong.js", "open_tickets.js"),
        "How many open tickets does each agent have?",
        "a first answer with an unknown function, repaired in the second; SUCCESS",
    ),
    Phrase(
        "what are the open tickets about",
        ("ticket_topics.js",),
        "What are the open tickets about?",
        "texts judged by `classify`, with `--judge`; SUCCESS, without it VALIDATION_BLOCKED",
        judge=True,
    ),
    Phrase(
        "cancel order {order}",
        ("cancel_order.js",),
        "Cancel order 17",
        "one write that the rules allow; SUCCESS, FUNCTION_ERROR for an order already shipped, e.g. 2",
    ),
    Phrase(
        "refund {amount} of payment {payment}",
        ("refund_payment.js",),
        "Refund 25.00 of payment 5",
        "by amount: up to 50.00 allowed, above that approved by a support_lead, above 1000.00 blocked",
    ),
    Phrase(
        "remind every customer with an overdue invoice",
        ("remind_overdue.js",),
        "Remind every customer with an overdue invoice",
        "many mails: two approvals; one mailbox is full, so the commit stops half-way: PARTIAL",
    ),
    Phrase(
        "open a ticket about order {order}, assign it to {agent} and tell the customer",
        ("ticket_and_mail.js",),
        "Open a ticket about order 17, assign it to agent 2 and tell the customer",
        "later effects use the ticket's id, which does not exist yet; SUCCESS",
    ),
    Phrase(
        "book a courier for order {order}",
        ("book_courier.js",),
        "Book a courier for order 5",
        "a write that is not idempotent; the courier's line drops for orders from Faro: PARTIAL, outcome unknown",
    ),
    Phrase(
        "clear the warehouse",
        ("clear_warehouse.js",),
        "Clear the warehouse",
        "calls a function that does not exist, in every turn; VALIDATION_BLOCKED",
    ),
    Phrase(
        "mail everybody without a text",
        ("mail_without_text.js",),
        "Mail everybody without a text",
        "arguments that only turn out wrong when the program runs; VALIDATION_BLOCKED",
    ),
    Phrase(
        "count to infinity",
        ("count_to_infinity.js",),
        "Count to infinity",
        "a program that never ends; EXECUTION_ERROR",
    ),
    Phrase(
        "show off the customer list",
        ("leak_customers.js", "count_customers.js"),
        "Show off the customer list",
        "prints rows and throws them: EXECUTION_ERROR, and no row reaches the model, even when it is repaired",
    ),
    Phrase(
        "write me a poem",
        ("apology.txt",),
        "Write me a poem",
        "an answer without a program; GENERATION_ERROR",
    ),
)


def answer_to(messages: list[tuple[str, str]]) -> Answer:
    """The answer to a conversation of (role, content), by its request or question and its turn."""
    judged = answer_as_judge(messages)
    if judged is not None:
        return Answer(judged)
    question = question_in(messages)
    if question is not None:
        return Answer(answer_to_question(question, messages))
    request = request_in(messages)
    if request is None:
        return Answer(refusal("nothing I can find"))
    turn = sum(1 for role, _ in messages if role == "assistant")
    found = _find(request)
    if found is None:
        return Answer(refusal(f"“{shorten(request)}”"))
    phrase, values = found
    return Answer(program(phrase.answers[min(turn, len(phrase.answers) - 1)], values))


def request_in(messages: list[tuple[str, str]]) -> str | None:
    """The request that a program prompt carries between its `<request>` tags."""
    return tagged(messages, "request")


def refusal(request: str) -> str:
    """What is said to an unknown request: nothing made up, only what is known."""
    examples = "\n".join(f"- {phrase.example}" for phrase in PHRASES)
    return (
        f"I am the scripted model of Vardy's demo, not a language model, and I have no answer to {request}. "
        f"The numbers may differ, but otherwise I know only these phrases:\n{examples}\n"
        "Set VARDY_MODEL and the provider's key to ask in your own words."
    )


def _find(request: str) -> tuple[Phrase, dict[str, str]] | None:
    text = " ".join(request.split()).casefold().rstrip(".?! ")
    for phrase in PHRASES:
        match = _regex(phrase.pattern).fullmatch(text)
        if match:
            return phrase, match.groupdict()
    return None


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    texts, names = parts[::2], parts[1::2]
    regex = re.escape(texts[0])
    for name, text in zip(names, texts[1:], strict=True):
        word = "(?:agent )?" if name == "agent" else ""
        regex += f"{word}(?P<{name}>{KINDS.get(name, NUMBER)}){re.escape(text)}"
    return re.compile(regex)

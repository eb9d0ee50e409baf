"""`classify`: texts that ask the same, sorted in batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from vardy_worker.contracts.base import sha256_json, sha256_text, well_formed
from vardy_worker.contracts.judge import UNKNOWN, Classified, JudgeFailure
from vardy_worker.contracts.model import ModelFailed
from vardy_worker.judge.addressing import may_address_a_model
from vardy_worker.judge.answers import Labels, read_labels
from vardy_worker.judge.estimate import tokens_of, tokens_of_messages
from vardy_worker.judge.spending import Price, unavailable, useless
from vardy_worker.prompts.judge import classify_prompt, visible_json
from vardy_worker.prompts.template import template

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.errors import ErrorInfo
    from vardy_worker.contracts.judge import ClassifyQuestion
    from vardy_worker.contracts.model import Message, ModelReply

TEXTS_PER_CALL_MAX: Final = 40
CALL_TOKENS_MAX: Final = 16_000
"""Of the texts of one call, by estimate: fewer of them where they are long."""

BEGINNING_CHARACTERS: Final = 4_000
END_CHARACTERS: Final = 2_000
"""What is judged of a longer text: its beginning and its end."""

SPARE_ANSWER_TOKENS: Final = 2_048
"""For what a model thinks before it answers, and says around it."""

LINE_TOKENS: Final = 24
"""Of an id and the JSON around it, in a question or an answer."""

TRIES_MIN: Final = 2
"""How often a text is asked about before it counts as one that cannot be judged."""


@dataclass(frozen=True, slots=True)
class Line:
    """One text before it is asked about. Plans are made again for each further question, so it is worked out once."""

    key: str
    tokens: int
    """Of its line in a question, by estimate."""
    is_apart: bool
    """Whether it may address a model, and is kept apart from those that do not."""


NONE_JUDGED_MAX: Final = 4
"""Texts that may all stay without a label. With more, it is the model that cannot judge, and not a few odd texts."""


class Topic:
    """What texts are asked about, and the labels that are known of them by now.

    Questions with the same labels (in any order), question and instructions are one topic.
    """

    def __init__(self, question: ClassifyQuestion, model: str, new_id: Callable[[], str]) -> None:
        self.labels = tuple(sorted({well_formed(label) for label in question.labels}))
        self.question = well_formed(question.question)
        self.instructions = well_formed(question.instructions)
        self.closed = Labels(self.labels)
        self.known: dict[str, str] = {}
        self.failure: JudgeFailure | None = None
        self.refusal: ErrorInfo | None = None
        self.answered = False
        self._asked: set[str] = set()
        self._labelled = False
        self._new_id = new_id
        self._lines: dict[str, Line] = {}
        self._key = sha256_json(
            ["classify", template("classify").version, model, self.labels, self.question, self.instructions]
        )

    @cached_property
    def answer_tokens(self) -> int:
        """Of one text's line in an answer, by estimate, with the longest label."""
        return LINE_TOKENS + max(tokens_of(visible_json(label)) for label in (*self.labels, UNKNOWN))

    @property
    def identity(self) -> str:
        """The same for questions of one topic."""
        return self._key

    def key_of(self, text: str) -> str:
        """The cache's key for a text: of the topic and the whole text, by their digests."""
        return sha256_text(f"{self._key}:{sha256_text(text)}")

    def recall(self, text: str, kept: JsonValue) -> bool:
        """Takes a label out of the cache, unless it is none."""
        label = self.closed.read(kept)
        if label is not None:
            self.known[text] = label
        return label is not None

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The texts whose label is not known, each once."""
        return [text for text in dict.fromkeys(texts) if text not in self.known]

    def batches(self, texts: Iterable[str]) -> list[Batch]:
        """The texts in calls: the same ones for the same set of texts, in whatever order.

        They are put in the order of their keys, which need the whole question, so that no text
        can choose its neighbours, and those that may address a model in calls of their own.
        """
        ordered = sorted(((text, self.line(text)) for text in texts), key=lambda each: each[1].key)
        return [
            *self._filled(each for each in ordered if not each[1].is_apart),
            *self._filled(each for each in ordered if each[1].is_apart),
        ]

    def _filled(self, ordered: Iterable[tuple[str, Line]]) -> list[Batch]:
        batches: list[Batch] = []
        taken: list[str] = []
        room = CALL_TOKENS_MAX
        for text, line in ordered:
            if taken and (len(taken) == TEXTS_PER_CALL_MAX or line.tokens > room):
                batches.append(Batch(self, taken))
                taken, room = [], CALL_TOKENS_MAX
            taken.append(text)
            room -= line.tokens
        return [*batches, Batch(self, taken)] if taken else batches

    def line(self, text: str) -> Line:
        """What is known of a text before it is asked about."""
        line = self._lines.get(text)
        if line is None:
            tokens = LINE_TOKENS + tokens_of(visible_json(shown(text)))
            line = self._lines[text] = Line(self.key_of(text), tokens, may_address_a_model(text))
        return line

    def ids_of(self, texts: Iterable[str]) -> dict[str, str]:
        """The texts by ids that nothing in a text can know."""
        ids: dict[str, str] = {}
        for text in texts:
            text_id = self._new_id()
            while text_id in ids:
                text_id = self._new_id()
            ids[text_id] = text
        return ids

    def prompt(self, texts: Mapping[str, str]) -> tuple[Message, ...]:
        """What is sent to have texts judged, by their ids."""
        return classify_prompt(
            labels=self.labels,
            question=self.question,
            instructions=self.instructions,
            texts=[(text_id, shown(text)) for text_id, text in texts.items()],
        )

    @cached_property
    def prompt_tokens(self) -> int:
        """Of a call, by estimate, without the lines of its texts."""
        return tokens_of_messages(self.prompt({}))

    def learn(self, asked: Iterable[str], found: Mapping[str, str]) -> None:
        """Takes the labels that an answer gave, of the texts that were asked about."""
        self.answered = True
        self._asked.update(asked)
        self._labelled = self._labelled or bool(found)
        self.known.update(found)

    def fail(self, failed: ModelFailed) -> None:
        """No model answered for some texts, so that none of their questions can be answered."""
        self.failure = self.failure or unavailable(failed.error)

    def answer(self, texts: Sequence[str]) -> Classified | JudgeFailure:
        """The labels of the texts, in their order."""
        missing = set(self.missing(texts))
        if missing and self.failure is not None:
            return self.failure
        if missing and self.refusal is not None and not self.answered:
            return unavailable(self.refusal)
        if missing and not self._labelled and len(self._asked) > NONE_JUDGED_MAX:
            return useless(len(self._asked))
        labels = tuple(self.known.get(text, UNKNOWN) for text in texts)
        return Classified(labels=labels, unjudged=sum(text in missing for text in texts))


class Batch:
    """One call for some texts of a topic."""

    purpose: Literal["classify"] = "classify"

    def __init__(self, topic: Topic, texts: Sequence[str], tries: int = 0) -> None:
        self._topic = topic
        self._texts = texts
        self._tries = tries

    @cached_property
    def _ids(self) -> Mapping[str, str]:
        return self._topic.ids_of(self._texts)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """See `ModelCall.messages`."""
        return self._topic.prompt(self._ids)

    @property
    def answer_tokens_max(self) -> int:
        """See `ModelCall.answer_tokens_max`."""
        return SPARE_ANSWER_TOKENS + len(self._texts) * self._topic.answer_tokens

    @cached_property
    def price(self) -> Price:
        """See `ModelCall.price`. Told from its texts: calls are planned far more often than made."""
        lines = sum(self._topic.line(text).tokens for text in self._texts)
        return Price(1, self._topic.prompt_tokens + lines + self.answer_tokens_max)

    def take(self, answer: ModelReply | ModelFailed) -> list[Batch]:
        """See `ModelCall.take`. What has no label is asked again, in at most half as many texts a call."""
        topic = self._topic
        if isinstance(answer, ModelFailed):
            if answer.about in {"model", "time"}:
                topic.fail(answer)
            elif answer.about == "request":
                topic.refusal = answer.error
            found: dict[str, str] = {}
        else:
            found = read_labels(answer.text, self._ids.keys(), topic.closed)
            topic.learn(self._texts, {self._ids[text_id]: label for text_id, label in found.items()})
        if topic.failure is not None:
            return []
        return [Batch(topic, texts, self._tries + 1) for texts in self._again(found.keys())]

    def _again(self, found: Collection[str]) -> list[list[str]]:
        missing = [text for text_id, text in self._ids.items() if text_id not in found]
        if not missing or (len(self._texts) == 1 and self._tries + 1 >= TRIES_MIN):
            return []
        half = (len(self._texts) + 1) // 2
        return [part for part in (missing[:half], missing[half:]) if part]


def shown(text: str) -> str:
    """What is sent of a text: all, or its beginning and its end with a note of what lies between."""
    left_out = len(text) - BEGINNING_CHARACTERS - END_CHARACTERS
    if left_out <= 0:
        return text
    return f"{text[:BEGINNING_CHARACTERS]}\n[… {left_out} characters are left out …]\n{text[-END_CHARACTERS:]}"

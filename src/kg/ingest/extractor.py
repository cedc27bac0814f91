"""Concepts, quotes and relationships of a chunk, by a chat model.

What the model says is taken for what it is: words. JSON of the wrong shape is sent back once; a quote that does not stand in the
chunk is dropped, and so is whatever then has nothing to stand on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kg.errors import ModelTruncated, Unextractable
from kg.ingest import asking
from kg.ingest.quotes import Quotes
from kg.models.calling import calls_for
from kg.models.prices import Price
from kg.models.shape import problems, read_json
from kg.models.tokens import likely
from kg.parts import Answer, Chat, Concept, Direction, Extraction, Instance, Known, Message, Relationship, Usage

MAX_TOKENS = 8192
LONGEST_LABEL, LONGEST_DESCRIPTION, LONGEST_TYPE = 120, 1000, 60
MOST_TERMS, LONGEST_TERM = 12, 100
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff\ud800-\udfff]+")
_NO_TYPE = re.compile(r"[^A-Z0-9]+")


class ChatExtractor:
    def __init__(self, chat: Chat, *, price: Price | None = None, max_tokens: int = MAX_TOKENS) -> None:
        self.name = f"{chat.name}/extract-{asking.VERSION}"
        self._chat, self._max_tokens = chat, max_tokens
        self._price = price or Price(chat.name)

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        asked = asking.question(text, known)
        answer, wrong = await self._ask(asked, "extract")
        usage = answer.usage
        if wrong:
            again, wrong = await self._ask(asking.repair(asked, answer.text, wrong), "repair")
            answer, usage = again, usage + again.usage
        if wrong:
            raise Unextractable(f"{self._chat.name} gave no answer that can be used, and none when it was told why: {wrong[0]}")
        return Reading(text, read_json(answer.text)).extraction(usage)

    async def _ask(self, messages: Sequence[Message], purpose: str) -> tuple[Answer, list[str]]:
        """An answer and what is wrong with it."""
        try:
            with calls_for(purpose):
                answer = await self._chat.chat(messages, schema=asking.SCHEMA, max_tokens=self._max_tokens)
        except ModelTruncated as error:
            return Answer(""), [f"{error}: name fewer concepts, the most important ones, and shorter quotes"]
        try:
            return answer, problems(read_json(answer.text), asking.needed())
        except ValueError as error:
            return answer, [str(error)]

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        """What goes out is counted; what comes back is a third to one and a half times the chunk; some chunks are asked twice."""
        sent = likely(*(one.content for one in asking.question(text, known)))
        least, most = likely(text) // 3 + 60, min(likely(text) * 3 // 2 + 400, self._max_tokens)
        return self._price.of(sent, least), self._price.of(int(sent * 1.15), most)


class Reading:
    """What of an answer can be kept, for the chunk that it is about. Its shape has been checked."""

    def __init__(self, text: str, said: Mapping[str, Any]) -> None:
        self._said, self._quotes, self._text = said, Quotes(text), text
        self._dropped = 0
        self._concepts: dict[str, Concept] = {}
        self._same: dict[str, str] = {}  # a key → the key of the concept with the same label

    def extraction(self, usage: Usage) -> Extraction:
        self._read_concepts()
        instances = self._instances()
        self._ground(instances)
        relationships = self._relationships()
        concepts = tuple(self._concepts.values())
        return Extraction(concepts, tuple(instances.values()), tuple(relationships.values()), self._dropped, usage)

    def _some(self, name: str, most: int) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = self._said.get(name, [])
        self._dropped += max(0, len(found) - most)
        return found[:most]

    def _read_concepts(self) -> None:
        labels: dict[str, str] = {}
        for one in self._some("concepts", asking.MOST_CONCEPTS):
            key, label = clean(one["key"], 60), clean(one["label"], LONGEST_LABEL + 1)
            if not key or key in self._same or not any(map(str.isalnum, label)) or len(label) > LONGEST_LABEL:
                self._dropped += 1
                continue
            self._same[key] = labels.setdefault(label.casefold(), key)
            if self._same[key] == key:
                terms = tuple(dict.fromkeys(clean(term, LONGEST_TERM) for term in one.get("search_terms", ())[:MOST_TERMS]))
                self._concepts[key] = Concept(
                    key, label, clean(one.get("description", ""), LONGEST_DESCRIPTION), clean(one.get("type", ""), LONGEST_TYPE),
                    tuple(filter(None, terms)),
                )  # fmt: skip

    def _instances(self) -> dict[tuple[str, int], Instance]:
        found: dict[tuple[str, int], Instance] = {}
        for one in self._some("instances", asking.MOST_INSTANCES):
            key = self._same.get(clean(one["concept_key"], 60))
            place = self._quotes.find(one["quote"]) if key is not None else None
            if key is None or place is None:
                self._dropped += 1
                continue
            found.setdefault((key, place[0]), Instance(key, place[1], place[0]))
        return found

    def _ground(self, instances: dict[tuple[str, int], Instance]) -> None:
        """A concept without a quote stands on its own name in the text, or on nothing."""
        quoted = {instance.concept_key for instance in instances.values()}
        for key, label in [(one.key, one.label) for one in self._concepts.values() if one.key not in quoted]:
            place = self._quotes.find(label) or self._by_case(label)
            if place is None:
                del self._concepts[key]
                self._dropped += 1
            else:
                instances[key, place[0]] = Instance(key, place[1], place[0])

    def _by_case(self, label: str) -> tuple[int, str] | None:
        found = re.search(re.escape(label), self._text, re.IGNORECASE)
        return (found.start(), found[0]) if found else None

    def _relationships(self) -> dict[tuple[str, str, str], Relationship]:
        found: dict[tuple[str, str, str], Relationship] = {}
        for one in self._some("relationships", asking.MOST_RELATIONSHIPS):
            start, end = (self._same.get(clean(one[name], 60), "") for name in ("from_key", "to_key"))
            kind = relation_type(one["type"])
            if start not in self._concepts or end not in self._concepts or start == end or not kind:
                self._dropped += 1
                continue
            direction: Direction = "both" if one.get("direction") == "both" else "forward"
            relation = Relationship(start, end, kind, float(one.get("confidence", 1.0)), direction)
            found.setdefault((start, end, kind), relation)
        return found


def clean(text: str, most: int) -> str:
    """One line without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())[:most]


def relation_type(text: str) -> str:
    """In capitals with underscores; empty if there is no letter to begin with."""
    found = _NO_TYPE.sub("_", text.upper()).strip("_")[:100].strip("_")
    return found if found[:1].isalpha() else ""

"""The annotated data. It is read where it lies and never copied."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kg.errors import EvaluationData

DOCUMENTS, QUESTIONS, CORPUS = "redocred_dev.json", "hotpotqa_100.json", "hotpotqa_100_corpus.json"
#: Re-DocRED's types → ours.
TYPES = {"PER": "person", "ORG": "organization", "LOC": "place", "MISC": "", "TIME": "date", "NUM": "quantity"}
_NO_SPACE_BEFORE = frozenset((",", ".", ";", ":", "!", "?", ")", "]", "}", "%", "'", "’", "'s", "’s", "n't", "'re"))
_ARTICLE, _POSSESSIVE = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE), re.compile(r"\s*['’]s?$")
Span = tuple[int, int]


@dataclass(frozen=True)
class Entity:
    """`forms` are its surface forms, in order; `spans` its places in the document's text."""

    type: str
    forms: tuple[str, ...]
    spans: frozenset[Span]


@dataclass(frozen=True)
class Annotated:
    title: str
    text: str
    entities: tuple[Entity, ...]
    related: frozenset[frozenset[int]]


@dataclass(frozen=True)
class Question:
    text: str
    gold: frozenset[str]


def folder(setting: str | None) -> Path:
    """KG_EVAL, else the folder `shared/eval` beside the checkout."""
    return Path(setting) if setting else Path(__file__).resolve().parents[4] / "shared" / "eval"


def tuned_on(called: str) -> bool:
    """A document by its title, a question by its text: half of them, whatever file they come in and in whatever order."""
    return hashlib.sha256(called.encode()).digest()[0] % 2 == 0


def documents(place: Path) -> list[Annotated]:
    return [_annotated(one) for one in _read(place / DOCUMENTS)]


def questions(place: Path) -> list[Question]:
    return [Question(one["question"], frozenset(title for title, _ in one["supporting_facts"])) for one in _read(place / QUESTIONS)]


def corpus(place: Path) -> dict[str, str]:
    """Title → text."""
    return {title: "".join(sentences).strip() for title, sentences in _read(place / CORPUS).items()}


def bare(span: Span, text: str) -> Span:
    """Without an article before it and a possessive after it: annotators took them in or left them out as it came."""
    start, end = span
    if article := _ARTICLE.match(text, start, end):
        start = article.end()
    if possessive := _POSSESSIVE.search(text[start:end]):
        end = start + possessive.start()
    return start, end


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EvaluationData(f"cannot read {path}: {error}") from error


def _annotated(document: dict[str, Any]) -> Annotated:
    text, places = _written(document["sents"])
    entities = tuple(_entity(mentions, text, places) for mentions in document["vertexSet"])
    pairs = (frozenset((label["h"], label["t"])) for label in document["labels"])
    return Annotated(str(document.get("title", "")), text, entities, frozenset(pair for pair in pairs if len(pair) == 2))


def _entity(mentions: list[dict[str, Any]], text: str, places: list[list[Span]]) -> Entity:
    spans = (
        (places[one["sent_id"]][one["pos"][0]][0], places[one["sent_id"]][one["pos"][1] - 1][1])
        for one in mentions
    )  # fmt: skip
    forms = dict.fromkeys(one["name"] for one in mentions)
    return Entity(TYPES.get(mentions[0]["type"], ""), tuple(forms), frozenset(bare(span, text) for span in spans))


def _written(sentences: list[list[str]]) -> tuple[str, list[list[Span]]]:
    """The tokens as a text that people would write, and where each stands in it."""
    text = ""
    places: list[list[Span]] = []
    for sentence in sentences:
        places.append([])
        for word in sentence:
            if text and word not in _NO_SPACE_BEFORE and text[-1] not in "([{$":
                text += " "
            places[-1].append((len(text), len(text) + len(word)))
            text += word
    return text, places

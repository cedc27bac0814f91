"""`LocalExtractor`: concepts and relations of English text by spaCy and rules. No network, no key, the same answer every time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kg.local import english
from kg.local.cleaning import parts, prose
from kg.local.concepts import Concepts
from kg.local.lone import alone
from kg.local.reading import Reading, read
from kg.local.relations import Related
from kg.local.unread import unread
from kg.parts import Direction, Extraction, Instance, Known, Relationship, Tier, Usage

if TYPE_CHECKING:
    from spacy.language import Language

#: Raised with every change of the rules: stored answers of other rules are other answers.
RULES = 4
_PER_TOKEN = 4.4  # characters, with the space after it


class LocalExtractor:
    """`known` says nothing to it: rules do not read what the graph has already."""

    name = f"local-english-{english.SHA256[:8]}-{RULES}"

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._model: Language | None = None

    def load(self) -> None:
        """Once per process, before its first job."""
        self._english()

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        cleaned = await alone(lambda: prose(text))
        readings = [await alone(partial(self._read, start, part)) for start, part in parts(cleaned)]
        return await alone(lambda: together(text, readings))

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        tokens = len(text) / _PER_TOKEN
        return Usage(tokens_in=int(0.6 * tokens)), Usage(tokens_in=int(1.5 * tokens) + 1)

    def doubts(self, text: str) -> list[str]:
        """What it will not find, said before it is asked."""
        return [told] if (told := unread(text)) else []

    def _read(self, start: int, part: str) -> Reading:
        return read(self._english(), part, start)

    def _english(self) -> Language:
        with self._loading:
            if self._model is None:
                self._model = english.load()
            return self._model


def together(text: str, readings: Sequence[Reading]) -> Extraction:
    """The parts of a text as one answer."""
    seen = [one for reading in readings for one in reading.seen]
    concepts = Concepts(seen)
    instances = tuple(
        Instance(key, text[one.start : one.end], one.start)
        for one, key in sorted(zip(seen, concepts.key_of, strict=True), key=lambda pair: (pair[0].start, pair[0].end))
        if key is not None
    )
    used = sum(reading.tokens for reading in readings)
    return Extraction(tuple(concepts.all), instances, _relationships(readings, concepts), usage=Usage(tokens_in=used))


def _relationships(readings: Sequence[Reading], concepts: Concepts) -> tuple[Relationship, ...]:
    """Each once, at its best. What is stated is not said weakly again."""
    found: dict[tuple[str, str, str], Relationship] = {}
    offset = 0
    for reading in readings:
        for related in reading.precise:
            _keep(found, concepts, related, offset, "precise")
        offset += len(reading.seen)
    stated = {frozenset((one.from_key, one.to_key)) for one in found.values()}
    weak: dict[tuple[str, str, str], Relationship] = {}
    offset = 0
    for reading in readings:
        for related in reading.weak:
            if concepts.matters(offset + related.one) and concepts.matters(offset + related.other):
                _keep(weak, concepts, related, offset, "weak")
        offset += len(reading.seen)
    return (*found.values(), *(one for one in weak.values() if frozenset((one.from_key, one.to_key)) not in stated))


def _keep(kept: dict[tuple[str, str, str], Relationship], concepts: Concepts, related: Related, offset: int, tier: Tier) -> None:
    one, other = concepts.key_of[offset + related.one], concepts.key_of[offset + related.other]
    if one is None or other is None or one == other:
        return
    if tier == "weak":
        one, other = sorted((one, other), key=lambda key: int(key[1:]))
    before = kept.get((one, other, related.type))
    if before is None or before.confidence < related.confidence:
        direction: Direction = "both" if tier == "weak" else "forward"
        kept[one, other, related.type] = Relationship(one, other, related.type, related.confidence, direction, tier)

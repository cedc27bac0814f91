"""Retrieval: of the passages that answer a question, how many are among the first five that a search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg.evaluation.data import Question
from kg.evaluation.ingested import ingested
from kg.graph.searching import PassageMode
from kg.parts import Embed, Extractor

FIRST = 5
#: What `kg search --passages` does unless it is told otherwise; and the others, to compare.
DEFAULT: PassageMode = "graph"
MODES: tuple[PassageMode, ...] = ("graph", "hybrid", "semantic", "text")


async def shares(
    questions: Sequence[Question], corpus: Mapping[str, str], embed: Embed, extractor: Extractor
) -> dict[PassageMode, list[float]]:
    """By mode, for each question the share of its passages that was found. A passage is a document here, and its title is in it."""
    async with ingested({title: f"{title}\n\n{text}" for title, text in corpus.items()}, embed, extractor) as library:
        return {mode: [_share(one, await library.search(one.text, FIRST, mode)) for one in questions] for mode in MODES}


def _share(question: Question, found: Sequence[str]) -> float:
    return len(question.gold & set(found)) / max(len(question.gold), 1)


def mean(some: Sequence[float]) -> float:
    return sum(some) / max(len(some), 1)

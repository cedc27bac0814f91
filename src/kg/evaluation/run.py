"""All rows of `kg eval`, one after the other. Documents with an even number were tuned on; odd ones are reported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from kg.evaluation import aliases, data, related, spans
from kg.evaluation.library import Library
from kg.evaluation.report import Row
from kg.local.floor import Floor, measure, memory
from kg.parts import Embed, Extraction, Extractor

_REPORTED = "odd documents; tuned on the even ones"
_QUICK_DOCUMENTS, _QUICK_QUESTIONS = 40, 10
TARGETS = {"spans": 0.83, "precise": 0.44, "recall": 0.44, "aliases": 0.58, "at 0.9": 0.25, "retrieval": 0.81}


async def rows(place: Path, embed: Embed, extractor: Extractor, *, quick: bool = False) -> AsyncIterator[Row]:
    """A row whose data is not there says so."""
    yield _floor(await measure(embed, extractor))
    if (place / data.DOCUMENTS).is_file():
        documents = data.documents(place)[1::2]
        async for row in _documents(documents[:_QUICK_DOCUMENTS] if quick else documents, embed, extractor):
            yield row
    else:
        yield _skipped("entities, relations, aliases", place / data.DOCUMENTS)
    if (place / data.QUESTIONS).is_file() and (place / data.CORPUS).is_file():
        async for row in _retrieval(place, embed, extractor, quick=quick):
            yield row
    else:
        yield _skipped("retrieval", place / data.QUESTIONS)
    yield Row("memory with both models", memory(), None, 1, "MB", "", "the process at its largest; worker limit 900")


async def _documents(documents: Sequence[data.Annotated], embed: Embed, extractor: Extractor) -> AsyncIterator[Row]:
    read: list[tuple[data.Annotated, Extraction]] = [(one, await extractor.extract(one.text)) for one in documents]
    figure, precision, recall, marked = spans.f1(read)
    yield Row(
        "entity spans F1", figure, TARGETS["spans"], marked, "spans", _REPORTED, f"precision {precision:.3f}, recall {recall:.3f}"
    )
    precise, both = related.score(read)
    yield Row(
        "related pairs, precise: precision", precise.precision, TARGETS["precise"], precise.found, "pairs found", _REPORTED,
        f"recall {precise.recall:.3f}",
    )  # fmt: skip
    yield Row(
        "related pairs, with weak: recall", both.recall, TARGETS["recall"], both.marked, "pairs", _REPORTED,
        f"precision {both.precision:.3f}",
    )  # fmt: skip
    pairs = aliases.pairs(documents)
    ours, cosine = await aliases.measure(pairs, embed)
    alike = sum(pair.alike for pair in pairs)
    note = f"label cosine alone {cosine.average:.3f}"
    yield Row("alias pairs AP", ours.average, TARGETS["aliases"], alike, "pairs, 1:8", _REPORTED, note)
    note = f"label cosine alone {cosine.recall:.3f}"
    yield Row("alias pairs recall at precision 0.9", ours.recall, TARGETS["at 0.9"], alike, "pairs, 1:8", _REPORTED, note)


async def _retrieval(place: Path, embed: Embed, extractor: Extractor, *, quick: bool) -> AsyncIterator[Row]:
    questions, corpus = data.questions(place), data.corpus(place)
    if quick:
        questions = questions[1::2][:_QUICK_QUESTIONS]
        corpus = _small(corpus, questions)
    library = Library({title: f"{title}\n\n{text}" for title, text in corpus.items()}, embed, extractor)
    await library.open()
    found = [(question, await library.search(question.text, 5)) for question in questions]
    shares = {
        way: sum(len(question.gold & set(ways[way])) / len(question.gold) for question, ways in found) / len(found)
        for way in ("graph", "vectors", "text", "both")
    }
    note = ", ".join(f"{way} {shares[way]:.3f}" for way in ("vectors", "text", "both")) + (
        f"; {len(corpus)} passages" if quick else ""
    )
    yield Row(
        "retrieval R@5 with the graph",
        shares["graph"],
        TARGETS["retrieval"],
        len(found),
        "questions",
        "nothing was tuned on them",
        note,
    )


def _small(corpus: dict[str, str], questions: Sequence[data.Question]) -> dict[str, str]:
    """The questions' own passages and every seventh other."""
    wanted = {title for question in questions for title in question.gold}
    return {title: text for number, (title, text) in enumerate(corpus.items()) if title in wanted or number % 7 == 0}


def _floor(floor: Floor) -> Row:
    note = f"extract {floor.extract:,.0f}, embed {floor.embed:,.0f} characters a core-second"
    return Row("embed and extract", floor.together, None, floor.characters, "characters", "", note)


def _skipped(name: str, path: Path) -> Row:
    return Row(name, None, None, 0, "", "", f"skipped: there is no {path}; put it there or say where with KG_EVAL")

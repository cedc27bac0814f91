"""All rows of `kg eval`, one after the other. What was tuned on one half of the documents or questions is reported on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from kg.evaluation import aliases, data, related, retrieval, spans
from kg.evaluation.interval import interval
from kg.evaluation.report import Row
from kg.evaluation.tally import total
from kg.local.floor import Floor, measure, memory
from kg.parts import Embed, Extraction, Extractor

T = TypeVar("T")
_QUICK_DOCUMENTS, _QUICK_QUESTIONS = 40, 10
TARGETS = {"spans": 0.83, "precise": 0.44, "recall": 0.44, "aliases": 0.58, "at 0.9": 0.25, "retrieval": 0.81}


async def rows(place: Path, embed: Embed, extractor: Extractor, *, quick: bool = False) -> AsyncIterator[Row]:
    """A row whose data is not there says so."""
    yield _floor(await measure(embed, extractor))
    if missing := _missing(place, data.DOCUMENTS):
        yield _skipped("entities, relations, aliases", missing)
    else:
        documents = [one for one in data.documents(place) if not data.tuned_on(one.title)]
        async for row in _documents(documents[:_QUICK_DOCUMENTS] if quick else documents, embed, extractor):
            yield row
    if missing := _missing(place, data.QUESTIONS, data.CORPUS):
        yield _skipped("retrieval", missing)
    else:
        async for row in _retrieval(place, embed, extractor, quick=quick):
            yield row
    yield Row("memory with both models, MB", memory(), None, 1, "process", "", "at its largest; a worker's limit is 900")


async def _documents(documents: Sequence[data.Annotated], embed: Embed, extractor: Extractor) -> AsyncIterator[Row]:
    read: list[tuple[data.Annotated, Extraction]] = [(one, await extractor.extract(one.text)) for one in documents]
    split = f"{len(documents)} documents that nothing was tuned on"
    found = [spans.tally(*one) for one in read]
    note = f"precision {total(found).precision:.3f}, recall {total(found).recall:.3f}"
    yield _row("entity spans F1", "spans", found, lambda all: total(all).f1, total(found).marked, "spans", split, note)
    precise, both = zip(*(related.tallies(*one) for one in read), strict=True) if read else ((), ())
    yield _row(
        "related pairs, precise: precision", "precise", precise, lambda all: total(all).precision, total(precise).found,
        "pairs found", split, f"recall {total(precise).recall:.3f}",
    )  # fmt: skip
    yield _row(
        "related pairs, with weak: recall", "recall", both, lambda all: total(all).recall, total(both).marked, "pairs", split,
        f"precision {total(both).precision:.3f}",
    )  # fmt: skip
    scored = await aliases.scored(documents, embed)
    graph, cosine = aliases.ranked(scored, "graph"), aliases.ranked(scored, "cosine")
    alike = sum(sum(one.alike) for one in scored)
    note = f"as the graph judges names of many documents {graph.average:.3f}, label cosine alone {cosine.average:.3f}"
    yield _row(
        "alias pairs AP", "aliases", scored, lambda all: aliases.ranked(all).average, alike, "pairs, 1:8", split, note
    )  # fmt: skip
    note = f"as the graph judges names of many documents {graph.recall:.3f}, label cosine alone {cosine.recall:.3f}"
    yield _row(
        "alias pairs recall at precision 0.9", "at 0.9", scored, lambda all: aliases.ranked(all).recall, alike, "pairs, 1:8",
        split, note,
    )  # fmt: skip


def _row(  # noqa: PLR0917 - a row's parts
    name: str, target: str, of: Sequence[T], figure: Callable[[Sequence[T]], float], items: int, what: str, split: str, note: str
) -> Row:
    return Row(name, figure(of), TARGETS[target], items, what, split, note, interval(of, figure))


async def _retrieval(place: Path, embed: Embed, extractor: Extractor, *, quick: bool) -> AsyncIterator[Row]:
    questions, corpus = data.questions(place), data.corpus(place)
    if quick:
        questions = [one for one in questions if not data.tuned_on(one.text)][:_QUICK_QUESTIONS]
        corpus = _small(corpus, questions)
    shares = await retrieval.shares(questions, corpus, embed, extractor)
    others = ", ".join(f"{mode} {retrieval.mean(shares[mode]):.3f}" for mode in retrieval.MODES if mode != retrieval.DEFAULT)
    ours = shares[retrieval.DEFAULT]
    apart = [share for share, question in zip(ours, questions, strict=True) if not data.tuned_on(question.text)]
    note = f"kg search --passages, of {len(corpus)} documents that were ingested; with --mode {others}"
    yield _row(
        "retrieval R@5, all questions", "retrieval", ours, retrieval.mean, len(ours), "questions",
        "weights were chosen on one half of them", note,
    )  # fmt: skip
    yield Row(
        "retrieval R@5, not tuned on", retrieval.mean(apart), None, len(apart), "questions", "the other half", "",
        interval(apart, retrieval.mean),
    )  # fmt: skip


def _small(corpus: dict[str, str], questions: Sequence[data.Question]) -> dict[str, str]:
    """The questions' own passages and every seventh other."""
    wanted = {title for question in questions for title in question.gold}
    return {title: text for number, (title, text) in enumerate(corpus.items()) if title in wanted or number % 7 == 0}


def _floor(floor: Floor) -> Row:
    note = f"extract {floor.extract:,.0f}, embed {floor.embed:,.0f}"
    return Row("characters a core-second", floor.together, None, floor.characters, "characters", "", note)


def _missing(place: Path, *names: str) -> str:
    return ", ".join(name for name in names if not (place / name).is_file())


def _skipped(name: str, missing: str) -> Row:
    return Row(name, None, None, 0, "", "", f"skipped: there is no {missing}; put it there or say where with KG_EVAL")

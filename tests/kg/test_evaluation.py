"""The measures of `kg eval`, on small data of our own, and the command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kg.cli import main
from kg.evaluation import aliases, data, related, spans
from kg.evaluation.library import Library
from kg.local.floor import SAMPLE, measure
from kg.parts import Concept, Extraction, Instance, Relationship
from tests.kg.local_models import local_embed, local_extractor

SENTENCES = [["The", "Keller", "Institute", "(", "KI", ")", "is", "in", "Bern", "."], ["Anna", "'s", "brother", "left", "KI", "."]]
DOCUMENT: dict[str, Any] = {
    "sents": SENTENCES,
    "vertexSet": [
        [
            {"name": "The Keller Institute", "type": "ORG", "sent_id": 0, "pos": [0, 3]},
            {"name": "KI", "type": "ORG", "sent_id": 0, "pos": [4, 5]},
            {"name": "KI", "type": "ORG", "sent_id": 1, "pos": [4, 5]},
        ],
        [{"name": "Bern", "type": "LOC", "sent_id": 0, "pos": [8, 9]}],
        [{"name": "Anna", "type": "PER", "sent_id": 1, "pos": [0, 1]}],
    ],
    "labels": [{"h": 0, "t": 1, "r": "P131", "evidence": [0]}, {"h": 1, "t": 1, "r": "P1"}],
}
TEXT = "The Keller Institute (KI) is in Bern. Anna's brother left KI."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / data.DOCUMENTS).write_text(json.dumps([DOCUMENT, DOCUMENT]))
    questions = [
        {
            "question": "Where is the institute that Anna Keller founded?",
            "supporting_facts": [["Anna Keller", 0], ["Keller Institute", 0]],
        }
    ]
    (tmp_path / data.QUESTIONS).write_text(json.dumps(questions * 2))
    corpus = {
        "Anna Keller": ["Anna Keller founded the Keller Institute."],
        "Keller Institute": ["The Keller Institute is in Bern."],
        "Bread": ["Bread is baked."],
    }
    (tmp_path / data.CORPUS).write_text(json.dumps(corpus))
    return tmp_path


def answer(*named: tuple[str, str, int], relations: tuple[Relationship, ...] = ()) -> Extraction:
    concepts = tuple(Concept(key, quote, type="organization") for key, quote, _ in {one[0]: one for one in named}.values())
    return Extraction(concepts, tuple(Instance(key, quote, start) for key, quote, start in named), relations)


def test_documents_are_written_as_people_write(place: Path) -> None:
    document = data.documents(place)[0]
    assert document.text == TEXT
    assert [sorted(TEXT[start:end] for start, end in one.spans) for one in document.entities] == [
        ["KI", "KI", "Keller Institute"], ["Bern"], ["Anna"],
    ]  # fmt: skip
    assert document.related == {frozenset({0, 1})}  # a relation with itself is none


def test_spans(place: Path) -> None:
    document = data.documents(place)[0]
    found = answer(("c1", "The Keller Institute", 0), ("c2", "Bern", TEXT.index("Bern")), ("c3", "brother", TEXT.index("brother")))
    figure, precision, recall, marked = spans.f1([(document, found)])
    assert (round(precision, 3), recall, marked) == (0.667, 0.4, 5)
    assert round(figure, 3) == 0.5


def test_common_nouns_are_no_entities(place: Path) -> None:
    document = data.documents(place)[0]
    found = Extraction((Concept("c1", "brother", type="concept"),), (Instance("c1", "brother", TEXT.index("brother")),))
    assert spans.named_spans(document.text, found) == frozenset()


def test_related_pairs(place: Path) -> None:
    document = data.documents(place)[0]
    relations = (
        Relationship("c2", "c1", "IN"),  # right, the other way round
        Relationship("c1", "c3", "LEAVE", tier="weak"),  # wrong
        Relationship("c1", "c4", "X"),  # nobody has said
    )
    named = (
        ("c1", "KI", TEXT.index("KI")),
        ("c2", "Bern", TEXT.index("Bern")),
        ("c3", "Anna", TEXT.index("Anna")),
        ("c4", "brother", TEXT.index("brother")),
    )
    precise, both = related.score([(document, answer(*named, relations=relations))])
    assert (precise.precision, precise.recall, precise.found, precise.marked) == (1.0, 1.0, 1, 1)
    assert (both.precision, both.recall) == (0.5, 1.0)


def test_alias_pairs(place: Path) -> None:
    (document,) = data.documents(place)[:1]
    (pair,) = aliases.pairs([document])
    assert pair.alike
    assert {pair.one.form, pair.other.form} == {"ki", "keller institute"}


def test_average_precision_by_hand() -> None:
    """Right, wrong, right; one other to weigh 8 x 2."""
    found = aliases.ranked([True, False, True], [0.9, 0.5, 0.1])
    assert round(found.average, 4) == round(0.5 * 1 + 0.5 * 2 / 18, 4)
    assert found.recall == 0.5
    tied = aliases.ranked([True, False], [0.5, 0.5])
    assert round(tied.average, 4) == round(1 / 9, 4)  # nobody can tell them apart
    assert aliases.ranked([], []).average == 0


def test_the_graph_leads_from_one_passage_to_the_next(place: Path) -> None:
    async def run() -> dict[str, list[str]]:
        library = Library(data.corpus(place), local_embed(), local_extractor())
        await library.open()
        return await library.search("Where is the institute that Anna Keller founded?", 2)

    assert set(asyncio.run(run())["graph"]) == {"Anna Keller", "Keller Institute"}


def test_floor() -> None:
    floor = asyncio.run(measure(local_embed(), local_extractor(), SAMPLE[:1000]))
    assert floor.characters == 1000
    assert 0 < floor.together < min(floor.embed, floor.extract)


def test_the_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--data", str(place), "--quick", "-o", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["retrieval R@5 with the graph"]["figure"] == 1.0
    assert rows["retrieval R@5 with the graph"]["items"] == 1
    assert rows["entity spans F1"]["split"] == "odd documents; tuned on the even ones"
    assert all(row["quick"] for row in rows.values())
    assert rows["memory with both models"]["figure"] > 100


def test_without_data_it_says_so_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--data", str(tmp_path / "nowhere")]) == 0
    out = capsys.readouterr().out
    assert out.count("skipped") >= 2
    assert "KG_EVAL" in out
    assert str(tmp_path / "nowhere") in out


def test_broken_data_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / data.DOCUMENTS).write_text("{")
    assert main(["eval", "--data", str(place)]) == 2
    assert "cannot read" in capsys.readouterr().err

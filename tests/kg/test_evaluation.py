"""The measures of `kg eval`, on small data of our own, and the command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kg.cli import main
from kg.cli.commands import eval as command
from kg.evaluation import aliases, data, related, spans
from kg.evaluation.interval import Interval, interval
from kg.evaluation.report import Row
from kg.evaluation.retrieval import mean
from kg.evaluation.tally import total
from kg.graph.likeness import Named, form, in_text, verdict
from kg.local.floor import SAMPLE, measure
from kg.parts import Concept, Extraction, Instance, Relationship
from tests.kg.local_models import local_embed, local_extractor

SENTENCES = [["The", "Keller", "Institute", "(", "KI", ")", "is", "in", "Bern", "."], ["Anna", "'s", "brother", "left", "KI", "."]]
DOCUMENT: dict[str, Any] = {
    "title": "Anna",
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
            "question": "Where is the institute that Anna Keller has founded?",
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
    one = spans.tally(document, found)
    assert (round(one.precision, 3), one.recall, one.marked) == (0.667, 0.4, 5)
    assert round(one.f1, 3) == 0.5
    assert total([one, one]).recall == 0.4
    assert total([]).f1 == 0


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
    precise, both = related.tallies(document, answer(*named, relations=relations))
    assert (precise.precision, precise.recall, precise.found, precise.marked) == (1.0, 1.0, 1, 1)
    assert (both.precision, both.recall) == (0.5, 1.0)


def test_alias_pairs(place: Path) -> None:
    (pair,) = aliases.pairs(data.documents(place)[0])
    assert pair.alike
    assert pair.names == {"ki", "keller institute"}
    assert {pair.one.form, pair.other.form} == {"ki", "keller institute"}


def scored(alike: list[bool], scores: list[float]) -> aliases.Scored:
    return aliases.Scored(alike, scores, scores, scores)


def test_average_precision_by_hand() -> None:
    """Right, wrong, right; one other to weigh 8 x 2. It does not matter in which document they are."""
    for some in ([scored([True, False, True], [0.9, 0.5, 0.1])], [scored([True], [0.9]), scored([True, False], [0.1, 0.5])]):
        found = aliases.ranked(some)
        assert round(found.average, 4) == round(0.5 * 1 + 0.5 * 2 / 18, 4)
        assert found.recall == 0.5
    tied = aliases.ranked([scored([True, False], [0.5, 0.5])])
    assert round(tied.average, 4) == round(1 / 9, 4)  # nobody can tell them apart
    assert aliases.ranked([]).average == 0


def test_what_is_measured_is_what_the_platform_does() -> None:
    """The score of a pair is that by which the extractor joins two names of one text, and `graph` the graph's own verdict."""
    puskas = [Named(form(label), label, "person") for label in ("Puskás", "Ferenc Puskás", "Tivadar Puskás")]
    entities = tuple(data.Entity("person", (one.label,), frozenset()) for one in puskas)
    (found,) = asyncio.run(aliases.scored([data.Annotated("", "", entities, frozenset())], local_embed()))
    names = frozenset(one.form for one in puskas)
    order = [(puskas[0], puskas[1]), (puskas[0], puskas[2]), (puskas[1], puskas[2])]
    for number, (one, other) in enumerate(order):
        assert found.text[number] == in_text(one, other, names, found.cosine[number])
        assert found.graph[number] == verdict(one, other, found.cosine[number]).score
    assert found.text[0] < found.graph[0]  # whose surname it is, this text does not say


def test_an_interval_is_of_documents_and_always_the_same() -> None:
    shares = [0.0, 1.0] * 50
    found = interval(shares, mean)
    assert found == interval(shares, mean)
    assert found is not None
    assert 0.38 < found.low < 0.45
    assert 0.55 < found.high < 0.62
    assert interval([1.0], mean) is None


def test_a_half_is_a_half_whatever_the_order() -> None:
    names = [f"document {number}" for number in range(1000)]
    assert 450 < sum(map(data.tuned_on, names)) < 550
    assert data.tuned_on("document 1") == data.tuned_on("document 1")


def test_floor() -> None:
    floor = asyncio.run(measure(local_embed(), local_extractor(), SAMPLE[:1000]))
    assert floor.characters == 1000
    assert 0 < floor.together < min(floor.embed, floor.extract)


def test_the_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The questions are asked of a corpus that the platform has really ingested."""
    assert main(["eval", "--data", str(place), "--quick", "-o", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["retrieval R@5, all questions"]["figure"] == 1.0
    assert rows["retrieval R@5, all questions"]["items"] == 2
    assert rows["entity spans F1"]["items"] == 10
    assert rows["entity spans F1"]["split"] == "2 documents that nothing was tuned on"
    assert all(row["quick"] for row in rows.values())
    assert rows["memory with both models, MB"]["figure"] > 100


def test_without_data_it_says_so_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--data", str(tmp_path / "nowhere")]) == 0
    lines = capsys.readouterr().out.splitlines()
    out = "\n".join(lines)
    assert out.count("skipped") >= 2
    assert "KG_EVAL" in out
    assert lines[-1] == f"no data in {tmp_path / 'nowhere'}"
    assert max(map(len, lines[:-1])) <= 80


def test_the_table_fits_and_says_what_is_below(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def rows(*_: object, **__: object) -> AsyncIterator[Row]:
        for name, target in (("alias pairs recall at precision 0.9", 0.25), ("entity spans F1", 0.1)):
            yield Row(name, 0.2, target, 12_345, "spans", "243 documents", "precision 0.123, recall " * 9, Interval(0.123, 0.234))

    monkeypatch.setattr(command, "rows", rows)
    assert main(["eval", "--data", "nowhere"]) == 1
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[-1] for line in out.splitlines()[1:3]] == ["BELOW", "reached"]
    assert main(["eval", "--data", "nowhere", "--quick"]) == 0  # an impression fails nobody


def test_broken_data_is_an_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / data.DOCUMENTS).write_text("{")
    assert main(["eval", "--data", str(place)]) == 2
    assert "cannot read" in capsys.readouterr().err

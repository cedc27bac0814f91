"""What was doubtful about a document is told with it; texts over HTTP are read as files are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from kg.cli.commands.docs import show
from kg.documents.parsing import parse
from kg.ingest.pipeline import Pipeline
from lanework.testing import adrain
from tests.kg.fakes import FakeExtractor, Paragraphs, Parts, passages
from tests.kg.house import House, open_house

RUSSIAN = "База данных - это совокупность данных, хранимых в соответствии со схемой."


@pytest.fixture
def docs(database: str) -> Iterator[House]:
    """With the real parsers."""
    parts = Parts()
    parts.pipeline = Pipeline(parse, Paragraphs(), passages, parts.extractor, parts.embed, parts.graph, 4)
    with open_house(database, parts=parts) as house, psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table fake_graph (source bigint references kg.sources on delete cascade, word text, start int)")
        yield house


@pytest.fixture
def doubting(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubts(_: FakeExtractor, text: str) -> list[str]:
        return [] if text.isascii() else [f"nothing in {text}"]

    monkeypatch.setattr(FakeExtractor, "doubts", doubts, raising=False)


def ingest(house: House, data: bytes, **query: Any) -> Any:
    taken = house.ask("contributor", "POST", "/ingest", content=data, params=query, headers={"Content-Type": "text/plain"})
    assert taken.status_code == 202, taken.text
    house.act(adrain(house.work))
    return house.ask("read_only", "GET", f"/documents/{taken.json()['document']['id']}").json()


def test_a_doubt_stays_with_the_document(docs: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = ingest(docs, RUSSIAN.encode("cp1251"), name="a.txt", key="a")
    told = "not UTF-8 (byte 0): read as Windows-1251; some characters may be wrong"
    assert (found["processing_status"], found["provenance"]) == ("completed", {"warnings": [told]})
    assert docs.ask("read_only", "GET", f"/documents/{found['id']}/text").text == RUSSIAN

    monkeypatch.setattr(show, "ask", lambda method, path: docs.ask("read_only", method, path).json())
    show.run(argparse.Namespace(document=found["id"], output="table"))
    assert f" warning {told}" in " ".join(capsys.readouterr().out.split())

    again = ingest(docs, RUSSIAN.encode(), name="a.txt", key="a")
    assert (again["id"], again["version"], again["provenance"]) == (found["id"], 2, {})


def test_what_the_extractor_will_not_find_is_told(docs: House, doubting: None) -> None:
    # Red while a document without a single concept was completed, and nothing said why.
    def estimated(**more: Any) -> Any:
        answer = docs.ask("contributor", "POST", "/ingest", json={"text": "字", "name": "a.txt", "estimate": True, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()["estimate"]["warnings"]

    assert estimated()[0] == "nothing in 字" and "nothing in 字" not in estimated(graph=False)
    found = ingest(docs, "字".encode(), name="a.txt", key="a")
    assert (found["processing_status"], found["provenance"]) == ("completed", {"warnings": ["nothing in 字"]})
    assert ingest(docs, b"Lanes have Slots.", name="a.txt", key="a")["provenance"] == {}
    assert ingest(docs, "字字".encode(), name="b.txt", graph="false")["provenance"] == {}


def send(house: House, body: dict[str, Any]) -> Any:
    content = json.dumps(body)  # escapes what UTF-8 cannot have
    return house.ask("contributor", "POST", "/ingest", content=content, headers={"Content-Type": "application/json"})


def test_a_text_with_nul_characters(docs: House) -> None:
    taken = send(docs, {"text": "Lanes\0 have\ud800 Slots.", "name": "a.txt"})
    assert taken.status_code == 202, taken.text
    docs.act(adrain(docs.work))
    id = taken.json()["document"]["id"]
    assert docs.ask("read_only", "GET", f"/documents/{id}/text").text == "Lanes have? Slots."


def test_no_other_field_has_them(docs: House) -> None:
    for wrong in ({"name": "a\0"}, {"ontology": "a\0"}, {"key": "a\ud800"}, {"url": "http://a\0"}, {"text": {"a": 1}, "b\0": 1}):
        refused = send(docs, {"text": "x", **wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "LW-305")

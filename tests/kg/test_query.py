"""The graph over HTTP: searches, neighbourhoods, paths, concepts, exports, and who sees what of them."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from kg.collections.vectors import PgVectorStore
from kg.parts import Item
from tests.kg.graph import HEART, TinyEmbed, Writer, fill
from tests.kg.house import House, open_house
from tests.servers import Databases

#: What no form of an export may take for more than text.
HOSTILE = (
    "=cmd|' /C calc'!A0", "a, \"b\"\r\nc;d", "x' }) DETACH DELETE n //", "back\\slash\\' \\u0027 `tick`", "<b>&amp;</b> ]]> <!--",
    "bell\x07 esc\x1b[31m", "\u202eright to left\u2028line", "@SUM(1)", "-1+1", "\ttab", "snow ☃ 😀", "",
)  # fmt: skip
KEEPER, HARBOUR = "A lighthouse keeper trims the lamp.", "The harbour sleeps at night."
PORCELAIN = "李明教授研究宋代瓷器，他认为景德镇的窑炉影响了日本。\n\n王芳在上海大学教授历史。"
BANGKOK = "กรุงเทพมหานครเป็นเมืองหลวงตั้งอยู่บนสามเหลี่ยมปากแม่น้ำเจ้าพระยา"
NS = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass
class Place:
    house: House
    writer: Writer
    embed: TinyEmbed

    def ask(self, path: str, body: Any = None, *, by: str = "read_only", status: int = 200) -> Any:
        answer = self.house.ask(by, "POST" if body is not None else "GET", path, **({} if body is None else {"json": body}))
        assert answer.status_code == status, answer.text
        return answer.json() if answer.headers["content-type"].split(";")[0].endswith("json") else answer.content

    def search(self, query: str, **more: Any) -> list[str]:
        found = self.ask("/query/search", {"query": query, **more})
        return [one["label"] for one in found["concepts"]]


@pytest.fixture(scope="module")
def place(_fleet: Callable[[int], Databases]) -> Iterator[Place]:
    """One application and one small graph for all tests here: none of them changes what another one looks at."""
    embed = TinyEmbed()
    with _fleet(18).with_schema() as dsn, open_house(dsn, embed) as house, psycopg.connect(dsn, autocommit=True) as db:
        writer = Writer(db, embed)
        fill(writer)
        for n, label in enumerate(HOSTILE):
            writer.concept("hostile", label or " ", f"{label} {n}")
        writer.relate(HOSTILE[0], "IS_A", HOSTILE[1], 0.5, direction="both")
        writer.relate(HOSTILE[1], "IS_A", HOSTILE[2], 0.25)
        house.enter("driver", ("graph:read", "ontology:cars"))
        house.enter("maker", ("graph:read", "own"))
        writer.ontology("made", by="maker")
        writer.concept("made", "clay", "earth")
        writer.leaflet("leaflets", "coast.txt", "shelf", KEEPER, HARBOUR)
        writer.document("kilns", "porcelain.txt", PORCELAIN)
        writer.leaflet("leaflets", "bangkok.txt", "rivers", BANGKOK)
        vector = embed.vector("lighthouse keeper of somebody's code")
        own = [Item("1", "lighthouse keeper of somebody's code", vector)]
        house.act(PgVectorStore(house.work).put("shelf", embed.name, own))
        yield Place(house, writer, embed)


# -- search


def test_by_meaning_by_words_and_by_both(place: Place) -> None:
    assert place.search("automobile", mode="semantic", limit=1) == ["car"]
    assert place.search("automobile", mode="text") == []
    assert place.search("automobile", limit=1) == ["car"]
    assert place.search("scientific", mode="text") == ["study"]
    assert place.search("exer", mode="text") == ["Exercise"]  # the beginning of a label
    assert place.search("moves -car", mode="text", limit=50) == ["blood", "muscles"]
    assert place.search('"moves the body"', mode="text") == ["muscles"]
    assert set(place.search("organ or perhaps a liquid of nowhere", mode="text")) == {"heart", "oil"}  # some of the words
    assert place.search("heart", mode="text")[0] == "heart"


def test_a_hit_shows_what_it_stands_on(place: Place) -> None:
    (hit,) = place.ask("/query/search", {"query": "Exercise", "limit": 1})["concepts"]
    assert (hit["label"], hit["ontology"], hit["type"], hit["seen_count"]) == ("Exercise", "medicine", "thing", 1)
    shown = hit["evidence"]
    assert HEART[shown["start"] : shown["end"]] == shown["quote"] == "Exercise"
    assert (shown["document"], shown["title"]) == ("heart.txt", "Heart.Txt")
    assert shown["sentence"] == "Exercise strengthens the heart, and a study contradicts the claim that rest does."


def test_passages(place: Place) -> None:
    found = place.ask("/query/search", {"query": "what damages the heart", "what": "passages", "limit": 2})
    first = found["passages"][0]
    assert first["text"].startswith("Smoking damages") and HEART[first["start"] : first["end"]] == first["text"]
    text = place.ask("/query/search", {"query": "fuel oil", "what": "passages", "mode": "text"})["passages"]
    assert [one["text"] for one in text] == ["Fuel is made from oil.", "A car has an engine. The engine needs fuel."]
    assert text[0]["score"] > 1 > text[1]["score"] > 0  # all of the words, some of them


def _shelf(place: Place, query: str, **more: Any) -> list[tuple[str, str | None]]:
    found = place.ask("/query/search", {"query": query, "what": "passages", **more})["passages"]
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    return [(one["text"], one["collection"]) for one in found]


@pytest.mark.parametrize("mode", ["graph", "hybrid", "semantic", "text"])
def test_documents_without_a_graph_are_found_too_and_say_so(place: Place, mode: str) -> None:
    # Red with the passages of the graph alone.
    lamp = ("A lighthouse keeper trims the lamp.", "shelf")
    assert _shelf(place, "lighthouse keeper lamp", mode=mode)[0] == lamp
    first = place.ask("/query/search", {"query": "lighthouse keeper", "what": "passages", "mode": mode})["passages"][0]
    assert (first["ontology"], first["document"], first["title"], first["start"], first["end"]) == (
        "leaflets", "coast.txt", "Coast.Txt", 0, 35,
    )  # fmt: skip
    # what is in the graph keeps its place before what is further away
    heart = _shelf(place, "smoking damages the heart", mode=mode, limit=2)
    assert heart[0][0].startswith("Smoking damages") and heart[0][1] is None
    assert _shelf(place, "lighthouse", mode=mode, ontology="leaflets", limit=1) == [lamp]
    assert "shelf" not in {name for _, name in _shelf(place, "lighthouse keeper", mode=mode, ontology="cars", limit=50)}
    alone = _shelf(place, "lighthouse keeper of somebody", mode=mode, collection="shelf", limit=50)
    assert alone[0] == lamp and {name for _, name in alone} == {"shelf"}
    assert not any("code" in text for text, _ in alone)  # nobody's document: nobody's to see


def test_what_has_no_graph_has_a_score_of_its_own(place: Place) -> None:
    # Red while a piece took the score of the passage before it.
    for mode, most in (("graph", 3.0), ("hybrid", 2 / 61)):
        asked = {"query": "lighthouse harbour heart", "what": "passages", "mode": mode, "limit": 50}
        found = place.ask("/query/search", asked)["passages"]
        scores = {one["text"]: one["score"] for one in found}
        passages = {one["score"] for one in found if one["collection"] is None}
        assert passages and not passages & {scores[KEEPER], scores[HARBOUR]} and max(scores.values()) <= most + 1e-6
        # one scale: how far apart two pieces are says something, and does not hang on what stands between them
        alone = place.ask("/query/search", asked | {"query": "the harbour sleeps at night"})["passages"][0]
        assert (alone["text"], alone["score"]) == (HARBOUR, pytest.approx(most, rel=1e-3))


@pytest.mark.parametrize("mode", ["graph", "hybrid", "text"])
def test_text_without_spaces_is_found_by_what_stands_in_it(place: Place, mode: str) -> None:
    # Red while such a text was one long word.
    def first(query: str, **more: Any) -> str:
        found = place.ask("/query/search", {"query": query, "what": "passages", "mode": mode, **more})["passages"]
        return str(found[0]["text"]) if found else ""

    kiln, history = PORCELAIN.split("\n\n")
    assert first("瓷器") == kiln and first("历史") == history
    assert first("景德镇的瓷器") == kiln  # some of it
    assert first("窑") == kiln  # one character
    assert first("แม่น้ำ") == BANGKOK == first("แม่น้ำ", collection="rivers")
    assert first("瓷器", ontology="cars") != kiln
    assert first("what damages the heart").startswith("Smoking")
    told = place.ask("/query/search", {"query": "瓷器", "what": "passages", "mode": mode})["mode"]
    assert told == ("hybrid" if mode == "graph" else mode)


def test_words_without_spaces_in_a_search_by_words(place: Place) -> None:
    def found(query: str) -> list[tuple[str, Any]]:
        answer = place.ask("/query/search", {"query": query, "what": "passages", "mode": "text"})
        return [(one["text"], one["score"]) for one in answer["passages"]]

    kiln, history = PORCELAIN.split("\n\n")
    assert found("瓷器") == [(kiln, 1.5)] and found("教授") == [(kiln, 1.5), (history, 1.5)]
    assert found("教授 瓷器") == [(kiln, 1.5), (history, pytest.approx(1 / 3))]
    assert found("研究瓷器") == [(kiln, pytest.approx(0.5))]  # two pairs of three: nothing has 究瓷
    assert found("龙") == [] and found("教授 -瓷器") == [(history, 1.5)]
    assert next(text for text, _ in found("smoking 历史")) == history


def test_text_without_spaces_is_read_by_an_index(place: Place) -> None:
    with place.writer.db.transaction() as tx:
        tx.connection.execute("set local enable_seqscan = off")
        for table in ("passages", "document_items"):
            plan = tx.connection.execute(
                f"explain select id from kg.{table} where kg.has_unspaced(text) and kg.pairs(text) @> '{{瓷器}}'".encode()
            ).fetchall()
            assert "_pairs" in str(plan)


def test_a_hit_says_whether_it_is_about_what_was_asked(place: Place) -> None:
    # Red while ten unrelated concepts were all that a nonsense query showed.
    def like(query: str, **more: Any) -> list[tuple[str, bool]]:
        found = place.ask("/query/search", {"query": query, "limit": 3, **more})["concepts"]
        return [(one["label"], one["like"]) for one in found]

    assert not any(is_like for _, is_like in like("xyzzy plugh")) and len(like("xyzzy plugh")) == 3
    assert like("automobile")[0] == ("car", True)  # by meaning
    assert like("scientific xyzzy plugh quux frobnicate")[0] == ("study", True)  # by a word
    assert like("scientific", mode="text") == [("study", True)]
    (hit,) = place.ask("/query/search", {"query": "car", "mode": "semantic", "limit": 1})["concepts"]
    assert hit["likeness"] == hit["score"] > 0.5
    assert place.ask("/query/search", {"query": "scientific", "mode": "text"})["concepts"][0]["likeness"] is None


def test_documents_without_a_graph_are_for_those_who_see_their_ontology(place: Place) -> None:
    asked = {"query": "lighthouse keeper", "what": "passages"}
    for by in ("driver", "maker"):
        assert "leaflets" not in {one["ontology"] for one in place.ask("/query/search", asked, by=by)["passages"]}
        assert place.ask("/query/search", asked | {"collection": "shelf"}, by=by, status=404)["code"] == "KG-261"
    assert place.ask("/query/search", asked | {"collection": "nowhere"}, status=404)["detail"] == "there is no collection 'nowhere'"
    assert place.ask("/query/search", {"query": "x", "collection": "shelf"}, status=422)["field"] == "collection"


def test_an_ontology_alone(place: Place) -> None:
    assert set(place.search("what moves", ontology="cars", limit=50)) == {"car", "engine", "Fuel", "oil"}
    problem = place.ask("/query/search", {"query": "x", "ontology": "nowhere"}, status=404)
    assert (problem["code"], problem["detail"]) == ("KG-204", "there is no ontology 'nowhere'")


def test_a_query_is_embedded_once(place: Place) -> None:
    for _ in range(3):
        place.search("embed me just once", mode="semantic")
    assert place.embed.asked.count("embed me just once") == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"query": ""}), ("search", {"query": "   "}), ("search", {"query": "x" * 2001}),
        ("search", {"query": "x", "limit": 0}),
        ("search", {"query": "x", "limit": 201}), ("search", {"query": "x", "mode": "magic"}), ("search", {"query": "x", "wat": 1}),
        ("related", {"concept": 1, "hops": 7}), ("related", {"concept": 1, "nodes": 0}), ("related", {"concept": 1, "seconds": 31}),
        ("related", {"concept": 2**70}), ("connect", {"start": 1, "end": 1}), ("connect", {"start": 1, "end": 2, "k": 21}),
        ("connect", {"start": 1, "end": 2, "max_hops": 7}), ("connect", {"start": "", "end": 2}),
        ("connect", {"start": True, "end": 2}), ("related", {"concept": True}), ("related", {"concept": 1.5}),
        ("resolve", {"phrase": " "}), ("resolve", {"phrase": ""}),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(place: Place, path: str, body: Any) -> None:
    place.ask(f"/query/{path}", body, status=422)


# -- grounding and diversity


def test_grounding_and_diversity(place: Place) -> None:
    found = {
        one["label"]: one for one in place.ask("/query/search", {"query": "heart", "limit": 200, "mode": "semantic"})["concepts"]
    }
    assert found["heart"]["grounding"] > 0.6  # supported, by Exercise
    assert found["Smoking"]["grounding"] < -0.6  # contradicted, by a study
    assert found["study"]["grounding"] is None  # nothing leads there
    near = [place.embed.vector(f"{one} {said}") for one, said in (("car", "a machine that drives"), ("Fuel", "what burns"))]
    distance = 1 - sum(a * b for a, b in zip(*near, strict=True))
    assert found["engine"]["diversity"] == pytest.approx(distance, abs=1e-3)
    assert found["car"]["diversity"] is None  # one neighbour
    rows = place.writer.db.execute("select type, stance from kg.stances").fetchall()
    stances = dict(rows)
    assert stances["SUPPORTS"] > 0.4 > -0.4 > stances["CONTRADICTS"]
    stored = place.writer.db.execute("select count(*) from kg.vocabulary where embedding is null").fetchone()
    assert stored == (0,)


# -- neighbourhood


def _related(place: Place, label: str, **more: Any) -> Any:
    return place.ask("/query/related", {"concept": place.writer.ids[label], **more})


def _labels(found: Any) -> list[str]:
    return [one["label"] for one in found["nodes"]]


def test_a_neighbourhood_hop_by_hop(place: Place) -> None:
    found = _related(place, "heart", hops=1)
    assert (found["concept"]["label"], _labels(found)) == ("heart", ["blood", "Exercise", "muscles"])
    assert [(one["type"], one["confidence"]) for one in found["edges"]] == [("MOVES", 0.9), ("SUPPORTS", 0.9), ("NEAR", 0.2)]
    further = _related(place, "heart", hops=2, tier="precise")
    assert [(one["label"], one["hops"]) for one in further["nodes"]] == [("blood", 1), ("Exercise", 1), ("oxygen", 2)]
    assert further["nodes"][2]["weight"] == pytest.approx(0.72)
    assert further["partial"] is None


def test_a_neighbourhood_of_some_relations(place: Place) -> None:
    assert _labels(_related(place, "heart", hops=1, direction="out")) == ["blood", "muscles"]
    assert _labels(_related(place, "heart", hops=1, direction="in")) == ["Exercise"]
    assert _labels(_related(place, "heart", hops=3, types=["NEAR", "FEEDS"])) == ["muscles", "oxygen"]
    one, two = (place.writer.ids[label] for label in HOSTILE[:2])
    for start, end in ((one, two), (two, one)):  # a relation in both directions leads out of both
        found = place.ask("/query/related", {"concept": start, "hops": 1, "direction": "out"})
        assert end in [node["id"] for node in found["nodes"]]


def test_a_budget_keeps_the_surest_and_says_so(place: Place) -> None:
    found = _related(place, "heart", hops=3, nodes=2)
    assert (_labels(found), found["partial"]) == (["blood", "Exercise"], "nodes")


# -- paths


def _connect(place: Place, start: Any, end: Any, **more: Any) -> Any:
    ids = place.writer.ids
    return place.ask("/query/connect", {"start": ids.get(start, start), "end": ids.get(end, end), **more})


def _stops(found: Any) -> list[list[str]]:
    return [[stop["label"] for stop in path["stops"]] for path in found["paths"]]


def test_paths_between_two_concepts(place: Place) -> None:
    found = _connect(place, "heart", "muscles")
    assert _stops(found) == [["heart", "muscles"], ["heart", "blood", "oxygen", "muscles"]]
    assert [step["type"] for step in found["paths"][1]["steps"]] == ["MOVES", "CARRIES", "FEEDS"]
    assert found["paths"][1]["confidence"] == pytest.approx(0.504)
    quote = found["paths"][1]["steps"][0]["evidence"]
    assert quote["sentence"] == "The heart pumps blood through the body."
    assert HEART[quote["start"] : quote["end"]] == quote["quote"] == "heart pumps blood"
    back = _connect(place, "muscles", "heart", k=1, tier="precise")
    assert _stops(back) == [["muscles", "oxygen", "blood", "heart"]]
    assert not any(step["forward"] for step in back["paths"][0]["steps"])
    assert _stops(_connect(place, "heart", "muscles", tier="precise", max_hops=2)) == []
    assert _connect(place, "heart", "car")["paths"] == []


def test_paths_between_two_phrases_say_what_they_were_taken_for(place: Place) -> None:
    found = _connect(place, "automobile", "oil", ontology="cars")
    assert (found["start"]["label"], found["start"]["phrase"], found["end"]["phrase"]) == ("car", "automobile", None)
    assert _stops(found) == [["car", "engine", "Fuel", "oil"]]
    assert place.ask("/query/connect", {"start": 999999, "end": 1}, status=404)["detail"] == "there is no concept 999999"


NONSENSE = "zebra crossing"
CARS = ("car", "engine", "Fuel", "oil")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("resolve", {"phrase": NONSENSE}), ("related", {"concept": NONSENSE}), ("connect", {"start": NONSENSE, "end": "oil"}),
        ("connect", {"start": "oil", "end": NONSENSE}), ("resolve", {"phrase": '-oil "'}),
    ],
)  # fmt: skip
def test_what_is_like_nothing_is_taken_for_nothing(place: Place, path: str, body: Any) -> None:
    # Red with the first hit of a search taken for it, however far it is.
    if path == "resolve" and "oil" in body["phrase"]:  # what a search reads as "without" is read as a word
        assert place.ask("/query/resolve", body)["label"] == "oil"
        return
    problem = place.ask(f"/query/{path}", body, status=404)
    assert problem["code"] == "KG-262" and problem["detail"].startswith("nothing like")
    assert all(f"{one['label']} (id {one['id']})" in problem["detail"] for one in problem["suggestions"])


def test_a_phrase_is_a_name_first(place: Place) -> None:
    found = place.ask("/query/resolve", {"phrase": "The Heart’s"})
    assert (found["label"], found["ontology"], found["score"]) == ("heart", "medicine", 1.0)
    assert place.ask("/query/resolve", {"phrase": "automobile"})["label"] == "car"
    assert place.ask("/query/resolve", {"phrase": "heart", "ontology": "cars"}, status=404)["code"] == "KG-262"
    assert place.ask("/query/resolve", {"phrase": "heart"}, by="driver", status=404)["code"] == "KG-262"
    assert place.ask("/query/resolve", {"phrase": "heart", "ontology": "nope"}, status=404)["code"] == "KG-204"
    around = place.ask("/query/related", {"concept": "heart", "hops": 1})
    assert (around["phrase"], around["score"], around["concept"]["label"]) == ("heart", 1.0, "heart")


def test_a_concept_in_one_ontology_alone(place: Place) -> None:
    heart = place.writer.ids["heart"]
    assert place.ask(f"/query/concept/{heart}?ontology=medicine")["label"] == "heart"
    for path, body in ((f"concept/{heart}?ontology=cars", None), ("related", {"concept": heart, "ontology": "cars"})):
        assert place.ask(f"/query/{path}", body, status=404)["code"] == "KG-261"


# -- one concept


def test_a_concept_with_its_facts(place: Place) -> None:
    writer = place.writer
    found = place.ask(f"/query/concept/{writer.ids['heart']}")
    assert (found["label"], found["ontology"], found["seen_count"]) == ("heart", "medicine", 3)
    assert [HEART[one["start"] : one["end"]] for one in found["facts"]] == ["heart"] * 3
    assert found["facts"][1]["sentence"] == "Smoking damages the heart."
    assert found["aliases"] == [{"form": "heart", "sources": 1}]
    told = [(one["type"], one["outward"], one["other_label"]) for one in found["relations"]]
    assert told == [("MOVES", True, "blood"), ("NEAR", True, "muscles"), ("SUPPORTS", False, "Exercise")]
    assert found["relations"][2]["evidence"]["sentence"].startswith("Exercise strengthens the heart")
    assert len(place.ask(f"/query/concept/{writer.ids['heart']}?limit=1")["facts"]) == 1


def test_a_merged_concept_is_found_by_its_old_id(place: Place) -> None:
    ids = place.writer.ids
    columns = [
        row[0]
        for row in place.writer.db.execute(
            "select column_name from information_schema.columns where table_schema = 'kg' and table_name = 'concept_moves'"
        )
    ]
    extra = ", form" if "form" in columns else ""
    place.writer.db.execute(
        f"insert into kg.concept_moves (old_id, new_id{extra}) values (777777, %s{', %s' if extra else ''})".encode(),
        [ids["oil"], *(["oil"] if extra else [])],
    )
    found = place.ask("/query/concept/777777")
    assert (found["label"], found["moved_from"]) == ("oil", 777777)
    assert place.ask("/query/related", {"concept": 777777, "hops": 1})["concept"]["label"] == "oil"
    assert place.ask("/query/concept/999999", status=404)["code"] == "KG-261"


# -- who sees what


def test_outside_of_ones_ontologies_nothing_exists(place: Place) -> None:
    ids = place.writer.ids
    found = place.ask("/query/search", {"query": "what moves the heart", "limit": 200}, by="driver")["concepts"]
    assert {one["ontology"] for one in found} == {"cars"}
    passages = place.ask("/query/search", {"query": "heart fuel", "what": "passages", "limit": 200}, by="driver")["passages"]
    assert {one["ontology"] for one in passages} == {"cars"}
    for path, body in (
        (f"/query/concept/{ids['heart']}", None), ("/query/related", {"concept": ids["heart"]}),
        ("/query/connect", {"start": ids["heart"], "end": ids["car"]}),
        ("/query/connect", {"start": ids["car"], "end": ids["blood"]}),
    ):  # fmt: skip
        assert place.ask(path, body, by="driver", status=404)["code"] == "KG-261"
    for path, asked in (("/query/search", {"query": "heart", "ontology": "medicine"}), ("/graph/export?ontology=medicine", None)):
        assert place.ask(path, asked, by="driver", status=404)["code"] == "KG-204"
    problem = place.ask("/query/connect", {"start": "heart", "end": ids["engine"]}, by="driver", status=404)
    assert problem["code"] == "KG-262" and {one["id"] for one in problem["suggestions"]} <= {ids[one] for one in CARS}
    assert b"heart" not in place.ask("/graph/export", by="driver")
    assert place.ask(f"/query/concept/{ids['car']}", by="driver")["label"] == "car"


def test_own_is_what_one_has_made(place: Place) -> None:
    found = place.ask("/query/search", {"query": "earth heart", "limit": 200}, by="maker")["concepts"]
    assert [one["label"] for one in found] == ["clay"]
    assert place.ask(f"/query/concept/{place.writer.ids['car']}", by="maker", status=404)["code"] == "KG-261"


# -- export


def _export(place: Place, format: str) -> bytes:
    found: bytes = place.house.ask("read_only", "GET", f"/graph/export?format={format}&ontology=hostile").content
    return found


def _in_xml(text: str) -> str:
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", text)


def test_graphml_is_read_as_it_was_meant(place: Place) -> None:
    root = ET.fromstring(_export(place, "graphml"))
    nodes = {node.get("id"): {data.get("key"): data.text for data in node} for node in root.iter(f"{NS}node")}
    assert [one["label"] for one in nodes.values()] == [_in_xml(label or " ") for label in HOSTILE]
    edges = list(root.iter(f"{NS}edge"))
    ids = list(nodes)
    assert [(one.get("source"), one.get("target")) for one in edges] == [(ids[0], ids[1]), (ids[1], ids[2])]
    assert [one.findtext(f"{NS}data[@key='both_ways']") for one in edges] == ["true", "false"]
    assert not any(one.get("directed") for one in edges), "networkx reads no graph that mixes the two"
    keys = {key.get("id") for key in root.iter(f"{NS}key")}
    assert {data.get("key") for data in root.iter(f"{NS}data")} <= keys


def test_json_ld_is_json(place: Place) -> None:
    graph = json.loads(_export(place, "jsonld"))["@graph"]
    assert [one["label"] for one in graph if one["@type"] == "Concept"] == [label or " " for label in HOSTILE]
    relations = [one for one in graph if one["@type"] == "Relation"]
    known = {one["@id"] for one in graph}
    assert len(relations) == 2 and {one["from"] for one in relations} | {one["to"] for one in relations} <= known


def test_csv_runs_no_formula(place: Place) -> None:
    with zipfile.ZipFile(io.BytesIO(_export(place, "csv"))) as archive:
        assert archive.testzip() is None
        concepts, relations = (
            list(csv.DictReader(io.StringIO(archive.read(name).decode(), newline=""))) for name in ("concepts.csv", "relations.csv")
        )
    labels = [one["label"] for one in concepts]
    assert [label.removeprefix("'") for label in labels] == [label or " " for label in HOSTILE]
    assert not [label for label in labels if label[0] in "=+-@\t\r"]
    assert [(one["type"], one["direction"]) for one in relations] == [("IS_A", "both"), ("IS_A", "forward")]


def test_cypher_stays_one_statement_each(place: Place) -> None:
    lines = _export(place, "cypher").decode().splitlines()
    assert len(lines) == 1 + len(HOSTILE) + 2
    text = r"'(?:[^'\\\n]|\\.)*'"
    value = rf"(?:{text}|\[(?:{text}(?:, {text})*)?\]|[0-9.e+-]+)"
    values = rf"\{{\w+: {value}(?:, \w+: {value})*\}}"
    for line in lines[1 : 1 + len(HOSTILE)]:
        assert re.fullmatch(rf"MERGE \(c:Concept \{{id: \d+\}}\) SET c \+= {values};", line), line
    for line in lines[1 + len(HOSTILE) :]:
        ends = r"MATCH \(a:Concept \{id: \d+\}\), \(b:Concept \{id: \d+\}\) "
        assert re.fullmatch(rf"{ends}MERGE \(a\)-\[r:`IS_A` \{{id: \d+\}}\]->\(b\) SET r \+= {values};", line), line
    label = re.search(rf"label: ({text})", lines[4])
    assert label is not None
    assert re.sub(r"\\(.)", r"\1", label[1][1:-1]) == HOSTILE[3]


def test_an_export_says_what_it_is(place: Place) -> None:
    answer = place.house.ask("read_only", "GET", "/graph/export?format=csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="graph.zip"'
    assert answer.headers["content-type"] == "application/zip"
    assert place.ask("/graph/export?format=doc", status=422)
    assert place.ask("/graph/export?ontology=nowhere", status=404)["code"] == "KG-204"

"""`kg search`, `related`, `path`, `show` and `graph export`, against a server."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.kg.graph import HEART, Writer, fill
from tests.kg.served import Cli, Served, commands, serve
from tests.servers import Databases


@pytest.fixture(scope="module")
def graph(_fleet: Callable[[int], Databases]) -> Iterator[tuple[Served, Writer]]:
    with _fleet(18).with_schema() as dsn, psycopg.connect(dsn, autocommit=True) as db:
        writer = Writer(db)
        with serve(dsn, writer.embed) as served:
            fill(writer)
            writer.leaflet("leaflets", "coast.txt", "shelf", "A lighthouse keeper trims the lamp.")
            writer.concept("loud", "red\x1b[31m\u202ealarm", "bell\x07")
            writer.document(
                "noise", "bells.txt", "A bell is near a siren.\n\n# Prices\n- bell: cheap\n- siren: dear\n\nwhat | price\nbell | 3"
            )
            for label in ("bell", "siren"):
                writer.concept("noise", label, document="bells.txt")
            writer.relate("bell", "RELATED_TO", "siren", 0.25, tier="weak", document="bells.txt", direction="both")
            yield served, writer


@pytest.fixture
def cli(graph: tuple[Served, Writer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return commands(graph[0], tmp_path, monkeypatch, capsys)


def test_search(cli: Cli) -> None:
    code, out, err = cli("search", "Exercise", "--limit", "1")
    assert (code, err) == (0, "")
    head, line, *quote = out.splitlines()
    assert head.split() == ["ID", "CONCEPT", "ONTOLOGY", "SEEN", "GROUNDED", "SCORE"]
    assert line.split()[1:4] == ["Exercise", "medicine", "1"]
    start = HEART.index("Exercise")
    assert quote == [
        "    “Exercise strengthens the heart, and a study contradicts the claim that rest",
        "    does.”",
        f"    — heart.txt:{start}–{start + 8}",
    ]
    assert all(len(one) <= 80 for one in out.splitlines())
    found = json.loads(cli("search", "Exercise", "-o", "json", "--limit", "1")[1])
    assert found[0]["evidence"]["quote"] == "Exercise"
    assert cli("search", "exercise", "--mode", "text", "-o", "ids")[1] == f"{found[0]['id']}\n"
    assert cli("search", "zebra", "--mode", "text") == (0, "", "nothing was found; try other words, or --passages\n")
    code, out, err = cli("search", "xyzzy", "plugh", "--limit", "3")
    assert (code, err) == (0, "nothing has these words or is near in meaning; the nearest, however far, are:\n")
    assert out.startswith("ID") and cli("search", "Exercise", "-o", "jsonl")[2] == ""
    code, _, err = cli("search", "x", "--ontology", "nowhere")
    assert (code, err) == (5, "KG-204: there is no ontology 'nowhere'\n")
    code, out, _ = cli("search", "--passages", "fuel", "oil", "--mode", "text", "--limit", "1")
    assert (code, "cars.txt:45–67" in out, "  Fuel is made from oil." in out) == (0, True, True)


def test_search_where_there_is_no_graph(cli: Cli) -> None:
    for words in (("--passages",), ("--collection", "shelf")):
        code, out, err = cli("search", "lighthouse", "keeper", *words, "--limit", "1")
        assert (code, err) == (0, "")
        head, text = out.splitlines()
        assert head.startswith("coast.txt:0–35  (leaflets, no graph: shelf, ") and text == "  A lighthouse keeper trims the lamp."
    assert cli("search", "x", "--collection", "nowhere") == (5, "", "KG-261: there is no collection 'nowhere'\n")


def test_what_a_label_says_does_not_reach_the_terminal(cli: Cli, graph: Any) -> None:
    for words in (("search", "alarm"), ("show", str(graph[1].ids["red\x1b[31m\u202ealarm"]))):
        for form in ("table", "json", "jsonl"):
            out = cli(*words, "-o", form)[1]
            assert "alarm" in out and not {"\x1b", "\u202e", "\x07"} & set(out)


def test_related(cli: Cli, graph: Any) -> None:
    code, out, err = cli("related", "heart", "--hops", "2", "--precise")
    assert (code, err) == (0, f"'heart' is taken for {graph[1].ids['heart']} (heart, medicine)\n")
    rows = [line.split() for line in out.splitlines()]
    assert [row[2] for row in rows] == ["CONCEPT", "blood", "Exercise", "oxygen"]
    assert (rows[1][4:], rows[2][4:]) == (["heart", "→", "MOVES"], ["heart", "←", "SUPPORTS"])
    assert cli("related", "heart", "--nodes", "1")[2].endswith("there is more: raise --nodes\n")
    assert cli("related", "999999")[0] == 5
    assert cli("related", "heart", "--ontology", "medicine")[0] == 0
    code, out, err = cli("related", "heart", "--ontology", "cars")
    assert (code, out, err.split(":")[0]) == (5, "", "KG-262")
    code, _, err = cli("related", "heart", "--hops", "9")
    assert (code, err.splitlines()[-1]) == (2, "KG-122: hops: should be less than or equal to 6")
    assert cli("path", "", "heart") == (2, "", "KG-122: start: string should have at least 1 character\n")


def test_path(cli: Cli, graph: Any) -> None:
    ids = graph[1].ids
    code, out, err = cli("path", str(ids["heart"]), "muscles", "--precise")
    assert (code, err) == (0, f"'muscles' is taken for {ids['muscles']} (muscles, medicine)\n")
    lines = out.splitlines()
    assert lines[0] == "heart  (3 steps, confidence 0.50)"
    assert lines[1:4] == [
        "  ── MOVES ─▶ blood", "       “The heart pumps blood through the body.”", "       — heart.txt:4–21"
    ]  # fmt: skip
    code, out, err = cli("path", str(ids["heart"]), str(ids["car"]))
    assert (code, out, err) == (0, "", "no path of at most 4 steps was found\n")
    out = cli("path", str(ids["heart"]), str(ids["muscles"]), "-k", "1", "-o", "ids")[1]
    assert out == f"{ids['heart']} {ids['muscles']}\n"
    assert json.loads(cli("path", "heart", "muscles", "-o", "json")[1])[0]["start"]["label"] == "heart"


def test_show(cli: Cli, graph: Any) -> None:
    code, out, _ = cli("show", "heart")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"heart  (thing, medicine, id {graph[1].ids['heart']})"
    assert "  “Smoking damages the heart.”" in lines and ["  ── MOVES ─▶ blood ", "0.90, id 2)"][0] in out
    assert "◀─ SUPPORTS ── Exercise" in out and "(0.20, weak, id" in out
    assert all(len(line) <= 80 for line in lines)
    assert cli("show", "heart", "-o", "ids")[1] == f"{graph[1].ids['heart']}\n"
    assert cli("show", "heart", "--ontology", "medicine")[1] == out
    assert cli("show", str(graph[1].ids["heart"]), "--ontology", "cars")[0] == 5
    code, out, err = cli("show", "zebra", "crossing")
    assert (code, out) == (5, "") and err.startswith("KG-262: nothing like 'zebra crossing' is in the graph")
    assert cli("show", "٣")[0] == 5  # a digit, and no id
    assert cli("show", "999999") == (5, "", "KG-261: there is no concept 999999\n")


def test_what_holds_both_ways_points_nowhere(cli: Cli, graph: Any) -> None:
    # Red while the arrow was that of the row in the database.
    one, other = (str(graph[1].ids[name]) for name in ("bell", "siren"))
    assert "  ── RELATED_TO ── siren  (0.25, weak, " in cli("show", one)[1]
    assert "  ── RELATED_TO ── bell  (0.25, weak, " in cli("show", other)[1]
    assert "  ── RELATED_TO ── bell (weak)" in cli("path", other, one)[1]
    assert "siren – RELATED_TO" in cli("related", other)[1]


def test_lists_and_tables_of_a_passage_keep_their_lines(cli: Cli) -> None:
    lines = cli("search", "--passages", "bell", "price", "--ontology", "noise", "--mode", "text")[1].splitlines()
    assert {"  # Prices", "  - bell: cheap", "  - siren: dear", "  what | price", "  bell | 3"} <= set(lines)


def test_unknown_words_are_told_with_the_usage_of_the_command(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli("path", "a", "b", "--k", "1")
    err = capsys.readouterr().err
    assert ended.value.code == 2 and err.startswith("usage: kg path ") and "kg path: error: unrecognized arguments: --k 1" in err


def test_export(cli: Cli, tmp_path: Path) -> None:
    code, out, err = cli("graph", "export", "--file", "graph.xml", "--ontology", "cars")
    assert (code, out) == (0, "") and err.startswith("graph.xml: ")
    assert len(list(ET.parse(tmp_path / "graph.xml").iter("{http://graphml.graphdrawing.org/xmlns}node"))) == 4
    assert cli("graph", "export", "--file", "nowhere/graph.xml")[0] == 2
    assert cli("graph", "export", "--file", "missing.xml", "--ontology", "nowhere")[0] == 5
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".xml", ".part")) == ["graph.xml"]

    code, out, _ = cli("graph", "export", "--format", "cypher", "--ontology", "cars")
    assert (code, out.count("MERGE (c:Concept")) == (0, 4)

"""Bars and lines for many documents, on terminals of any size."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

import pytest

from kg.cli import bars as drawing
from kg.cli import waiting
from kg.cli.bars import Bars
from kg.cli.evidence import around, columns, wrapped
from kg.cli.waiting import Waiting
from kg.errors import ServerAway
from lanework.cli.text import width
from tests.kg.terminal import Screen


class Server:
    """Answers as the routes do. `requests` counts them."""

    def __init__(self, documents: int) -> None:
        self.documents = [_document(id, f"number {id} 名前.md") for id in range(1, documents + 1)]
        self.requests: list[str] = []
        self.away = False
        self.explained: dict[int, dict[str, Any]] = {}

    def ask(self, _method: str, path: str, params: Any = None) -> Any:
        self.requests.append(path)
        if self.away:
            raise ServerAway("no server answers")
        if path.startswith("/jobs"):
            return self.explained[int(path.split("/")[2])]
        if path != "/documents":
            return self.documents[int(path.rpartition("/")[2]) - 1]
        found = [one for one in reversed(self.documents) if one["id"] < params["before"]]
        page = [one for one in found if one["processing_status"] in params["status"]][: params["limit"]]
        return {"documents": page, "next": page[-1]["id"] if len(page) == params["limit"] else None}

    def end(self, *ids: int, status: str = "completed", error: str | None = None) -> None:
        for id in ids:
            self.documents[id - 1] |= {"processing_status": status, "chunks_done": 2, "error": error}


def _document(id: int, name: str) -> dict[str, Any]:
    return {
        "id": id, "name": name, "ontology": "o", "processing_status": "queued", "stage": "", "chunks": 2, "chunks_done": 0,
        "chunks_failed": 0, "error": None, "job_id": id + 1000, "provenance": {},
    }  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    return now


def look(server: Server, it: Waiting, clock: list[float], capsys: pytest.CaptureFixture[str], screen: Screen) -> list[str]:
    clock[0] += 1
    it.look()
    screen.feed(capsys.readouterr().out.replace("\n", "\r\n"))
    return [line.rstrip() for line in screen.lines if line.strip()]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server(300)
    monkeypatch.setattr(waiting, "ask", server.ask)
    return server


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, lines: int) -> None:
    monkeypatch.setattr(drawing, "is_terminal", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((columns, lines)))


def begin(server: Server) -> Waiting:
    it = Waiting(len(server.documents), Bars())
    for one in server.documents:
        it.add(dict(one))
    return it


def test_hundreds_are_one_request_and_one_screen(
    server: Server, clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_terminal(monkeypatch, 80, 24)
    it, screen = begin(server), Screen(80)
    lines = look(server, it, clock, capsys, screen)
    assert server.requests == ["/documents"]
    assert len(lines) == 13 and lines[-1].startswith("0 of 300 documents") and lines[-1].endswith("  0% 300 waiting")
    server.documents[249] |= {"processing_status": "processing", "stage": "extract", "chunks_done": 1}
    server.end(*range(1, 101))
    server.end(7, status="failed", error="KG-211: it is damaged " + "and more " * 20)
    lines = look(server, it, clock, capsys, screen)
    assert lines[0].startswith("failed      number 7 名前.md") and lines[1].startswith("            KG-211: it is damaged")
    assert [line for line in lines if line.startswith(("completed", "failed"))] == lines[:1]
    bars = [line for line in lines if "░" in line]
    assert bars[0].startswith("number 250 名前.md") and bars[0].endswith("██████████░░░░░░░░░░  50% processing: extract 1/2")
    assert len(bars) == 13 and lines[-1].endswith("34% 1 at work, 199 waiting")
    assert screen.most < 80
    # nothing has changed: nothing is written
    clock[0] += 1
    it.look()
    assert capsys.readouterr().out == ""
    server.end(*(id for id in range(1, 301) if id != 7))
    assert it.until_all() == 1
    told = capsys.readouterr()
    assert told.err == "300 documents: 299 completed, 1 failed\n"
    screen.feed(told.out.replace("\n", "\r\n"))
    assert not any("░" in line or "█" in line for line in screen.lines)
    # one for each that has ended, and one for each round
    assert len(server.requests) < 310


def test_pages_of_a_list_down_to_the_oldest_of_ours(
    server: Server, clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_PAGE", 30)
    it = Waiting(100, Bars())
    for one in server.documents[100:200]:  # others came before and after
        it.add(dict(one))
    server.end(150)
    it.look()
    assert server.requests == [*["/documents"] * 4, "/documents/150"]
    assert capsys.readouterr().out.startswith("completed   number 150 名前.md")
    server.end(*range(101, 201))
    assert it.until_all() == 0


@pytest.mark.parametrize("size", [(80, 24), (57, 10), (40, 6), (20, 3), (200, 60)], ids=str)
def test_rows_fit(
    server: Server, clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], size: tuple[int, int]
) -> None:
    columns, lines = size
    on_a_terminal(monkeypatch, columns, lines)
    it, screen = begin(server), Screen(columns)
    for done in range(1, 40, 3):
        server.documents[done + 100] |= {"processing_status": "processing", "stage": "waits for a provider that is busy"}
        drawn = look(server, it, clock, capsys, screen)
        assert len(drawn) < max(lines, 2)
        assert all(width(line) < columns for line in drawn)


def test_without_a_terminal_there_is_a_line_for_each(
    server: Server, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    it = begin(server)
    server.end(*range(1, 301))
    assert it.until_all() == 0
    out = capsys.readouterr().out
    assert (out.count("\n"), "\x1b" in out) == (300, False)


def test_what_was_doubtful_is_said_when_it_has_ended(
    server: Server, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    it = begin(server)
    server.documents[4]["provenance"] = {"warnings": ["its text is in a script that nobody reads, " * 3]}
    server.end(*range(1, 301))
    assert it.until_all() == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[4].startswith("completed   number 5") and lines[5].startswith("            note: its text is in a script")
    assert len(lines) == 302 and max(map(len, lines)) <= 80
    assert told.err == "300 documents: 300 completed; 1 with a note: `kg docs show ID`\n"


def test_a_server_that_is_away_is_waited_for(server: Server, clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    it = begin(server)
    it.look()
    server.away = True
    for _ in range(50):
        clock[0] += 1
        it.look()
    server.away = False
    server.end(*range(1, 301))
    assert it.until_all() == 0
    server.documents[0]["processing_status"] = "queued"
    it.add(server.documents[0])
    server.away = True
    with pytest.raises(ServerAway):
        it.until_all()


def test_as_much_of_a_sentence_as_people_read() -> None:
    assert around("| 4 | a dead process is noticed | `tests/test_it.py` |", "dead process") == "a dead process is noticed"
    assert around("A short one.", "short") == "A short one."
    long = " ".join(f"word{n}" for n in range(200))
    assert around(long, "word0").startswith("word0 word1") and around(long, "word0").endswith(" …")
    assert around(long, "word199").endswith("word198 word199") and around(long, "word199").startswith("… ")
    middle = around(long, "word100 word101")
    assert "word100 word101" in middle and len(middle) <= 264
    assert all(one in ("…", *long.split()) for one in middle.split())
    assert around(long, "no such words").startswith("word0")


def test_lines_are_as_wide_as_they_look() -> None:
    text = "short 日本語の長い文章はどこで切るのか " * 8 + "x" * 200
    lines = wrapped(text, "    ")
    assert all(width(line) <= columns() and line.startswith("    ") for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert wrapped("one\n\ntwo\tthree") == ["one two three"]


def _explained(reason: str, text: str, remedy: str, *holders: str) -> dict[str, Any]:
    return {"reason": reason, "text": text, "remedy": remedy, "waits_for": [], "holders": holders}


def test_where_nothing_moves_it_says_why(
    server: Server, clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.explained = {
        1001: _explained("estimating", "what it will cost is being estimated by job 2", "explain that job", "job:2"),
        2: _explained("no_worker", "no worker is alive", "lanework worker module:app"),
    }
    it = Waiting(1, Bars(silent=False))
    it.add(server.documents[0])
    for _ in range(4):
        clock[0] += 1
        it.look()
    assert not any(path.startswith("/jobs") for path in server.requests), "it has only just begun"
    for _ in range(20):
        clock[0] += 1
        it.look()
    told = capsys.readouterr().err
    assert "number 1" in told and "no worker is alive; start one with `kg work`" in told
    assert told.count("no worker") == 1, "once is enough"
    server.documents[0] |= {"processing_status": "processing"}
    asked = len(server.requests)
    for _ in range(20):
        clock[0] += 1
        it.look()
    assert not any(path.startswith("/jobs") for path in server.requests[asked:]), "it is at work"

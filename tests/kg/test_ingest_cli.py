"""`kg ingest` against a server with a worker: what goes well, and what does not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from kg.documents.limits import ParseLimits
from kg.documents.parsing import parse
from kg.errors import FetchFailed
from tests.kg import files
from tests.kg.fakes import FakePage, Parts
from tests.kg.served import Cli, Served, commands, serve
from tests.servers import Databases

LIMIT = 3_000_000


@pytest.fixture(scope="module")
def parts() -> Parts:
    return Parts(parse=partial(parse, limits=ParseLimits(cpu=10, wall=110, memory=192 << 20, characters=2_000_000)))


@pytest.fixture(scope="module")
def served(_fleet: Callable[[int], Databases], parts: Parts) -> Iterator[Served]:
    with (
        _fleet(18).with_schema() as dsn,
        psycopg.connect(dsn, autocommit=True) as db,
        serve(dsn, parts=parts, kg={"document_limit": LIMIT}) as served,
    ):
        db.execute("create table fake_graph (source bigint references kg.sources on delete cascade, word text, start int)")
        worker = served.work.worker()
        served.act(worker.__aenter__())
        yield served
        served.act(worker.__aexit__(None, None, None))


@pytest.fixture
def cli(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return commands(served, tmp_path, monkeypatch, capsys)


#: Name, content, and what is said about it.
BAD = {
    "empty.md": (b"", "KG-211: 'empty.md' is empty"),
    "blank.txt": (b" \n\n ", "KG-211: 'blank.txt': there is no text in it"),
    "notes.pdf": (b"just text", "KG-210: 'notes.pdf' should be a PDF, but its content is text"),
    "picture.md": (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "KG-210: 'picture.md' is named .md, but its content is image/png"),
    "locked.pdf": (files.encrypted_pdf(), "KG-211: 'locked.pdf': it is encrypted"),
    "locked.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "KG-211: it is encrypted"),
    "scanned.pdf": (files.pdf(["", ""]), "KG-211: 'scanned.pdf': there is no text on any of its pages"),
    "blank.docx": (files.word(), "KG-211: 'blank.docx': there is no text in it"),
    "bomb.docx": (files.with_false_size(files.word(("", "x")), files.DOCUMENT, 0xFFFFFFF0), "KG-212: 'bomb.docx': it unpacks to"),
    "deep.html": (b"<div>" * 100_000, "KG-211: 'deep.html': its elements are nested more than 20,000 deep"),
    "line.txt": (b"x" * 2_500_000, "KG-212: 'line.txt': its text has 2,500,000 characters"),
}


def test_bad_files_fail_alone_and_stop_nobody(cli: Cli, served: Served, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, (data, _) in BAD.items():
        (folder / name).write_bytes(data)
    (folder / "good.txt").write_text("Lanes have Slots.")
    code, out, err = cli("ingest", str(folder), "--ontology", "bad", "--wait")
    assert (code, err) == (1, "")
    said = {}
    for part in out.replace("\n            ", " ").splitlines():  # an error is wrapped, and stands below its document
        status, name, *error = part.split()
        assert status == ("completed" if name == "good.txt" else "failed")
        said[name] = " ".join(error)
    assert {name: (wanted in said[name]) for name, (_, wanted) in BAD.items()} == dict.fromkeys(BAD, True), said
    code, out, _ = cli("docs", "list", "--ontology", "bad", "--status", "completed", "-o", "json")
    assert [one["name"] for one in json.loads(out)] == ["good.txt"]
    jobs = [job for job in served.act(served.work.alist(status="failed", type="ingestion", limit=100)) if job.error_code]
    assert len(jobs) == len(BAD)


def test_odd_names_and_what_is_known_by_another_name(cli: Cli, tmp_path: Path) -> None:
    # Red while a key with a line break was refused, and nobody said which document a copy is.
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "a\x1b[31m\nb.txt").write_text("Odd Names.")
    code, out, err = cli("ingest", str(folder), "--ontology", "odd", "--wait")
    assert (code, err) == (0, "") and out.startswith("completed   a\ufffd[31m\ufffdb.txt")
    (tmp_path / "copy.txt").write_text("Odd Names.")
    code, out, err = cli("ingest", "copy.txt", "--ontology", "odd", "-o", "ids")
    assert (code, err) == (0, f"known already\n  copy.txt has the content of a\ufffd[31m\ufffdb.txt (document {out.strip()})\n")
    for n in range(6):
        (tmp_path / f"copy{n}.txt").write_text("Odd Names.")
    code, _, err = cli("ingest", *(f"copy{n}.txt" for n in range(6)), "--ontology", "odd", "--wait")
    first, *told, last = err.splitlines()
    assert (code, first, len(told)) == (0, "6 of 6 documents known already", 5)
    assert last == "  and 1 more have that of a document with another name"
    assert cli("ingest", str(folder), "--ontology", "odd")[2] == "known already\n"
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "w") as file:  # noqa: PTH123 - a name that is no UTF-8
        file.write("Coffee Houses.")
    assert cli("ingest", str(tmp_path), "--ontology", "odd", "-o", "json")[1].count('"name": "caf\ufffd.txt"') == 1


def test_an_estimate_names_a_file_once(cli: Cli, tmp_path: Path) -> None:
    for name in ("empty.txt", "void.txt"):
        (tmp_path / name).write_bytes(b"")
    assert cli("ingest", "empty.txt", "--estimate") == (2, "", "KG-211: 'empty.txt' is empty\n")
    assert cli("ingest", "empty.txt", "void.txt", "--estimate")[2].count("empty.txt") == 1
    assert cli("ingest", "ftp://example.org/a") == (
        2,
        "",
        "LW-100: of addresses http and https are fetched, not 'ftp://example.org/a'\n",
    )


def test_a_gigabyte_is_refused_before_it_is_sent(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "line.txt").open("wb") as file:
        file.truncate(1 << 30)
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("all was read") if self.name == "line.txt" else read(self))
    code, out, err = cli("ingest", "line.txt", "--ontology", "large")
    assert (code, out, err) == (2, "", f"KG-212: line.txt: the body is larger than {LIMIT + 65_536:,} bytes\n")
    assert cli("docs", "list", "--ontology", "large", "-o", "ids")[1] == ""


def test_addresses(cli: Cli, parts: Parts) -> None:
    parts.web.has("https://example.org/lanes", FakePage(b"Lanes have Rows.", name="lanes.txt"))
    parts.web.has("https://example.org/again", FakePage(b"Lanes have Rows.", name="again.txt"))
    parts.web.has("https://example.org/gone", FetchFailed("it answered 404", error_class="permanent"))
    code, out, err = cli("ingest", "https://example.org/lanes", "--ontology", "web", "--wait")
    assert (code, err) == (0, "") and " ".join(out.split()) == "completed lanes.txt 1/1 chunks"
    code, out, err = cli("ingest", "https://example.org/again", "--ontology", "web", "--wait")
    assert (code, err) == (0, "") and out.startswith("duplicate   again.txt") and "of document" in out
    assert "duplicate of" in cli("docs", "list", "--ontology", "web")[1]
    code, out, err = cli("ingest", "https://example.org/gone", "http://127.0.0.1:1/x", "--ontology", "web", "--wait")
    assert (code, err) == (1, "")
    assert "KG-215: it answered 404" in out and "KG-214: " in out and "127.0.0.1" in out
    assert cli("ingest", "https://example.org/lanes", "--estimate") == (
        0,
        "https://example.org/lanes: free, 1 chunk, 220 tokens\n  note: there is very little text in it\n",
        "",
    )
    code, out, err = cli("ingest", "http://ada:secret@example.org/", "--ontology", "web")
    assert (code, out, "secret" in err) == (2, "", False)

"""`kg ingest`, `kg docs` and `kg ontologies` against a real `kg up`, with a terminal and without."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kg.cli import main
from tests.kg.processes import Kg, environment, run, started, until
from tests.kg.terminal import terminal
from tests.servers import data_folder

pytestmark = [pytest.mark.processes, pytest.mark.pg(18)]
Cli = Callable[..., tuple[int, str, str]]
TEXT = "Marie Curie discovered radium in Paris. Pierre Curie worked with Marie Curie at the Sorbonne. {}\n"


@pytest.fixture(scope="module")
def kg() -> Iterator[Kg]:
    with data_folder() as place, started(place / "kg", "up") as kg:
        yield kg


@pytest.fixture
def cli(kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    for name in ("KG_URL", "KG_TOKEN", "KG_DSN", "LANEWORK_DSN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANEWORK_DATA", str(kg.folder))
    monkeypatch.chdir(tmp_path)

    def call(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def write(folder: Path, *names: str) -> Path:
    """Documents that nobody knows yet: each says where it stands."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT.format(path))
    return folder


def hold(kg: Kg, *, lane: str = "interactive") -> Callable[[], None]:
    """No document is begun until the answer is called."""
    assert kg.ask("PATCH", f"/admin/workers/lanes/{lane}", '{"enabled": false}').status == 200

    def resume() -> None:
        assert kg.ask("PATCH", f"/admin/workers/lanes/{lane}", '{"enabled": true}').status == 200

    return resume


def test_a_folder_goes_in_and_out_again(cli: Cli, tmp_path: Path) -> None:
    names = ["eins.md", "deep/Über die Läufe – 名前.txt"]
    write(tmp_path / "in", *names, ".hidden/no.md", "no.jpeg")
    code, out, err = cli("ingest", "in", "--ontology", "folder", "--wait")
    assert (code, err) == (0, "")
    told = sorted(line.split(maxsplit=1) for line in out.splitlines())
    assert [(word, rest.rsplit(maxsplit=2)) for word, rest in told] == [
        ("completed", ["eins.md", "1/1", "chunks"]), ("completed", ["Über die Läufe – 名前.txt", "1/1", "chunks"])
    ]  # fmt: skip
    assert "\x1b" not in out
    code, out, err = cli("ingest", "in", "--ontology", "folder", "-o", "ids")
    assert (code, err) == (0, "2 of 2 documents known already\n")
    ids = out.split()
    shown = cli("docs", "show", ids[0])[1]
    assert "name       eins.md" in shown and f"key        file:{tmp_path / 'in' / 'eins.md'}" in shown
    assert cli("docs", "text", ids[0])[1] == TEXT.format(tmp_path / "in" / "eins.md")
    listed = json.loads(cli("docs", "--ontology", "folder", "--json")[1])
    assert [(one["processing_status"], one["ontology"]) for one in listed] == [("completed", "folder")] * 2
    assert cli("docs", "list", "--ontology", "folder", "--limit", "1")[2] == "these are the newest 1; --limit N shows more\n"
    assert "Sorbonne" in cli("search", "Sorbonne", "--ontology", "folder")[1]
    code, _, err = cli("docs", "delete", *ids)
    assert (code, err.count("is deleted")) == (0, 2)
    assert cli("docs", "delete", ids[0]) == (5, "", f"KG-200: there is no document {ids[0]}\n")
    assert cli("docs", "--ontology", "folder") == (0, "", "there are no documents in 'folder'\n")
    assert (
        cli("docs", "--status", "failed,partial", "--owner", "nobody")[2]
        == "there are no documents that are failed or partial of 'nobody'\n"
    )
    code, out, err = cli("docs", "--ontology", "nope")
    assert (code, out) == (5, "") and "there is no ontology 'nope'" in err and "KG-204" in err


def test_what_cannot_be_taken_is_named_and_the_rest_goes_in(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "good.md")
    (tmp_path / "empty.md").touch()
    (tmp_path / "odd.md").write_bytes(b"\x89\x00\x01\x02")
    (tmp_path / "nothing").mkdir()
    assert cli("ingest", "good.md", "none.md") == (2, "", "LW-100: there is no file or folder 'none.md'\n")
    code, out, err = cli("ingest", "nothing")
    assert (code, out) == (2, "") and err.startswith(
        "LW-100: there is nothing to read in nothing; of a folder, what ends with .adoc,"
    )
    assert cli("ingest", "-", "-")[0] == 2
    code, out, err = cli("ingest", "odd.md", "good.md", "empty.md", "--ontology", "rest", "--wait")
    assert (code, err) == (1, "") and f"{'completed   good.md':<48} 1/1 chunks\n" in out
    assert "KG-211: 'empty.md' is empty" in out and "KG-210: 'odd.md' is binary" in out
    code, _, err = cli("ingest", "good.md", "empty.md", "--name", "one")
    assert (code, err) == (2, "LW-100: --name is for one document, and there are 2\n")


def test_one_without_a_graph_says_so(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "coast.txt").write_text("Lighthouses have Lamps.")
    code, out, _ = cli("ingest", "coast.txt", "--no-graph", "--collection", "shelf", "--ontology", "notes", "--wait", "-o", "ids")
    assert code == 0
    assert "  graph      none: in the collection shelf\n" in cli("docs", "show", out.strip())[1]


def test_stdin_with_a_name_and_json_of_what_has_ended(cli: Cli) -> None:
    said = TEXT.format("on stdin")
    code, out, err = cli("ingest", "-", "--name", "letter.txt", "--ontology", "letters", "--wait", "--json", stdin=said)
    assert (code, err) == (0, "")
    document = json.loads(out)[0]
    assert (document["name"], document["processing_status"], document["chunks_done"]) == ("letter.txt", "completed", 1)
    code, out, err = cli("ingest", "-", "--ontology", "letters", "--wait", stdin=said)
    known = re.fullmatch(r"known already\n  stdin has the content of letter\.txt \(document \d+\)\n", err)
    assert (code, out) == (0, f"{'completed   letter.txt':<48} 1/1 chunks\n") and known
    code, _, err = cli("ingest", "-", "--ontology", "letters", "--force", "--wait", stdin=said)
    assert (code, err) == (0, "")
    assert json.loads(cli("docs", "show", str(document["id"]), "--json")[1])[0]["version"] == 2


def test_an_estimate_stores_nothing(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    code, out, err = cli("ingest", "b.md", "a.md", "--estimate", "--ontology", "priced")
    assert (code, err) == (0, "")
    first, *_, last = out.splitlines()
    assert first.startswith("b.md: free, 1 chunk, ") and last == "together: free"
    found = json.loads(cli("ingest", "a.md", "--estimate", "--json")[1])
    assert [(one["name"], one["items"]) for one in found] == [("a.md", 1)]
    assert "priced" not in cli("ontologies", "-o", "ids")[1].split()


def test_one_that_is_to_be_asked_for(cli: Cli, kg: Kg, tmp_path: Path) -> None:
    write(tmp_path, "dear.md")
    code, out, _ = cli("ingest", "dear.md", "--ask", "--wait", "--ontology", "dear")
    assert code == 1
    first, second = out.splitlines()
    assert first.split()[:3] == ["to", "approve", "dear.md"]
    document = json.loads(cli("docs", "--ontology", "dear", "--json")[1])[0]
    assert second == f"            approve it with: lanework jobs approve {document['job_id']}"
    assert kg.ask("POST", f"/jobs/{document['job_id']}/approve", "{}").status == 200
    assert cli("ingest", "dear.md", "--wait", "--ontology", "dear")[:2] == (0, f"{'completed   dear.md':<48} 1/1 chunks\n")


def test_ontologies(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "new.md")
    code, out, _ = cli("ontologies", "create", "dinosaurs", "--description", "all of them")
    assert (code, out.splitlines()[1].split()) == (0, ["dinosaurs", "active", "0", "0", "0", "all", "of", "them"])
    assert cli("ontologies", "create", "dinosaurs")[2].startswith("KG-207: ")
    assert cli("ontologies", "set", "dinosaurs", "--freeze")[1].splitlines()[1].split()[1] == "frozen"
    code, _, err = cli("ingest", "new.md", "--ontology", "dinosaurs")
    assert code == 1 and err.startswith("KG-206: new.md: ")
    assert cli("ontologies", "set", "dinosaurs", "--activate")[0] == 0
    assert cli("ingest", "new.md", "--ontology", "dinosaurs", "--wait")[0] == 0
    code, _, err = cli("ontologies", "delete", "dinosaurs")
    assert (code, err) == (2, "LW-100: the ontology 'dinosaurs' has 1 documents; --yes deletes them with it\n")
    assert cli("ontologies", "delete", "dinosaurs", "--yes")[0] == 0
    assert cli("ontologies", "delete", "dinosaurs", "--yes") == (5, "", "KG-204: there is no ontology 'dinosaurs'\n")


def test_nobody_is_there(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWORK_DATA", str(tmp_path))
    code, out, err = cli("docs")
    assert (code, out) == (3, "")
    assert err == "KG-120: no server is running here: start one with `kg up`, or name one with KG_URL and KG_TOKEN\n"
    monkeypatch.setenv("KG_URL", "127.0.0.1:1")
    monkeypatch.setenv("KG_TOKEN", "x")
    assert cli("docs") == (2, "", "LW-100: KG_URL: expected an address like http://127.0.0.1:8000, got '127.0.0.1:1'\n")


def test_one_kg_up_for_a_folder(kg: Kg) -> None:
    second = run(kg.folder, "up", "--port", "0")
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith(f"LW-100: `kg up` is running on {kg.folder} already, at http://127.0.0.1:{kg.port}; ")
    assert kg.ask("GET", "/documents").status == 200


@pytest.fixture
def screen(kg: Kg, tmp_path: Path) -> Callable[..., Any]:
    def show(*words: str, **more: Any) -> Any:
        env = {**environment(kg.folder), **more.pop("env", {})}
        return terminal([sys.executable, "-m", "kg", *words], cwd=tmp_path, env=env, **more)

    return show


def test_bars_on_a_terminal(kg: Kg, cli: Cli, screen: Callable[..., Any], tmp_path: Path) -> None:
    """They are there while it lasts, in the room there is, and leave a line each."""
    names = [f"name that is rather long for a row {n}.md" for n in range(3)]
    write(tmp_path / "in", *names)
    resume = hold(kg)
    with screen("ingest", "in", "--wait", "--ontology", "bars") as seen:
        seen.sees("3 waiting")
        until(lambda: seen.text.count("░ ") == 4, "a bar for each, and one for all")
        assert seen.text.count("  0% queued") + seen.text.count("  0% estimating") == 3
        assert "0 of 3 documents" in seen.text
        resume()
        assert seen.end() == 0
        lines = seen.text.splitlines()
        assert sorted(line.split()[0] for line in lines if line) == ["3", *["completed"] * 3]
        assert "░" not in seen.text and seen.screen.most < 80 and seen.screen.colours
        assert lines[-1] == "3 documents: 3 completed"


def test_ctrl_c_stops_the_waiting_and_nothing_else(kg: Kg, cli: Cli, screen: Callable[..., Any], tmp_path: Path) -> None:
    write(tmp_path, "kept.md")
    resume = hold(kg)
    with screen("ingest", "kept.md", "--wait", "--ontology", "kept", env={"NO_COLOR": "1"}) as seen:
        seen.sees("kept.md")
        seen.press(b"\x03")
        assert seen.end() == 130
        assert seen.text.strip().endswith("nothing was stopped: `kg docs list` shows how far they are")
        assert "Traceback" not in seen.text and "░" not in seen.text and not seen.screen.colours
    resume()
    assert cli("ingest", "kept.md", "--wait", "--ontology", "kept")[0] == 0


def test_head_has_read_enough(kg: Kg, tmp_path: Path) -> None:
    words = f"{sys.executable} -m kg ontologies list -o json | head -1"
    with terminal(["sh", "-c", words], cwd=tmp_path, env=environment(kg.folder)) as seen:
        assert seen.end() == 0
        assert seen.text.strip() == "["

"""The tour: it runs to its end, cleans up, and says so when something is not as it should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lanework.demo import __main__ as demo
from lanework.demo import diary
from lanework.demo.proof import Moments, Proof
from lanework.demo.stage import Stage
from lanework.demo.tour import Tour, Unexpected
from tests import servers

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the tour makes its temporary folder. It must leave nothing behind there."""
    with servers.data_folder() as folder:
        yield folder


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "lanework.demo"]
    environment = {**os.environ, "TMPDIR": str(folder), "LANEWORK_DSN": "postgresql://nobody@127.0.0.1:1/none"}
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def traces(folder: Path) -> list[str]:
    """Processes that still know the folder, and what is left in it."""
    found = [str(path) for path in folder.glob("lanework-demo-*")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in (process / "environ").read_text(errors="replace") + (process / "cmdline").read_text(errors="replace"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.processes
def test_the_tour_runs_to_its_end(folder: Path) -> None:
    with start(folder) as process:
        out, _ = process.communicate()
    assert process.returncode == 0, out
    assert "\x1b" not in out and "✗" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    for words in ("22 of 22", "goes on with it from its checkpoint", "effects lost", "0 of 45", "2 → 4 slots", "2 of 2"):
        assert words in out, words
    assert traces(folder) == []


@pytest.mark.processes
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"])
def test_the_tour_cleans_up_when_it_is_broken_off(folder: Path, number: int, code: int) -> None:
    with start(folder) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "thumbnails submitted" in line:
                break
        process.send_signal(number)
        time.sleep(0.2)
        process.send_signal(number)  # impatience must not leave anything behind
        out, _ = process.communicate()
    assert (process.returncode, traces(folder)) == (code, []), out
    assert "Traceback" not in out


class Nobody:
    """A crew of which one has died."""

    def dead(self) -> list[str]:
        return ["north"]

    def last_words(self) -> list[str]:
        return ["north: out of coffee"]


def test_a_worker_that_ends_by_itself_ends_the_tour() -> None:
    anything: Any = None
    crew: Any = Nobody()
    with pytest.raises(Unexpected, match="north ended by itself while the tour waited for rain"):
        Tour(anything, anything, crew, anything)._until("rain", lambda: None)


@pytest.fixture
def proof(database: str) -> Proof:
    """A diary in which all went well: a report that was killed and resumed, and a thumbnail beside it."""
    diary.make(database)
    with psycopg.connect(database) as db:
        db.execute("""
            insert into demo.runs values
                (1, 1, 'report', 'maintenance', 1, 0, '2030-01-01 10:00:00Z', '2030-01-01 10:00:09Z'),
                (1, 2, 'report', 'maintenance', 2, 1, '2030-01-01 10:00:10Z', '2030-01-01 10:00:20Z'),
                (2, 1, 'thumbnail', 'interactive', 1, 0, '2030-01-01 10:00:01Z', '2030-01-01 10:00:03Z');
            insert into demo.effects values ('1-1', 1, 1), ('1-2', 1, 2), ('2', 2, 1)
        """)
    return Proof(database, [1, 2], report=1, film=3, moments=Moments(), effects_wanted=3, slots=(1, 2))


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        ("delete from demo.effects where key = '1-2'", "effects lost"),
        ("insert into demo.effects values ('2', 2, 2)", "effects twice"),
        ("update demo.runs set started_at = '2030-01-01 10:00:08Z' where attempt = 2", "times a job ran in two places at once"),
    ],
)
def test_the_proof_notices(proof: Proof, wrong: str, fact: str) -> None:
    assert all(one.holds for one in _effects(proof))
    with psycopg.connect(proof.dsn) as db:
        db.execute(wrong.encode())
    assert [one.what for one in _effects(proof) if not one.holds] == [fact]


def _effects(proof: Proof) -> list[Any]:
    proof.facts = []
    with psycopg.connect(proof.dsn) as db:
        proof._effects(db)
    return proof.facts


def test_a_broken_promise_is_exit_code_1(proof: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    crew: Any = Nobody()
    facts = proof.collect()  # none of these jobs was ever completed
    assert demo._sum_up(Stage(), facts, crew) == 1
    out = capsys.readouterr().out
    assert "✗ jobs submitted and completed" in out and "not everything is as it should be" in out and "out of coffee" in out

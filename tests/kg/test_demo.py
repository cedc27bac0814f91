"""The demo: the platform from nothing to answers with their evidence. Each run starts a `kg up` of its own: that takes the time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kg.demo import __main__ as demo
from tests.kg.processes import LIMIT_S, environment
from tests.kg.terminal import terminal
from tests.servers import data_folder
from tests.test_demo import traces

pytestmark = [pytest.mark.processes, pytest.mark.pg(18)]
PAGES = {
    "quickstart.md": "# Quickstart\n\nA worker takes jobs from PostgreSQL. A dead worker is noticed by its guard.\n",
    "guides/approval.md": "# Approval\n\nWhat costs money waits for an approval. Effects in PostgreSQL happen exactly once.\n",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the demo makes its temporary folder, with a small manual. It must leave nothing else behind there."""
    with data_folder() as folder:
        for name, text in PAGES.items():
            page = folder / "manual" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
        yield folder


def run(words: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)


def words(folder: Path) -> list[str]:
    return [sys.executable, "-u", "-m", "kg.demo", "--manual", str(folder / "manual")]


def env(folder: Path) -> dict[str, str]:
    """With settings of somebody's own, which are none of the demo's."""
    ours = environment(folder, TMPDIR=str(folder), KG_URL="http://127.0.0.1:1", LANEWORK_DSN="postgresql://nobody@127.0.0.1:1/none")
    return {name: value for name, value in ours.items() if name != "LANEWORK_ALLOW_UNSAFE"}


def left(folder: Path) -> list[str]:
    """Processes of the demo, and what it has not removed."""
    return traces(folder) + [str(path) for path in folder.glob("kg-demo-*")]


def test_without_a_terminal_it_ends(folder: Path) -> None:
    ran = run(words(folder), cwd=folder, env=env(folder))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "\x1b" not in ran.stdout
    assert [line for line in ran.stdout.splitlines() if len(line) > 80 and not line.startswith("kg up: ")] == []
    for said in (
        "completed   quickstart.md", "completed   approval.md", "kg search 'how is a dead worker noticed'", "— quickstart.md:",
        "kg path worker PostgreSQL", "“A worker takes jobs from PostgreSQL.”", "The API is at http://127.0.0.1:",
    ):  # fmt: skip
        assert said in ran.stdout, ran.stdout
    assert "Ctrl-C" not in ran.stdout
    assert left(folder) == []


def test_in_a_terminal_it_draws_bars_and_stays_until_ctrl_c(folder: Path) -> None:
    with terminal(words(folder), cwd=folder, env=env(folder)) as seen:
        seen.sees("Ctrl-C ends it.")
        assert "░░░░ " in seen.raw.decode(errors="replace"), "a bar was drawn"
        assert "░" not in seen.text and seen.screen.most <= 80
        # what it says to type, typed
        lines = [line.strip() for line in seen.text.splitlines()]
        export = next(line for line in lines if line.startswith("export "))
        search = next(line for line in lines if line.endswith(" search 'your question'"))
        typed = f"{export}; {sys.executable} -m kg {search[search.index('search') :]}"
        answer = run(["sh", "-c", typed], cwd=folder, env=environment(folder))
        assert answer.returncode == 0 and "SCORE" in answer.stdout, answer.stderr
        assert seen.process.poll() is None
        seen.press(b"\x03")
        assert seen.end() == 0
        assert "Traceback" not in seen.text
    assert left(folder) == []


def test_where_there_is_no_manual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--manual", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"there is no manual in '{tmp_path}'; ")

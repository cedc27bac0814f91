"""Starts `kg up` in a folder of its own, takes the manual in, asks the graph a few questions, and shows where the answers stand.

In a terminal it stays until Ctrl-C; without one it ends when it is done.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kg.cli.note import note_file
from lanework.cli.text import paint

PAGES = ("quickstart.md", "promises.md", "architecture.md", "operations.md", "guides")
QUESTIONS = ("how is a dead worker noticed", "exactly once effects", "approval of what costs money")
ENDS = ("worker", "PostgreSQL")
READY = re.compile(r"ready: (http://\S+)")
PATIENCE = 180.0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not any((options.manual / name).exists() for name in PAGES):
        sys.stderr.write(f"there is no manual in {str(options.manual)!r}; run it in the checkout, or say --manual FOLDER\n")
        return 2
    for name in [name for name in os.environ if name.startswith(("LANEWORK_", "KG_"))]:
        del os.environ[name]  # the demo has a world of its own
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, _leave)
    try:
        with _folder(options.data) as folder, _platform(folder, options.port) as url:
            return _show(url, options.manual)
    except KeyboardInterrupt:
        return 0
    except _Failed as error:
        sys.stderr.write(f"{paint(str(error), 'red')}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    new = argparse.ArgumentParser("python -m kg.demo", description="The platform on Lanework's own manual, in about a minute.")
    new.add_argument("--data", type=Path, metavar="FOLDER", help="keep the database there (default: a temporary folder)")
    new.add_argument("--port", type=int, default=0, help="port of the API (default: a free one)")
    new.add_argument("--manual", type=Path, default=Path("docs"), metavar="FOLDER", help="where the manual is (default: docs)")
    return new


def _show(url: str, manual: Path) -> int:
    pages = [page for page in (manual / name for name in PAGES) if page.exists()]
    _say("The manual goes in: parsed, cut into chunks, read by local models, made a graph")
    if _kg("ingest", *map(str, pages), "--ontology", "manual", "--wait"):
        raise _Failed("not all of the manual went in; see above")
    for question in QUESTIONS:
        _say(f"kg search {question!r}")
        _must("search", question, "--limit", "3")
    _say(f"kg path {' '.join(ENDS)}")
    _must("path", *ENDS)
    _say(f"The API is at {url}")
    if not sys.stdin.isatty():
        return 0
    print(f"Its token is in {note_file()}. In another terminal:", f"  export LANEWORK_DATA={os.environ['LANEWORK_DATA']}", sep="\n")
    print(f"  {_program()} search 'your question'", "Ctrl-C ends it.", sep="\n", flush=True)
    while True:
        time.sleep(3600)


def _program() -> str:
    """`kg` as it can be typed here: nobody has activated the environment that `make` has made."""
    here, there = Path(sys.executable).with_name("kg"), shutil.which("kg")
    if there is not None and Path(there) == here:
        return "kg"
    return os.path.relpath(here) if here.is_relative_to(Path.cwd()) else str(here)


def _must(*words: str) -> None:
    if code := _kg(*words):
        raise _Failed(f"`kg {words[0]}` ended with {code}")


def _kg(*words: str) -> int:
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-m", "kg", *words], check=False).returncode  # noqa: S603 - our own interpreter


def _say(text: str) -> None:
    print(f"\n{paint(text, 'bold')}", flush=True)


@contextmanager
def _platform(folder: Path, port: int) -> Iterator[str]:
    """`kg up` beside us, with its own log."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["LANEWORK_DATA"] = str(folder)
    log = folder / "up.log"
    _say(f"kg up: PostgreSQL, a worker and HTTP, in {folder}")
    with log.open("wb") as out:
        # in a session of its own: Ctrl-C reaches this process alone, which ends the others in order
        up = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "kg", "up", "--port", str(port), "--processes", "1"], stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, start_new_session=True,
        )  # fmt: skip
    try:
        yield _ready(up, log)
    finally:
        up.send_signal(signal.SIGTERM)
        try:
            up.wait(90)
        except subprocess.TimeoutExpired:
            up.kill()


def _ready(up: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        text = log.read_text(errors="replace")
        if found := READY.search(text):
            return found[1]
        if up.poll() is not None:
            raise _Failed(f"`kg up` ended with {up.returncode}:\n{text[-2000:]}")
        time.sleep(0.1)
    raise _Failed(f"`kg up` was not ready within {PATIENCE:.0f} s:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen.absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix="kg-demo-"))
    folder.chmod(0o711)  # as root the server runs as another user, who must get to his own folder in it
    try:
        yield folder / "data"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Failed(Exception):
    pass


def _leave(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

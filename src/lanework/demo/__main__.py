"""`python -m lanework.demo`: sets the stage, plays the tour, tells the numbers, and leaves nothing behind."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

from lanework import Lanework, LaneworkError
from lanework.cli.text import paint
from lanework.demo import diary
from lanework.demo.crew import Crew
from lanework.demo.jobs import declare
from lanework.demo.proof import Fact, Proof
from lanework.demo.stage import Stage
from lanework.demo.tour import LANES, MORE_SLOTS, PARTS, Tour, Unexpected

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GO_ON = """
Go on:
  lanework worker app.py                work the jobs of your own application
  lanework status --watch               see what is going on
  python -m lanework.demo --data DIR    this again, with a database that stays;
                                        look at it with LANEWORK_DATA=DIR"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    _leave_by_the_door()
    for name in [name for name in os.environ if name.startswith("LANEWORK_")]:
        del os.environ[name]  # the tour has a world of its own
    stage = Stage()
    try:
        with _folder(options.data) as folder:
            return _play(stage, folder)
    except LaneworkError as error:
        stage.bad(f"{error.code}: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody looks any more
        return 1
    finally:
        stage.close()


def _parser() -> argparse.ArgumentParser:
    new = argparse.ArgumentParser("python -m lanework.demo", description="A short, real tour of the engine, about half a minute.")
    new.add_argument("--data", type=Path, metavar="FOLDER", help="keep the database there (default: a temporary folder)")
    return new


def _play(stage: Stage, folder: Path) -> int:
    stage.title("Lanework: durable jobs in lanes, on PostgreSQL")
    stage.say("starting a PostgreSQL of its own; the first start takes some seconds")
    with ExitStack() as stack:
        app = Lanework(data=str(folder))
        stack.callback(app.close)
        jobs = declare(app)
        dsn = app._ready().dsn
        diary.make(dsn)
        stage.good(f"PostgreSQL is up, in {folder}")
        crew = stack.enter_context(Crew(folder, dsn, ["north", "south"]))
        tour = Tour(app, jobs, crew, stage)
        try:
            tour.play()
        except Unexpected as error:
            stage.clear()
            return _fail(stage, str(error), crew)
        except (KeyboardInterrupt, SystemExit):
            stage.clear()
            stage.say("ending the workers and the server: a few seconds", "yellow")
            raise
        codes = crew.stop()
        facts = _prove(tour, dsn)
        facts.append(Fact("workers that left in good order", f"{list(codes.values()).count(0)} of 2", set(codes.values()) == {0}))
    return _sum_up(stage, facts, crew)


def _prove(tour: Tour, dsn: str) -> list[Fact]:
    ids = [handle.id for handle in tour.handles]
    proof = Proof(
        dsn, ids, report=tour.report.id, film=tour.film.id, moments=tour.moments, effects_wanted=len(ids) - 1 + PARTS,
        slots=(LANES["interactive"], MORE_SLOTS),
    )  # fmt: skip
    return proof.collect()


def _sum_up(stage: Stage, facts: list[Fact], crew: Crew) -> int:
    stage.title("What the database says")
    for fact in facts:
        mark = paint("✓", "green") if fact.holds else paint("✗", "red")
        stage.lines(f"  {mark} {fact.what:.<52} {fact.value}")
    if all(fact.holds for fact in facts):
        stage.lines(GO_ON)
        return 0
    return _fail(stage, "not everything is as it should be", crew)


def _fail(stage: Stage, what: str, crew: Crew) -> int:
    stage.lines("")
    stage.bad(what)
    for line in crew.last_words():
        stage.say(line)
    return 1


@contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen.absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix="lanework-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _leave_by_the_door() -> None:
    """A signal ends the tour once; a second one must not keep it from ending its processes, which takes seconds."""

    def leave(number: int, _: object) -> NoReturn:
        for one in ENDS:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    for one in ENDS:
        signal.signal(one, leave)


if __name__ == "__main__":
    sys.exit(main())

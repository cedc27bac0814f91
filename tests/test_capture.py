"""A job's output in its own log, in a process that jobs share."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import pytest

from lanework import _capture
from lanework._capture import LINE_LIMIT, LINES_LIMIT, RoutedStream, Sink, captured


class Told:
    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []

    def tell(self, op: str, data: dict[str, Any]) -> None:
        assert op == "log"
        self.entries.append((data["stream"], data["text"]))


@pytest.fixture
def installed() -> Iterator[None]:
    _capture.install()
    yield
    _capture.uninstall()


# -- the sink ----------------------------------------------------------------------------------------------------------


def test_lines_are_told_whole_and_in_order() -> None:
    told = Told()
    sink = Sink(told)
    for text in ("a", " b", "\nc\n", "d", "\n\ne"):
        sink.write("stdout", text)
    assert told.entries == [("stdout", "a b\nc"), ("stdout", "d\n")]
    sink.flush()
    sink.flush()
    assert told.entries[2:] == [("stdout", "e")]


def test_streams_do_not_mix() -> None:
    told = Told()
    sink = Sink(told)
    sink.write("stdout", "out ")
    sink.write("stderr", "err\n")
    sink.write("stdout", "more\n")
    assert told.entries == [("stderr", "err"), ("stdout", "out more")]


def test_a_line_without_end_takes_bounded_memory() -> None:
    told = Told()
    sink = Sink(told)
    for _ in range(10_000):
        sink.write("stdout", "x" * 1000)
    assert sum(map(len, sink._partial.values())) <= LINE_LIMIT + 1
    sink.write("stdout", "\nnext\n")
    assert told.entries == [("stdout", "x" * LINE_LIMIT + "… (cut)\nnext")]


def test_a_progress_bar_leaves_its_last_state() -> None:
    told = Told()
    sink = Sink(told)
    for percent in range(101):
        sink.write("stderr", f"\r{percent} %")
    sink.write("stderr", "\n")
    sink.write("stderr", "windows\r")
    sink.write("stderr", "\n")
    assert told.entries == [("stderr", "100 %"), ("stderr", "windows")]


def test_too_many_lines_are_dropped_with_one_mark() -> None:
    told = Told()
    sink = Sink(told)
    for number in range(LINES_LIMIT + 500):
        sink.write("stdout", f"{number}\n")
    sink.entry("error", "too late")
    lines = [line for _, text in told.entries for line in text.split("\n")]
    assert len(lines) == LINES_LIMIT + 1
    assert lines[-2:] == [str(LINES_LIMIT - 1), "… more than 10,000 lines: the rest is dropped"]


def test_a_link_that_prints_does_not_come_back_to_itself() -> None:
    class Chatty(Told):
        def tell(self, op: str, data: dict[str, Any]) -> None:
            super().tell(op, data)
            sink.write("stdout", "telling\n")

    told = Chatty()
    sink = Sink(told)
    sink.write("stdout", "once\n")
    assert told.entries == [("stdout", "once")]


# -- the shared process ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_a_job_s_output_is_its_own_and_the_rest_passes_through(capsys: pytest.CaptureFixture[str]) -> None:
    told = Told()
    print("before")
    with captured(told):
        print("from the job")
        print("error of the job", file=sys.stderr)
        sys.stdout.writelines(["one\n", "two\n"])
    print("after")
    assert told.entries == [
        ("stdout", "from the job"),
        ("stderr", "error of the job"),
        ("stdout", "one"),
        ("stdout", "two"),
    ]
    assert capsys.readouterr().out == "before\nafter\n"


@pytest.mark.usefixtures("installed")
def test_two_tasks_do_not_mix() -> None:
    async def job(told: Told, name: str) -> None:
        with captured(told):
            for number in range(3):
                print(name, end=" ")
                await asyncio.sleep(0)
                print(number)
                await asyncio.to_thread(print, name, "thread", number)

    async def main() -> tuple[Told, Told]:
        first, second = Told(), Told()
        await asyncio.gather(job(first, "first"), job(second, "second"))
        return first, second

    for name, told in zip(("first", "second"), asyncio.run(main()), strict=True):
        expected = [line for number in range(3) for line in (f"{name} {number}", f"{name} thread {number}")]
        assert [text for _, text in told.entries] == expected


@pytest.mark.usefixtures("installed")
def test_logging_goes_to_the_job_under_its_level() -> None:
    told = Told()
    logger = logging.getLogger("library")
    with captured(told):
        logger.warning("careful with %s", "that")
        try:
            raise ValueError("broken")
        except ValueError:
            logger.exception("it failed")
    logger.warning("not in a job")
    assert told.entries[0] == ("warning", "library: careful with that")
    stream, text = told.entries[1]
    assert stream == "error" and text.startswith("library: it failed\nTraceback") and text.endswith("ValueError: broken")
    assert len(told.entries) == 2


@pytest.mark.usefixtures("installed")
def test_an_unfinished_line_is_told_when_the_job_ends() -> None:
    first, second = Told(), Told()
    with captured(first):
        print("no newline", end="")
    with captured(second):
        print("next")
    assert first.entries == [("stdout", "no newline")]
    assert second.entries == [("stdout", "next")]


def test_install_is_shared_and_leaves_nothing_behind() -> None:
    before = (sys.stdout, sys.stderr, list(logging.getLogger().handlers))
    _capture.install()
    _capture.install()
    assert isinstance(sys.stdout, RoutedStream) and not isinstance(sys.stdout.under, RoutedStream)
    _capture.uninstall()
    assert isinstance(sys.stdout, RoutedStream)
    _capture.uninstall()
    assert (sys.stdout, sys.stderr, list(logging.getLogger().handlers)) == before


@pytest.mark.usefixtures("installed")
def test_a_stream_that_was_replaced_is_routed_from_the_next_job_on(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, told = io.StringIO(), Told()
    monkeypatch.setattr(sys, "stdout", theirs)
    print("outside")
    with captured(told):
        print("inside")
    assert (theirs.getvalue(), told.entries) == ("outside\n", [("stdout", "inside")])


def test_an_application_that_replaced_a_stream_keeps_it() -> None:
    theirs = io.StringIO()
    _capture.install()
    try:
        with redirect_stdout(theirs):
            print("theirs")
        sys.stdout, ours = theirs, sys.stdout
        _capture.uninstall()
        assert sys.stdout is theirs
    finally:
        sys.stdout = ours.under  # type: ignore[attr-defined]
    assert theirs.getvalue() == "theirs\n"


def test_a_process_without_stdout_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    _capture.install()
    told = Told()
    print("nowhere")
    with captured(told):
        print("to the job", flush=True)
    _capture.uninstall()
    assert told.entries == [("stdout", "to the job")]


def test_the_stream_still_looks_like_one() -> None:
    _capture.install()
    try:
        assert sys.stdout.encoding and sys.stdout.writable()
        assert isinstance(sys.stdout.isatty(), bool)
    finally:
        _capture.uninstall()

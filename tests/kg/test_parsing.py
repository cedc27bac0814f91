"""Reading happens in a process of its own: what it may cost, how it ends, and what the caller is told (promise 27)."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kg.documents import parsers
from kg.documents.limits import ParseLimits
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.errors import ParserKilled, TooLarge, Unreadable, Unsupported
from kg.parts import Parsed
from lanework.errors import ConfigError
from lanework.retries import classify, judge
from tests.kg.odd_parsers import ODD, OddParser

LIMITS = ParseLimits(cpu=20, wall=110, memory=256 << 20, size=1_000_000, characters=1_000_000)
EXAMPLES = Path(__file__).parents[2] / "examples"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of the Linux kernel")


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "_registered", dict(parsers._registered))
    monkeypatch.setattr(parsers, "_registered_suffixes", dict(parsers._registered_suffixes))


def odd(how: str, *, where: str = "", data: bytes = b"data", limits: ParseLimits = LIMITS) -> Parsed:
    parsers.register(OddParser(how, where))
    return asyncio.run(parse(data, ODD, "a.odd", limits=limits))


def test_what_a_parser_says_arrives() -> None:
    assert odd("obeys", data="Grüße 𝄞".encode()) == Parsed("Grüße 𝄞", "Title", {"length": 12}, ("careful",))


@pytest.mark.parametrize(
    ("how", "reason", "words"),
    [
        ("crashes", "crash", "signal 11 (SIGSEGV)"),
        ("exits", "crash", "exit code 3"),
        ("recurses", "too_deep", "nested"),
        ("says_nothing", "no_text", "no text"),
        ("says_too_much", "too_large", "2,000,000 characters"),
        ("refuses", "encrypted", "not today"),
        ("fails", "damaged", r"KeyError: 'no such part \ud800'"),
        ("calls_home", "damaged", "a parser has no network"),
        ("opens_files", "damaged", "Too many open files"),
        ("writes_a_false_answer", "crash", "an answer that is none"),
        ("floods", "too_large", "more than 1,000,000 characters"),
        pytest.param("eats", "memory", "more memory", marks=LINUX),
    ],
)
def test_what_goes_wrong_is_told_in_words(how: str, reason: str, words: str) -> None:
    with pytest.raises(Unreadable) as told:
        odd(how)
    assert told.value.reason == reason
    assert words in str(told.value)
    assert "'a.odd'" in str(told.value)


def test_processor_time_is_limited() -> None:
    with pytest.raises(Unreadable, match="more than 1 s of processor time") as told:
        odd("burns", limits=ParseLimits(cpu=1, wall=110))
    assert told.value.reason == "cpu"


def test_time_is_limited_and_the_process_gone(tmp_path: Path) -> None:
    with Pipe(tmp_path) as pipe:
        with pytest.raises(Unreadable, match=r"more than 0\.5 s") as told:
            odd("sleeps", where=pipe.path, limits=ParseLimits(wall=0.5, cpu=5))
        assert told.value.reason == "time"


def test_such_a_job_fails_at_once() -> None:
    for error in (Unreadable("x"), TooLarge("x"), Unsupported("x")):
        assert classify(error) == "invalid_input"
        assert judge(error, tries_used=0, base=1.0).action == "fail"


def test_a_kill_from_outside_is_not_the_documents_fault() -> None:
    with pytest.raises(ParserKilled, match="SIGKILL") as told:
        odd("is_killed")
    assert judge(told.value, tries_used=0, base=1.0).action == "retry"


def test_a_stop_of_the_whole_service_does_not_fail_documents() -> None:
    assert odd("is_asked_to_stop").text == "still here"


def test_what_a_parser_prints_is_no_answer() -> None:
    assert odd("chatters").text == "the answer"


def test_characters_that_cannot_be_stored_stay_out() -> None:
    assert odd("says_bad_characters") == Parsed("ab\ufffdc\nd", "ti\ufffd tle", {}, ("w",))


def test_the_process_is_lean() -> None:
    modules = set(odd("lists_modules").text.split())
    assert "docx" in modules
    assert (
        not {"kg.app", "kg.config", "fastapi", "spacy", "onnxruntime", "psycopg", "httpx2", "asyncio", "importlib.metadata"}
        & modules
    )


def test_the_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "OPENAI_API_KEY" not in odd("lists_environment").text.split()


def test_sizes_are_looked_at_first() -> None:
    with pytest.raises(Unreadable, match="is empty") as told:
        odd("crashes", data=b"")
    assert told.value.reason == "empty"
    with pytest.raises(TooLarge, match=r"has 1,000,001 bytes; 1,000,000 are allowed"):
        odd("crashes", data=b"x" * 1_000_001)


def test_a_type_that_nobody_reads() -> None:
    with pytest.raises(Unsupported, match="image/png"):
        asyncio.run(parse(b"x", "image/png", "a.png", limits=LIMITS))


def test_a_parser_that_cannot_be_sent() -> None:
    class Local(OddParser):
        pass

    parsers.register(Local("obeys"))
    with pytest.raises(ConfigError, match="cannot be sent"):
        asyncio.run(parse(b"x", ODD, "a.odd", limits=LIMITS))


def test_a_parser_that_cannot_be_imported_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parsers._OWN, ODD, "kg.no_such_module:Parser")
    with pytest.raises(ConfigError, match="no_such_module"):
        asyncio.run(parse(b"x", ODD, "a.odd", limits=LIMITS))


@pytest.mark.parametrize("wrong", [OddParser, object(), None, OddParser("obeys", media_types=())])
def test_what_is_no_parser(wrong: object) -> None:
    with pytest.raises(ConfigError, match="expected a parser"):
        parsers.register(wrong)  # type: ignore[arg-type]


class Pipe:
    """A child says its number here; whoever waits for that waits on a signal."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "pipe")
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def read(self) -> int:
        assert select.select([self._fd], [], [], 60)[0]
        return int(os.read(self._fd, 100))


def ended(pid: int) -> None:
    """Waits until the process is gone."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], 60)[0], f"process {pid} lives on"
    finally:
        os.close(fd)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    with Pipe(tmp_path) as pipe:
        yield pipe


@LINUX
@pytest.mark.parametrize("how", ["sleeps", "starts_and_sleeps"])
def test_a_cancel_ends_the_process_and_what_it_started(pipe: Pipe, how: str) -> None:
    async def cancelled() -> int:
        parsers.register(OddParser(how, pipe.path))
        reading = asyncio.create_task(parse(b"x", ODD, "a.odd", limits=LIMITS))
        pid = await asyncio.to_thread(pipe.read)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return pid

    ended(asyncio.run(cancelled()))


@LINUX
def test_the_process_dies_with_its_parent(pipe: Pipe) -> None:
    script = (
        "import asyncio\nfrom kg.documents import parsers\nfrom kg.documents.parsing import parse\n"
        f"from tests.kg.odd_parsers import ODD, OddParser\nparsers.register(OddParser('sleeps', {pipe.path!r}))\n"
        "asyncio.run(parse(b'x', ODD, 'a.odd'))"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        pid = pipe.read()
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    ended(pid)


def test_many_at_once_and_one_that_crashes() -> None:
    async def read() -> list[Parsed | BaseException]:
        crash = OddParser("crashes", media_types=("application/x-crash",))
        parsers.register(OddParser("obeys"))
        parsers.register(crash)
        wanted = [(ODD, b"one"), ("application/x-crash", b"x"), (ODD, b"two"), (ODD, b"three")]
        return await asyncio.gather(*(parse(data, kind, "a", limits=LIMITS) for kind, data in wanted), return_exceptions=True)

    one, crash, two, three = asyncio.run(read())
    assert isinstance(crash, Unreadable)
    assert [found.text for found in (one, two, three) if isinstance(found, Parsed)] == ["one", "two", "three"]


def test_it_works_from_a_thread() -> None:
    """The kernel kills a child with the thread that started it: that thread must be the one that waits."""
    found: list[Parsed] = []
    thread = threading.Thread(target=lambda: found.append(odd("obeys")))
    thread.start()
    thread.join(60)
    assert found[0].text == "data"


def test_parsers_of_other_packages(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    points = [
        EntryPoint("odd", "tests.kg.odd_parsers:PARSER", parsers.GROUP),
        EntryPoint("csv", "tests.kg.odd_parsers:add_parser", parsers.GROUP),
        EntryPoint("bad", "tests.kg.no_such:PARSER", parsers.GROUP),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [one for one in points if one.group == group])
    monkeypatch.setattr(parsers, "_loaded", False)
    assert {"application/x-point", "application/x-called"} <= set(parsers.media_types())
    assert parsers.suffixes()[".called"] == "application/x-called"
    assert "the parser bad of tests.kg.no_such:PARSER cannot be used" in caplog.text
    assert asyncio.run(parse(b"hello", "application/x-point", "a", limits=LIMITS)).text == "hello"


def test_a_module_in_kg_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    from kg.app import _import_jobs

    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "own_parser", raising=False)
    _import_jobs("own_parser")
    assert sniff(b"a,b", "x.csv") == "text/csv"
    assert asyncio.run(parse(b"a,b\n1,2", "text/csv", "x.csv", limits=LIMITS)).text == "a: 1; b: 2."

"""Parsers that misbehave in one way each, and one that does as it should."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from kg.documents.parsers import register
from kg.errors import Unreadable
from kg.parts import Parsed

ODD = "application/x-odd"


@dataclass
class OddParser:
    """`how` is what it does; `where` is a pipe that is told the process's number."""

    how: str
    where: str = ""
    media_types: tuple[str, ...] = field(default=(ODD,))

    def parse(self, data: bytes, name: str) -> Parsed:
        found = getattr(self, self.how)(data)
        return found if isinstance(found, Parsed) else Parsed(str(found))

    def obeys(self, data: bytes) -> Parsed:
        return Parsed(data.decode(), "Title", {"length": len(data)}, ("careful",))

    def sleeps(self, data: bytes) -> None:
        Path(self.where).write_text(str(os.getpid()))
        time.sleep(3600)

    def starts_and_sleeps(self, data: bytes) -> None:
        if os.fork() == 0:
            Path(self.where).write_text(str(os.getpid()))
            time.sleep(3600)
        time.sleep(3600)

    def burns(self, data: bytes) -> None:
        while True:
            pass

    def eats(self, data: bytes) -> str:
        eaten = []
        while True:
            eaten.append(bytearray(1 << 22))

    def crashes(self, data: bytes) -> None:
        ctypes.string_at(0)

    def exits(self, data: bytes) -> None:
        os._exit(3)

    def is_killed(self, data: bytes) -> None:
        os.kill(os.getpid(), 9)

    def is_asked_to_stop(self, data: bytes) -> str:
        for number in (1, 2, 15):
            os.kill(os.getpid(), number)
        return "still here"

    def recurses(self, data: bytes) -> None:
        self.recurses(data)

    def chatters(self, data: bytes) -> str:
        print("not the answer")
        os.write(1, b"nor this\n")
        return "the answer"

    def says_too_much(self, data: bytes) -> str:
        return "x" * 2_000_000

    def says_bad_characters(self, data: bytes) -> Parsed:
        return Parsed("a\0b\ud800c\r\nd", "t\0i\ud800\ntle", {}, ("w\0",))

    def says_nothing(self, data: bytes) -> str:
        return " \n\t"

    def refuses(self, data: bytes) -> None:
        raise Unreadable("not today", reason="encrypted")

    def fails(self, data: bytes) -> None:
        raise KeyError("no such part \ud800")

    def writes_a_false_answer(self, data: bytes) -> None:
        for fd in range(3, 20):
            try:
                os.write(fd, b'{"title": "x", "meta": [], "warnings": []}\nfalse \xff')
            except OSError:
                continue
            os._exit(0)

    def floods(self, data: bytes) -> None:
        for fd in range(3, 20):
            try:
                os.write(fd, b'{"title": "x"}\n')
            except OSError:
                continue
            for _ in range(128):
                os.write(fd, b"x" * 65536)
            os._exit(0)

    def calls_home(self, data: bytes) -> str:
        socket.create_connection(("127.0.0.1", 9))
        return "connected"

    def opens_files(self, data: bytes) -> str:
        opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1000)]
        return f"{len(opened)} files"

    def lists_modules(self, data: bytes) -> str:
        for format in ("text", "markdown", "html", "pdf", "docx"):
            __import__(f"kg.documents.parsers.{format}")
        return "\n".join(sys.modules)

    def lists_environment(self, data: bytes) -> str:
        return "\n".join(os.environ)


PARSER = OddParser("obeys", media_types=("application/x-point",))


def add_parser() -> None:
    register(OddParser("obeys", media_types=("application/x-called",)), suffixes=[".called"])

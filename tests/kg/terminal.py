"""A terminal for tests: a process on a pty of 80 columns, and what somebody who looks at it sees."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from lanework.cli.text import width
from tests.kg.processes import LIMIT_S, until

#: Ctrl-C on it is a signal to the process, also where somebody runs the tests in the background of a shell, which ignores it.
_CONTROL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_PIECE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b|[\r\n]|[^\x1b\r\n]+")
_HALF = re.compile(r"\x1b(\[[?0-9;]*)?$")


class Screen:
    """What was written, as a terminal shows it: lines that were scrolled out included. `most` is the widest line that was drawn."""

    def __init__(self, columns: int) -> None:
        self.columns, self.most, self.colours = columns, 0, 0
        self.lines = [""]
        self._row = self._column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        """Of an order that is cut in the middle, the rest comes later."""
        text = self._rest + text
        cut = _HALF.search(text)
        self._rest = cut[0] if cut else ""
        for found in _PIECE.finditer(text[: len(text) - len(self._rest)]):
            if found[2]:
                self._order(found[2], found[1])
            elif found[0] == "\n":
                self._down()
            elif found[0] == "\r":
                self._column = 0
            else:
                self._put(found[0])

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append("")

    def _put(self, text: str) -> None:
        for one in text:
            if self._column + width(one) > self.columns:  # as terminals do: it goes on below
                self._column = 0
                self._down()
            line = self.lines[self._row].ljust(self._column)
            self.lines[self._row] = line[: self._column] + one + line[self._column + 1 :]
            self._column += 1
        self.most = max(self.most, width(self.lines[self._row]))

    def _order(self, letter: str, numbers: str) -> None:
        count = int(numbers) if numbers.isdecimal() else 0
        if letter == "A":
            self._row = max(self._row - max(count, 1), 0)
        elif letter == "J":
            self.lines[self._row] = self.lines[self._row][: self._column]
            del self.lines[self._row + 1 :]
        elif letter == "K":
            self.lines[self._row] = self.lines[self._row][: self._column]
        elif letter == "m":
            self.colours += 1
        elif not (letter in "hl" and numbers.startswith("?")):
            raise AssertionError(f"a terminal was told \\x1b[{numbers}{letter}, which this one does not know")


class Terminal:
    def __init__(self, process: subprocess.Popen[bytes], side: int, columns: int) -> None:
        self.process, self._side = process, side
        self.raw = b""
        self.screen = Screen(columns)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        text = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                piece = os.read(self._side, 65536)
            except OSError as error:
                assert error.errno == errno.EIO, error  # Linux: the other side is closed
                return
            if not piece:
                return
            self.raw += piece
            self.screen.feed(text.decode(piece))

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.lines)

    def sees(self, words: str) -> None:
        until(lambda: words in self.text or self.process.poll() is not None, f"{words!r} on the screen")
        self._drained()
        assert words in self.text, self.text

    def _drained(self) -> None:
        if self.process.poll() is not None:
            self._reader.join(LIMIT_S)

    def press(self, keys: bytes) -> None:
        os.write(self._side, keys)

    def end(self) -> int:
        code = self.process.wait(LIMIT_S)
        self._drained()
        return code


@contextmanager
def terminal(words: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 80, lines: int = 24) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _CONTROL, *words], cwd=cwd, env={"TERM": "xterm", **env}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    there = Terminal(process, ours, columns)
    try:
        yield there
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        there._reader.join(10)
        os.close(ours)

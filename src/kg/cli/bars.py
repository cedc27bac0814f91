"""Lines that stay, and under them rows that are drawn again in place."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from lanework.cli.output import say
from lanework.cli.text import is_terminal

_UP, _LINE_END, _CLEAR = "\x1b[{}A\r", "\x1b[K", "\x1b[J"


class Bars:
    """Without a terminal there are no rows. With one, each change of the screen is a single write of what it becomes: nothing is
    empty in between, and nothing is written while nothing changes. `silent`: stdout is for something else."""

    def __init__(self, *, silent: bool = False) -> None:
        self.live = is_terminal() and not silent
        self._silent = silent
        self._drawn: list[str] = []

    @property
    def columns(self) -> int:
        """One less than there are: a terminal may go on below when the last one is filled."""
        return shutil.get_terminal_size().columns - 1

    @property
    def room(self) -> int:
        """Rows that fit: what is scrolled out cannot be drawn again."""
        return max(shutil.get_terminal_size().lines - 2, 1)

    def tell(self, *lines: str) -> None:
        """On stdout, above the rows."""
        if not self._silent:
            self._write(lines, self._drawn)

    def say(self, text: str) -> None:
        """On stderr, above the rows."""
        rows = self._drawn
        self.draw(())
        say(text)
        self.draw(rows)

    def draw(self, rows: Sequence[str]) -> None:
        if self.live and list(rows) != self._drawn:
            self._write((), rows)

    def _write(self, lines: Sequence[str], rows: Sequence[str]) -> None:
        back = _UP.format(len(self._drawn)) if self._drawn else ""
        end = f"{_LINE_END if self.live else ''}\n"
        sys.stdout.write(back + "".join(f"{one}{end}" for one in [*lines, *rows]) + (_CLEAR if back else ""))
        sys.stdout.flush()
        self._drawn = list(rows)

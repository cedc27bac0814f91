"""Where the tour is shown: lines that stay, and on a terminal a panel below them that lives."""

from __future__ import annotations

import shutil
import sys
import time

from lanework._store.status import Running
from lanework._words import count
from lanework.cli.snapshot import Lane, Snapshot
from lanework.cli.text import clip, is_terminal, pad, paint, safe

WIDTH = 79
_UP, _CLEAR, _HIDE, _SHOW = "\x1b[{}A", "\x1b[J", "\x1b[?25l", "\x1b[?25h"
#: Rows of running jobs in the panel, always as many: a panel that changes its height jumps.
ROWS = 5
_PLAIN_STEP = 0.25


class Stage:
    def __init__(self) -> None:
        self._live = is_terminal()
        self._width = min(shutil.get_terminal_size().columns - 1, WIDTH) if self._live else WIDTH
        self._panel: list[str] = []
        self._told: dict[int, float] = {}
        self._began = time.monotonic()
        if self._live:
            sys.stdout.write(_HIDE)

    def title(self, text: str) -> None:
        self.lines("", paint(text, "bold"))

    def say(self, text: str, colour: str = "") -> None:
        clock = paint(f"{time.monotonic() - self._began:5.1f} s", "dim")
        self.lines(f"  {clock}  {paint(clip(safe(text), self._width - 11), colour)}")

    def good(self, text: str) -> None:
        self.say(f"✓ {text}", "green")

    def bad(self, text: str) -> None:
        self.say(f"✗ {text}", "red")

    def draw(self, seen: Snapshot) -> None:
        """The panel; without a terminal, a line for every quarter that a job has gone."""
        if not self._live:
            self._tell(seen.running)
            return
        self._wipe()
        self._panel = self._picture(seen)
        sys.stdout.write("".join(f"{line}\n" for line in self._panel))
        sys.stdout.flush()

    def clear(self) -> None:
        """The panel goes; what was said stays."""
        self._wipe()
        self._panel = []
        sys.stdout.flush()

    def close(self) -> None:
        self.clear()
        if self._live:
            sys.stdout.write(_SHOW)
            sys.stdout.flush()

    def lines(self, *lines: str) -> None:
        self._wipe()
        sys.stdout.write("".join(f"{line}\n" for line in (*lines, *self._panel)))
        sys.stdout.flush()

    def _wipe(self) -> None:
        if self._panel:
            sys.stdout.write(_UP.format(len(self._panel)) + "\r" + _CLEAR)

    def _picture(self, seen: Snapshot) -> list[str]:
        lanes = [one for one in seen.lanes if one.job_types]
        rows = [_row(one, self._width) for one in seen.running[:ROWS]]
        return ["", *(_lane(one) for one in lanes), *rows, *[""] * (ROWS - len(rows))]

    def _tell(self, running: list[Running]) -> None:
        for one in running:
            fraction = one.fraction or 0.0
            if one.type == "report" and fraction - self._told.get(one.id, 0.0) >= _PLAIN_STEP:
                self._told[one.id] = fraction
                self.say(f"job {one.id}: {one.type} {fraction:.0%}, {one.message}, on {one.worker}")


def _lane(lane: Lane) -> str:
    slots = lane.max_slots or 0
    dots = paint("●" * lane.used, "cyan") + "○" * max(slots - lane.used, 0)
    room = " " * max(8 - max(slots, lane.used), 0)
    return f"  {pad(lane.name, 13)}{dots}{room}{lane.used} of {count(slots, 'slot'):<8} in use{lane.waiting:>5} waiting"


def _row(job: Running, most: int) -> str:
    size = 24
    full = round((job.fraction or 0.0) * size)
    bar = paint("█" * full, "cyan") + paint("░" * (size - full), "dim")
    head = f"  {job.id:>6}  {pad(safe(job.type), 11)}"
    tail = f"  {job.fraction or 0.0:>4.0%}  {pad(clip(safe(job.worker or ''), 6), 6)} {safe(job.message)}"
    return f"{head}{bar}{clip(tail, most - size - len(head))}"

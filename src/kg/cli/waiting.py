"""Waiting for documents: a bar for each on a terminal, a line for each that has ended without one."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

from kg.cli.documents import COLOURS, FINAL, Record, chunks, state
from kg.cli.remote import ask
from lanework.cli.output import say
from lanework.cli.text import bar, clip, is_terminal, pad, paint, safe

_UP, _CLEAR = "\x1b[{}A", "\x1b[J"
#: Rows of bars at a time, and how many documents are asked for in one round.
_ROWS, _ASKED = 12, 24
_PAUSE = 0.25


def wait_for(documents: Sequence[Record]) -> int:
    """0 if all are completed (or equal one that is worked); 1 if one failed, is partial, was cancelled, or waits for somebody's
    approval."""
    screen = _Screen()
    open, bad = {one["id"]: one for one in documents}, 0
    while True:
        for id in [id for id, one in open.items() if _has_ended(one)]:
            ended = open.pop(id)
            bad += ended["processing_status"] not in ("completed", "duplicate")
            screen.tell(ended)
        screen.draw(list(open.values()))
        if not open:
            return 1 if bad else 0
        time.sleep(_PAUSE)
        for id in _next(open):
            open[id] = ask("GET", f"/documents/{id}")


def _has_ended(document: Record) -> bool:
    return document["processing_status"] in (*FINAL, "awaiting_approval")


def _next(open: dict[int, Record]) -> list[int]:
    """Those at work first: the others wait for them."""
    return sorted(open, key=lambda id: (open[id]["processing_status"] == "queued", id))[:_ASKED]


class _Screen:
    def __init__(self) -> None:
        self._live = is_terminal()
        self._width = shutil.get_terminal_size().columns - 1 if self._live else 79
        self._drawn = 0

    def tell(self, document: Record) -> None:
        self._wipe()
        status = document["processing_status"]
        word = "to approve" if status == "awaiting_approval" else status
        what = (
            f"{chunks(document) or '0'} chunks" if document["duplicate_of"] is None else f"of document {document['duplicate_of']}"
        )
        line = f"{pad(word, 11)} {pad(clip(safe(document['name']), 36), 36)} {what}"
        sys.stdout.write(f"{paint(line, COLOURS.get(status, ''))}\n")
        if document["error"]:
            sys.stdout.write(f"{pad('', 12)}{safe(document['error'])}\n")
        sys.stdout.flush()
        if status == "awaiting_approval":
            say(f"            approve it with: lanework jobs approve {document['job_id']}")

    def draw(self, documents: Sequence[Record]) -> None:
        if not self._live:
            return
        self._wipe()
        rows = [self._row(one) for one in documents[:_ROWS]]
        if len(documents) > _ROWS:
            rows.append(f"… and {len(documents) - _ROWS} more")
        sys.stdout.write("".join(f"{row}\n" for row in rows))
        sys.stdout.flush()
        self._drawn = len(rows)

    def _row(self, document: Record) -> str:
        part = document["chunks_done"] / document["chunks"] if document["chunks"] else 0.0
        head = f"{pad(clip(safe(document['name']), 28), 28)} "
        tail = clip(f" {state(document)} {chunks(document)}", max(self._width - 29 - 25, 0))
        return f"{head}{paint(bar(part, 20), 'cyan')}{tail}"

    def _wipe(self) -> None:
        if self._drawn:
            sys.stdout.write(_UP.format(self._drawn) + "\r" + _CLEAR)
            self._drawn = 0

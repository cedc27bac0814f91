"""Waiting for documents: a bar for each on a terminal, a line for each that has ended without one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kg.cli.bars import Bars
from kg.cli.documents import COLOURS, Record, chunks, outcome, progress, state, warnings
from kg.cli.evidence import wrapped
from kg.cli.remote import ask
from kg.errors import DocumentNotFound, KgError, ServerAway
from lanework._words import count
from lanework.cli.text import bar, clip, pad, paint, safe

#: Bars at a time. With more documents than lines that anybody reads, those that are completed are only counted.
_ROWS, _LINES = 12, 24
_PAUSE, _PAGE = 0.25, 500
#: A server that is started again is waited for.
_PATIENCE = 60.0
#: Where nothing moves for so long, people want to know why.
_STILL = 5.0
_OPEN = ("processing", "estimating", "queued")
_GOOD = {"completed", "duplicate"}


def wait_for(documents: Iterable[Record], form: str) -> tuple[int, list[Record]]:
    """The exit code, and the documents as they ended. Bars and lines are for the form `table` alone."""
    known = {one["id"]: one for one in documents}
    waiting = Waiting(len(known), Bars(silent=form != "table"))
    for one in known.values():
        waiting.add(one)
    return waiting.until_all(), waiting.ended


class Waiting:
    """`add` documents, `look` now and then; `until_all` waits for the rest. `total`: documents that are expected."""

    def __init__(self, total: int, bars: Bars) -> None:
        self.ended: list[Record] = []
        self.bars = bars
        self._total = total
        self._open: dict[int, Record] = {}
        self._looked, self._heard, self._moved = 0.0, time.monotonic(), time.monotonic()
        self._why, self._told_why = "", ""

    def add(self, document: Record) -> None:
        self._open[document["id"]] = document

    def until_all(self) -> int:
        """0 if all are completed, or the same as another one; 1 if one failed, is partial, was cancelled or deleted, or waits for
        somebody's approval."""
        self._total = len(self.ended) + len(self._open)
        try:
            while True:
                self.look()
                if not self._open:
                    break
                time.sleep(_PAUSE)
        except KeyboardInterrupt:
            self.bars.draw(())
            self.bars.say("nothing was stopped: `kg docs list` shows how far they are")
            raise
        found = Counter(one["processing_status"].replace("_", " ") for one in self.ended)
        if self._total > 1 and (self.bars.live or self._total > _LINES):
            counts = ", ".join(f"{number:,} {status}" for status, number in found.most_common())
            noted = sum(bool(warnings(one)) for one in self.ended)
            self.bars.say(f"{self._total:,} documents: {counts}" + (f"; {noted:,} with a note: `kg docs show ID`" if noted else ""))
        return 0 if set(found) <= _GOOD else 1

    def look(self, above: str = "") -> None:
        """Asks how far they are, if that is some time ago, and shows it. `above` is a row before theirs."""
        if time.monotonic() - self._looked >= _PAUSE:
            self._ask()
            self._looked = time.monotonic()
        for id in [id for id, one in self._open.items() if one["processing_status"] not in _OPEN]:
            self.ended.append(self._open.pop(id))
            self._tell(self.ended[-1])
        self.bars.draw(self._rows(above))

    def _ask(self) -> None:
        try:
            found = {one["id"]: one for one in _still_open(self._open)}
            before, self._open = self._open, {id: found.get(id) or _last_of(one) for id, one in self._open.items()}
            self._heard = time.monotonic()
            self._wonder(before)
        except ServerAway:
            if time.monotonic() - self._heard > _PATIENCE:
                raise

    def _wonder(self, before: dict[int, Record]) -> None:
        """Why nothing moves: the first of them is asked."""
        now = time.monotonic()
        if not before or any(before.get(id) != one or one["processing_status"] == "processing" for id, one in self._open.items()):
            self._moved, self._why = now, ""
        elif now - self._moved > _STILL:
            self._moved, self._why = now, _why(self._open[min(self._open)])
            if self._why != self._told_why and not self.bars.live:
                self.bars.say(self._why)
                self._told_why = self._why

    def _tell(self, document: Record) -> None:
        status = document["processing_status"]
        if status == "completed" and self.bars.live and self._total > _LINES:
            return
        word = "to approve" if status == "awaiting_approval" else status
        line = f"{pad(word, 11)} {pad(clip(safe(document['name']), 36), 36)} {outcome(document)}"
        told = [document["error"] or "", *(f"note: {one}" for one in warnings(document))]
        lines = [paint(line, COLOURS.get(status, "")), *(line for one in told for line in wrapped(one, " " * 12))]
        if status == "awaiting_approval":
            lines.append(f"{' ' * 12}approve it with: lanework jobs approve {document['job_id']}")
        self.bars.tell(*lines)

    def _rows(self, above: str) -> list[str]:
        if not self._open and not above:
            return []
        most = self.bars.columns
        room = min(_ROWS, self.bars.room - 2)
        at_work = sorted(self._open.values(), key=lambda one: (_OPEN.index(one["processing_status"]), one["id"]))
        rows = [_row(safe(one["name"]), progress(one), f"{state(one)} {chunks(one)}", most) for one in at_work[: max(room, 0)]]
        if self._total > 1:
            done = (len(self.ended) + sum(map(progress, at_work))) / self._total
            rows.append(_row(f"{len(self.ended):,} of {count(self._total, 'document')}", done, _counts(at_work), most))
        if time.monotonic() - self._heard > 2:
            rows.append(clip("the server does not answer; waiting for it", most))
        elif self._why:
            rows += [clip(line, most) for line in wrapped(self._why)]
        return [clip(above, most), *rows] if above else rows


def _row(name: str, part: float, tail: str, most: int) -> str:
    head = pad(clip(name, min(28, most)), min(28, most))
    if most < 56:  # no room for a bar
        return clip(f"{head} {part:4.0%} {tail}", most)
    return f"{head} {paint(bar(part, 20), 'cyan')} {clip(tail, most - 55)}".rstrip()


def _counts(documents: Sequence[Record]) -> str:
    at_work = sum(one["processing_status"] == "processing" for one in documents)
    waiting = len(documents) - at_work
    return ", ".join(f"{number:,} {what}" for number, what in ((at_work, "at work"), (waiting, "waiting")) if number)


def _still_open(wanted: dict[int, Record]) -> Iterable[Record]:
    """One request for hundreds: of the newest of them down to the oldest, all that have not ended."""
    if not wanted:
        return
    ontologies = {one["ontology"] for one in wanted.values()}
    filters: dict[str, Any] = {"status": list(_OPEN), "limit": _PAGE, "before": max(wanted) + 1}
    if len(ontologies) == 1:
        filters["ontology"] = ontologies.pop()
    while True:
        page = ask("GET", "/documents", params=filters)
        yield from page["documents"]
        if page["next"] is None or page["next"] <= min(wanted):
            return
        filters["before"] = page["next"]


def _why(document: Record) -> str:
    """What the engine says of its job, or of the one that this waits for; nothing to those who may not ask."""
    told, job = "", str(document["job_id"])
    try:
        for _ in range(3):
            found = ask("GET", f"/jobs/{job}/explain")
            remedy = "start one with `kg work`" if found["reason"] == "no_worker" else found["remedy"]
            told = f"{safe(document['name'])} waits: {found['text']}" + (f"; {remedy}" if remedy else "")
            others = [one.removeprefix("job:") for one in (*found["waits_for"], *found["holders"]) if one.startswith("job:")]
            if not others:
                break
            job = others[0]
    except KgError:
        pass  # of that one nothing is known
    return told


def _last_of(document: Record) -> Record:
    try:
        found: Record = ask("GET", f"/documents/{document['id']}")
        return found
    except KgError as error:
        if error.code != DocumentNotFound.code:
            raise
        return {**document, "processing_status": "deleted", "error": None}

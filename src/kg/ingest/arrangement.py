"""What of a document's new text is stored already: chunks that stay, chunks that go, chunks that are to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg._store.ingestion import Placed, Source
from kg.ingest.reading import Piece, Subject


@dataclass(frozen=True)
class Arrangement:
    kept: list[Placed]
    gone: list[int]
    todo: list[Piece]

    @property
    def moved(self) -> list[Placed]:
        return [one for one in self.kept if one.shift]


def arrange(subject: Subject, pieces: Sequence[Piece], sources: Sequence[Source]) -> Arrangement:
    """A chunk is known by its text. Kept ones may stand elsewhere now."""
    stored = {(one.hash, one.copy): one for one in sources if _is_usable(one, subject)}
    wanted = {(one.hash, one.copy) for one in pieces}
    kept = [_placed(stored[one.hash, one.copy], one) for one in pieces if (one.hash, one.copy) in stored]
    staying = {source.id for key, source in stored.items() if key in wanted}
    return Arrangement(
        kept, [one.id for one in sources if one.id not in staying], [one for one in pieces if (one.hash, one.copy) not in stored]
    )


def _is_usable(source: Source, subject: Subject) -> bool:
    """Made with a graph if one is wanted; with `force`, made for this very version."""
    return bool(source.extractor) == subject.graph and (source.version == subject.version or not subject.force)


def _placed(source: Source, piece: Piece) -> Placed:
    chunk = piece.chunk
    return Placed(source.id, chunk.ordinal, chunk.start, chunk.own, chunk.end, chunk.start - source.start)

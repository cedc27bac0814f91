"""What of a document's new text is stored already: chunks that stay, chunks that go, chunks that are to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg._store.ingestion import Placed, Source
from kg.ingest.reading import Piece, Subject


@dataclass(frozen=True)
class Arrangement:
    """`replaced`: chunks of the same text that are read again, by what they are known by; they are among those that go."""

    kept: list[Placed]
    gone: list[int]
    todo: list[Piece]
    replaced: dict[tuple[bytes, int], int]

    @property
    def is_new(self) -> bool:
        """Nothing that stands there is of a version before."""
        return not self.gone and not any(one.aged for one in self.kept)

    @property
    def moved(self) -> list[Placed]:
        return [one for one in self.kept if one.shift]


def arrange(subject: Subject, pieces: Sequence[Piece], sources: Sequence[Source]) -> Arrangement:
    """A chunk is known by its text. Kept ones may stand elsewhere now."""
    stored = {(one.hash, one.copy): one for one in sources if _is_usable(one, subject)}
    wanted = {(one.hash, one.copy) for one in pieces}
    kept = [_placed(stored[one.hash, one.copy], one, subject) for one in pieces if (one.hash, one.copy) in stored]
    staying = {source.id for key, source in stored.items() if key in wanted}
    return Arrangement(
        kept,
        [one.id for one in sources if one.id not in staying],
        [one for one in pieces if (one.hash, one.copy) not in stored],
        {(one.hash, one.copy): one.id for one in sources if (one.hash, one.copy) in wanted and one.id not in staying},
    )


def _is_usable(source: Source, subject: Subject) -> bool:
    """Made with a graph if one is wanted; with `force`, made for this very version."""
    return bool(source.extractor) == subject.graph and (source.version == subject.version or not subject.force)


def _placed(source: Source, piece: Piece, subject: Subject) -> Placed:
    chunk, aged = piece.chunk, source.version != subject.version
    return Placed(source.id, chunk.ordinal, chunk.start, chunk.own, chunk.end, chunk.start - source.start, aged)

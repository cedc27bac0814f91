"""The first two steps, done once for the estimate and the run: the text of a document, and its chunks."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kg._store import documents as documents_store
from kg._store import ingestion as store
from kg._store.transaction import Block, fenced, fenced_alone
from kg.errors import KgError
from kg.ingest.pipeline import Pipeline
from kg.ingest.refusal import Refusal, asked_again
from kg.parts import Chunk, Chunker, Parsed
from lanework import Context, Lanework
from lanework.retries import classify

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Superseded(Exception):
    """The document was deleted, or a newer version of it has come."""


@dataclass(frozen=True)
class Subject:
    """What a run is about: one version of a document."""

    id: int
    version: int
    ontology: int
    name: str
    media_type: str
    hash: bytes | None  # None: an address of which nothing has come yet
    graph: bool
    collection: str
    ask: bool
    force: bool
    epoch: int
    #: The address it is to be fetched from; empty: its bytes are there.
    url: str = ""
    named: bool = True
    declared: str = ""
    duplicate_of: int | None = None


@dataclass(frozen=True)
class Reading:
    """What was found in the bytes. `error`: nothing, and why."""

    text_hash: str = ""
    title: str = ""
    characters: int | None = None
    warnings: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Piece:
    """A chunk as it is known: by its text, and by which of several equal ones it is."""

    chunk: Chunk
    hash: bytes
    copy: int


class Reader:
    def __init__(self, ctx: Context, work: Lanework, pipeline: Pipeline, subject: Subject, status: str) -> None:
        self._ctx, self._work, self._pipeline, self._subject, self._status = ctx, work, pipeline, subject, status
        self._text = ""  # once it was parsed here

    async def read(self) -> tuple[Reading, list[Piece]]:
        """Step `parse`, step `chunk`."""
        reading, which = await self._ctx.astep("parse", _once, self._parse), ""
        if reading.error and asked_again(self._ctx, self._status):
            which = f" {self._ctx.attempt}"
            reading = await self._ctx.astep(f"parse{which}", _once, self._parse)
        if reading.error:
            return reading, []
        text = self._text or (await self._blob(bytes.fromhex(reading.text_hash))).decode()
        places = await self._ctx.astep(f"chunk{which}", _places, self._pipeline.chunker, text)
        chunks = [Chunk(n, start, own, end, text[start:end]) for n, (start, own, end) in enumerate(places)]
        return reading, pieces(chunks)

    async def _parse(self) -> Reading:
        subject = self._subject
        await stage(self._ctx, subject, self._status, "parse")
        data = await self._blob(subject.hash)
        try:
            # what was said about it may be wrong: then it is refused here, and not where it was taken
            media_type = self._pipeline.sniff(data, subject.name, subject.media_type)
            parsed = await self._pipeline.parse(data, media_type, subject.name)
        except KgError as error:
            if classify(error) != "invalid_input":
                raise
            return Reading(error=Refusal.told(error))
        return await self._keep(parsed, media_type)

    async def _blob(self, hash: bytes | None) -> bytes:
        data = None if hash is None else await self._work._arun(documents_store.read_blob(hash))
        if data is None:
            raise Superseded
        return bytes(data)

    async def _keep(self, parsed: Parsed, media_type: str) -> Reading:
        subject, text = self._subject, _UNSTORABLE.sub("\ufffd", parsed.text)
        data = text.encode()
        hash, title = hashlib.sha256(data).digest(), _title(parsed, subject)
        doubts = self._pipeline.doubts(parsed, graph=subject.graph)

        async def act(tx: Block) -> None:
            verb = store.parsed_document(
                subject.id, subject.version, hash=hash, characters=len(text), title=title, media_type=media_type
            )
            _, found = await tx.run_all([documents_store.put_blob(hash, data), verb])
            if found is None:
                raise Superseded
            if doubts or subject.version > 1:
                told = [_UNSTORABLE.sub("\ufffd", one) for one in doubts]
                await tx.run(store.warn_document(subject.id, subject.version, told))

        await fenced(self._ctx, act)
        self._text = text
        return Reading(hash.hex(), title, len(text), doubts)


async def stage(ctx: Context, subject: Subject, status: str, stage: str) -> None:
    """What a run is at now, for all to see."""
    verb = partial(store.stage_document, id=subject.id, version=subject.version, status=status, stage=stage)
    if await fenced_alone(ctx, verb, "the stage of its document") is None:
        raise Superseded
    ctx.progress(0.0, stage, stage=stage)


async def _once(parse: object) -> Reading:
    found: Reading = await parse()  # type: ignore[operator]
    return found


async def _places(chunker: Chunker, text: str) -> list[tuple[int, int, int]]:
    chunks = await asyncio.to_thread(chunker.chunks, text)
    return [(one.start, one.own, one.end) for one in chunks]


def pieces(chunks: Sequence[Chunk]) -> list[Piece]:
    seen: Counter[bytes] = Counter()
    found = []
    for chunk in chunks:
        if not chunk.text.strip():  # nothing is said in it
            continue
        # where its own part begins counts too: its passages are made of that
        hash = hashlib.sha256(f"{chunk.own - chunk.start} {chunk.text}".encode()).digest()
        found.append(Piece(chunk, hash, seen[hash]))
        seen[hash] += 1
    return found


def _title(parsed: Parsed, subject: Subject) -> str:
    title = _UNSTORABLE.sub("\ufffd", " ".join(parsed.title.split()))
    return (title or subject.name)[:500]

"""Answers of models, stored before they are used: a crash never pays for more than the calls that were in flight."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from array import array
from collections import defaultdict
from collections.abc import Sequence

from kg.parts import Embed, Embedded, Extraction, Extractor, Known, Usage
from lanework import Context


def name_of(kind: str, model: str, *texts: str) -> str:
    """The name of a step: the same question to the same model."""
    found = hashlib.sha256(model.encode())
    for text in texts:
        found.update(hashlib.sha256(text.encode()).digest())
    return f"{kind}:{found.hexdigest()[:32]}"


class StoredExtractor:
    """An extractor whose answers are steps of a job."""

    def __init__(self, ctx: Context, extractor: Extractor) -> None:
        self._ctx, self._extractor = ctx, extractor
        self.name = extractor.name

    async def extract(self, text: str, known: Sequence[Known] = ()) -> Extraction:
        return await self._ctx.astep(name_of("extract", self.name, text), _extract, self._extractor, text, known)


# not a method: the engine remembers what a step's function returns, and with a method it would remember the whole job
async def _extract(extractor: Extractor, text: str, known: Sequence[Known]) -> Extraction:
    return await extractor.extract(text, known=known)


class StoredEmbed:
    """An `Embed` whose vectors are steps of a job, unless they are free. The same texts are asked for once, by whoever comes
    first."""

    def __init__(self, ctx: Context, embed: Embed) -> None:
        self._ctx, self._embed = ctx, embed
        self._asked: dict[str, list[str]] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.name, self.dimensions = embed.name, embed.dimensions
        self._free: bool = getattr(embed, "free", False)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if not texts:
            return Embedded(())
        name = name_of("embed", self.name, *texts)
        async with self._asking[name]:
            if name not in self._asked:
                asking = _embed(self._embed, texts) if self._free else self._ctx.astep(name, _embed, self._embed, texts)
                self._asked[name] = await asking
        return Embedded(tuple(map(_vector, self._asked[name])), Usage())


async def _embed(embed: Embed, texts: Sequence[str]) -> list[str]:
    return [_text(vector) for vector in (await embed.embed(texts)).vectors]


def _text(vector: Sequence[float]) -> str:
    """Four bytes a number: a fifth of what it takes as JSON."""
    return base64.b64encode(array("f", vector).tobytes()).decode()


def _vector(text: str) -> tuple[float, ...]:
    numbers = array("f")
    numbers.frombytes(base64.b64decode(text))
    return tuple(numbers)

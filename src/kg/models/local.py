"""Models that run in this process: made and loaded once, in a thread, when the first one asks; their calls are in the ledger too.

They see to it themselves that they are used one call at a time and never on the event loop (`kg.local.lone`).
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

from kg._store.models import CallRow
from kg.errors import ModelMissing
from kg.models.ledger import Ledger
from kg.models.tokens import likely
from kg.parts import Embed, Embedded, Extraction, Extractor, Known, Usage
from lanework.context import inside

M = TypeVar("M", Embed, Extractor)
T = TypeVar("T")
EMBED = "kg.local.embedding:LocalEmbed"
EXTRACTOR = "kg.local.extractor:LocalExtractor"


def found(path: str, *args: Any, **more: Any) -> Any:
    """One of `module:name`, imported now: heavy packages come with it."""
    module, _, name = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ModelMissing(f"local models cannot be loaded ({error}); install them: pip install 'lanework[local]'") from error
    return kind(*args, **more)


class Local(Generic[M]):
    """What its two kinds share."""

    def __init__(self, ledger: Ledger, make: Callable[[], M]) -> None:
        self._ledger = ledger
        self._make: Callable[[], M] = make
        self._lock = threading.RLock()
        self._made: M | None = None
        self._loaded = False

    async def load(self) -> None:
        await asyncio.to_thread(self._load)

    def _load(self) -> None:
        with self._lock:
            if not self._loaded:
                if (load := getattr(self._model, "load", None)) is not None:
                    load()
                self._loaded = True

    @property
    def _model(self) -> M:
        """Loaded or not: what it is called is known before."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def name(self) -> str:
        return self._model.name

    async def _call(self, what: Callable[[M], Coroutine[Any, Any, T]], purpose: str, tokens: int) -> T:
        if not self._loaded:
            await self.load()
        begun, outcome = time.monotonic(), "failed"
        try:
            answer = await what(self._model)
            outcome = "ok"
            return answer
        finally:
            await self._ledger.write(self._row(purpose, tokens, time.monotonic() - begun, outcome))

    def _row(self, purpose: str, tokens: int, seconds: float, outcome: str) -> CallRow:
        context = inside.get()
        job, owner = (None, None) if context is None else (context.job_id, context.owner)
        return CallRow(str(uuid4()), job, owner, "local", self.name, purpose, tokens, 0, 0.0, seconds, outcome)


class OwnEmbed(Local[Embed]):
    """`folder`: of a model of one's own."""

    free = True

    def __init__(self, ledger: Ledger, make: Callable[[], Embed] | None = None, *, folder: str = "", threads: int = 1) -> None:
        super().__init__(ledger, make or partial(found, EMBED, folder or None, threads=threads))

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await self._call(lambda model: _embedded(model, texts), "embed", likely(*texts))


async def _embedded(model: Embed, texts: Sequence[str]) -> Embedded:
    return await model.embed(texts)


class OwnExtractor(Local[Extractor]):
    def __init__(self, ledger: Ledger, make: Callable[[], Extractor] | None = None) -> None:
        super().__init__(ledger, make or partial(found, EXTRACTOR))

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        return await self._call(lambda model: _extracted(model, text, known), "extract", likely(text))

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        return self._model.expect(text, known=known)

    def doubts(self, text: str) -> Sequence[str]:
        found: Sequence[str] = getattr(self._model, "doubts", _none)(text)
        return found


def _none(_: str) -> Sequence[str]:
    return ()


async def _extracted(model: Extractor, text: str, known: Sequence[Known]) -> Extraction:
    return await model.extract(text, known=known)

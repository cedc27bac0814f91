"""Models that run in this process. They are not safe for threads: each has a thread of its own, and one call at a time there."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from kg._store.models import CallRow
from kg.errors import ModelMissing
from kg.models.ledger import Ledger
from kg.models.tokens import likely
from kg.parts import Embed, Embedded, Extraction, Extractor, Known, Usage
from lanework.context import inside

T = TypeVar("T")
EMBED = "kg.local.embedding:LocalEmbed"
EXTRACTOR = "kg.local.extractor:LocalExtractor"


def _found(path: str) -> Any:
    """One of `module:name`, imported now: heavy packages come with it."""
    module, _, name = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise ModelMissing(f"local models cannot be loaded ({error}); install them: pip install 'lanework[local]'") from error
    return kind()


class Alone:
    """A thing that is made, and used, in one thread."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self._make, self._thing = make, None
        self._new: Any = None
        self._making = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"kg-{name}")

    def made(self) -> Any:
        """As it is, loaded or not."""
        with self._making:
            if self._new is None:
                self._new = self._make()
        return self._new

    async def load(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._get)

    def _get(self) -> Any:
        """One thread: nobody makes it twice."""
        if self._thing is None:
            thing = self.made()
            if (load := getattr(thing, "load", None)) is not None:
                found = load()
                if inspect.isawaitable(found):
                    asyncio.run(_wait(found))
            self._thing = thing
        return self._thing

    async def run(self, what: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        def there() -> T:
            return asyncio.run(what(self._get()))

        return await asyncio.get_running_loop().run_in_executor(self._thread, there)


async def _wait(what: Any) -> Any:
    return await what


class Local:
    """What its two kinds share: the ledger has their calls too."""

    def __init__(self, ledger: Ledger, make: Callable[[], Any], name: str) -> None:
        self._alone, self._ledger = Alone(make, name), ledger
        self._loaded: Any = None

    async def load(self) -> None:
        self._loaded = await self._alone.load()

    @property
    def _ready(self) -> Any:
        """What it is called is known before it is loaded."""
        return self._loaded or self._alone.made()

    async def _run(self, what: Callable[[Any], Coroutine[Any, Any, T]], purpose: str, tokens: int) -> T:
        if self._loaded is None:
            await self.load()
        begun, context = time.monotonic(), inside.get()
        outcome = "failed"
        try:
            found = await self._alone.run(what)
            outcome = "ok"
            return found
        finally:
            row = CallRow(
                str(uuid4()), context.job_id if context else None, context.owner if context else None, "local", self._ready.name,
                purpose, tokens, 0, 0.0, time.monotonic() - begun, outcome,
            )  # fmt: skip
            await self._ledger.write(row)


class OwnEmbed(Local):
    def __init__(self, ledger: Ledger, make: Callable[[], Embed] | None = None) -> None:
        super().__init__(ledger, make or partial(_found, EMBED), "embed")

    @property
    def name(self) -> str:
        return str(self._ready.name)

    @property
    def dimensions(self) -> int:
        return int(self._ready.dimensions)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await self._run(lambda model: _embedded(model, texts), "embed", likely(*texts))


async def _embedded(model: Embed, texts: Sequence[str]) -> Embedded:
    return await model.embed(texts)


class OwnExtractor(Local):
    sees_known = False

    def __init__(self, ledger: Ledger, make: Callable[[], Extractor] | None = None) -> None:
        super().__init__(ledger, make or partial(_found, EXTRACTOR), "extract")

    @property
    def name(self) -> str:
        return str(self._ready.name)

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        return await self._run(lambda model: _extracted(model, text, known), "extract", likely(text))

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        """It costs nothing but time."""
        usage = Usage(likely(text))
        return usage, usage


async def _extracted(model: Extractor, text: str, known: Sequence[Known]) -> Extraction:
    return await model.extract(text, known=known)

"""The platform's parsers as a document loader for other code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kg.documents.fetching import fetch
from kg.documents.limits import ParseLimits
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.documents.walking import spelled, walk
from kg.errors import KgError, TooLarge


@dataclass(frozen=True)
class LoadedDocument:
    """Looks like the documents that retrieval libraries pass around: `page_content` and `metadata`."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


class KgLoader:
    """`KgLoader("folder").load()`: every file of it that can be read. A path or an http address, given here or to `load`.
    What cannot be read raises; with `skip_errors=True` it is left out and kept in `errors`."""

    def __init__(self, source: str | Path | None = None, *, limits: ParseLimits | None = None, skip_errors: bool = False) -> None:
        self._source, self._limits, self._skip = source, limits or ParseLimits(), skip_errors
        self.errors: dict[str, KgError] = {}

    def load(self, source: str | Path | None = None) -> list[LoadedDocument]:
        """Not from inside a running event loop; use `aload` there."""
        return asyncio.run(self.aload(source))

    def lazy_load(self) -> Iterator[LoadedDocument]:
        for source in self._sources(self._source):
            yield from asyncio.run(self._one(source))

    async def aload(self, source: str | Path | None = None) -> list[LoadedDocument]:
        return [one for each in self._sources(source or self._source) for one in await self._one(each)]

    def _sources(self, source: str | Path | None) -> list[str | Path]:
        if source is None:
            raise ValueError("say what to load: a path or an http address")
        if isinstance(source, str) and source.startswith(("http://", "https://")):
            return [source]
        path = Path(source)
        return list(walk(path)) if path.is_dir() else [path]

    async def _one(self, source: str | Path) -> list[LoadedDocument]:
        try:
            return [await self._read(source)]
        except KgError as error:
            if not self._skip:
                raise
            self.errors[_named(source)] = error
            return []

    async def _read(self, source: str | Path) -> LoadedDocument:
        if isinstance(source, Path):
            data, name, declared = await asyncio.to_thread(_bytes, source, self._limits.size), source.name, ""
        else:
            fetched = await fetch(source)
            data, name, declared = fetched.data, fetched.name, fetched.media_type
        media_type = sniff(data, name, declared)
        parsed = await parse(data, media_type, name, limits=self._limits)
        about = {"source": _named(source), "title": parsed.title, "media_type": media_type, **parsed.meta}
        return LoadedDocument(parsed.text, {**about, "warnings": list(parsed.warnings)} if parsed.warnings else about)


def _named(source: str | Path) -> str:
    return spelled(source) if isinstance(source, Path) else source


def _bytes(path: Path, limit: int) -> bytes:
    """Looks at the size first: a gigabyte is not read to be refused."""
    if (size := path.stat().st_size) > limit:
        raise TooLarge(f"{path.name!r} has {size:,} bytes; {limit:,} are allowed")
    return path.read_bytes()

"""A document, and what a caller hands in to make one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kg.errors import InvalidDocument

Status = Literal[
    "queued", "estimating", "awaiting_approval", "processing", "completed", "partial", "failed", "cancelled", "duplicate"
]
FINAL = frozenset({"completed", "partial", "failed", "cancelled", "duplicate"})
LONGEST_NAME, LONGEST_KEY = 500, 2000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """`processing_status` is true at every moment. `stage` says where in the work it is, or what it waits for.
    `duplicate_of`: the document of its ontology that has the same content, and is worked in its place."""

    id: int
    ontology: str
    name: str
    title: str
    key: str | None
    version: int
    media_type: str
    size: int
    characters: int | None
    owner: str
    job_id: int | None
    processing_status: Status
    stage: str
    chunks: int
    chunks_done: int
    chunks_failed: int
    error: str | None
    options: dict[str, Any]
    provenance: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    duplicate_of: int | None

    @property
    def finished(self) -> bool:
        return self.processing_status in FINAL


@dataclass(frozen=True, slots=True)
class Options:
    """How a document is worked.

    graph       off: its passages are embedded into a collection, and no graph is made of it
    collection  which one; its ontology's name unless given
    ask         it stops for an approval, whatever it costs
    """

    graph: bool = True
    collection: str | None = None
    ask: bool = False

    def stored(self) -> dict[str, Any]:
        return {"graph": self.graph, "ask": self.ask, **({"collection": self.collection} if self.collection else {})}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Options:
        return cls(stored.get("graph", True), stored.get("collection"), stored.get("ask", False))


@dataclass(frozen=True)
class New:
    """What comes in: bytes, or the address that its job fetches them from. `key` is where it came from (the address, unless given):
    new content under a known key is a new version. `media_type` is what it is said to be. An address without a `name` is called
    as its server calls it."""

    data: bytes = field(repr=False)
    name: str
    ontology: str
    owner: str
    media_type: str = ""
    key: str | None = None
    options: Options = Options()
    force: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)
    url: str | None = None

    def stored_options(self) -> dict[str, Any]:
        """Of this version: how it is worked, and where it is to be had."""
        there = {"url": self.url, "named": bool(self.name), "media_type": self.media_type[:200]} if self.url is not None else {}
        return {**self.options.stored(), **({"force": True} if self.force else {}), **there}

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(self.data).digest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """`existing`: the content was known already, and nothing was started."""

    document: Document
    existing: bool


def shown_name(name: str) -> str:
    """A name to show, never a path: what stands before the last slash is left out."""
    last = _CONTROL.sub("", name.replace("\\", "/")).rstrip("/ ").rpartition("/")[2].strip()
    return "document" if last in ("", ".", "..") else last[:LONGEST_NAME]


def checked_key(key: str | None) -> str | None:
    if key is not None and (not 1 <= len(key) <= LONGEST_KEY or _CONTROL.search(key)):
        raise InvalidDocument(
            f"key: expected 1 to {LONGEST_KEY} characters without control characters, got {key[:100]!r}", field="key"
        )
    return key

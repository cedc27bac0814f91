"""`KgRetriever`: the platform's search for other RAG code, with nobody's framework in between.

retriever = KgRetriever(Server("http://127.0.0.1:8000", token, ontology="manual"))
for found in retriever.retrieve("how do claims expire?", limit=5):
    print(found.score, found.text, found.metadata["document"])

A `Server` is asked over HTTP; a `Collection` is a collection of texts in a `VectorStore` of this process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import httpx2

from kg.errors import GraphNotFound, InvalidQuery, NotAuthenticated, OntologyNotFound, Refused, ServerAway
from kg.graph.searching import PassageMode
from kg.parts import Embed, VectorStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """`metadata` says where the text is from; `score` compares what one call has found."""

    text: str
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)


class Source(Protocol):
    async def find(self, query: str, limit: int) -> list[Retrieved]: ...


@dataclass(frozen=True)
class Server:
    """The passages of a running platform. `options` go to the HTTP client."""

    url: str
    token: str
    ontology: str | None = None
    collection: str | None = None
    mode: PassageMode = "graph"
    timeout: float = 30.0
    options: dict[str, Any] = field(default_factory=dict)

    async def find(self, query: str, limit: int) -> list[Retrieved]:
        body = {"query": query, "what": "passages", "mode": self.mode, "ontology": self.ontology, "limit": limit}
        body |= {"collection": self.collection} if self.collection is not None else {}
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            async with httpx2.AsyncClient(timeout=self.timeout, **self.options) as client:
                answer = await client.post(f"{self.url.rstrip('/')}/query/search", json=body, headers=headers)
        except httpx2.HTTPError as error:
            raise ServerAway(f"no server answers at {self.url} ({error})") from None
        if not answer.is_success:
            raise _error(answer)
        return [_retrieved(one) for one in answer.json()["passages"]]


def _retrieved(one: dict[str, Any]) -> Retrieved:
    kept = ("id", "ontology", "document_id", "document", "title", "source_id", "start", "end", "collection")
    return Retrieved(one["text"], one["score"], {name: one[name] for name in kept})


def _error(answer: httpx2.Response) -> Exception:
    try:
        said = answer.json()
        detail, code = str(said["detail"]), said.get("code")
    except (ValueError, KeyError, TypeError, AttributeError):
        detail, code = f"the answer was {answer.status_code}", None
    if code == OntologyNotFound.code:
        return OntologyNotFound(detail)
    kinds: dict[int, Callable[[str], Exception]] = {401: NotAuthenticated, 404: GraphNotFound, 422: InvalidQuery}
    return kinds.get(answer.status_code, Refused)(detail)


@dataclass(frozen=True)
class Collection:
    """Texts that were stored with their vectors: ingestion without a graph, or one's own."""

    store: VectorStore
    embed: Embed
    name: str

    async def find(self, query: str, limit: int) -> list[Retrieved]:
        vector = (await self.embed.embed([query])).vectors[0]
        near = await self.store.search(self.name, self.embed.name, vector, limit=limit)
        return [Retrieved(one.text, one.score, {"id": one.id, **one.meta}) for one in near]


class KgRetriever:
    """`retrieve` for plain code, `aretrieve` for a loop of one's own. Close it, or use it as a context, if `retrieve` was used."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._loop: _Loop | None = None
        self._lock = threading.Lock()

    async def aretrieve(self, query: str, limit: int = 5) -> list[Retrieved]:
        return await self._source.find(query, limit)

    def retrieve(self, query: str, limit: int = 5) -> list[Retrieved]:
        with self._lock:
            if self._loop is None:
                self._loop = _Loop()
        return self._loop.run(self._source.find(query, limit))

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Loop:
    """An event loop in a thread of its own: the caller's thread may have one that runs, or none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="kg-retriever")
        self._thread.start()

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

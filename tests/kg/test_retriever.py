"""The retriever, and passages by what the graph leads to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest

from kg.adapters.retriever import KgRetriever, Server
from kg.errors import InvalidQuery, NotAuthenticated, OntologyNotFound, ServerAway
from kg.graph.links import Edges, Place
from tests.kg.graph import Writer, fill
from tests.kg.served import Served, serve
from tests.servers import Databases

#: The answer is two steps away: nothing in the question's words or meaning leads to it rather than to the bread.
ISLAND = (
    "Ada Grebe wrote the Lighthouse Song.\n\nThe Lighthouse Song was first sung on Skarvøy.\n\nSkarvøy belongs to Northmark.\n\n"
) + "\n\n".join(f"Song {n}: people of which place first wrote it and first sung it?" for n in range(4))
ISLAND += "\n\n" + "\n\n".join(f"Loaf {n} belongs to breakfast." for n in range(12))


def walk(edges: Edges, seeds: Mapping[Place, float], back: Edges) -> dict[Place, float]:
    """Personalised PageRank, written to be read."""
    near: dict[Place, dict[Place, float]] = {}
    for (one, two), weight in edges.items():
        near.setdefault(one, {})[two] = weight
        near.setdefault(two, {})[one] = back.get((one, two), weight)
    total = sum(seeds.values())
    start = {place: weight / total for place, weight in seeds.items()}
    rank = dict(start)
    for _ in range(20):
        moved: dict[Place, float] = {}
        for place, share in rank.items():
            leaving = sum(near.get(place, {}).values())
            for other, weight in near.get(place, {}).items():
                moved[other] = moved.get(other, 0.0) + 0.5 * share * weight / leaving
        again = 1 - sum(moved.values())
        rank = {place: moved.get(place, 0.0) + again * start.get(place, 0.0) for place in {*moved, *start}}
    return rank


@pytest.fixture(scope="module")
def served(_fleet: Callable[[int], Databases]) -> Iterator[Served]:
    with _fleet(18).with_schema() as dsn, psycopg.connect(dsn, autocommit=True) as db:
        writer = Writer(db)
        with serve(dsn, writer.embed, walk) as served:
            fill(writer)
            writer.document("islands", "island.txt", ISLAND)
            for label in ("Ada Grebe", "Lighthouse Song", "Skarvøy", "Northmark"):
                writer.concept("islands", label, document="island.txt")
            writer.relate("Ada Grebe", "WROTE", "Lighthouse Song")
            writer.relate("Lighthouse Song", "SUNG_ON", "Skarvøy")
            writer.relate("Skarvøy", "PART_OF", "Northmark")
            yield served


def _source(served: Served, **more: Any) -> Server:
    return Server(f"http://127.0.0.1:{served.port}/", served.tokens["operator"], **more)


def test_passages_for_other_code(served: Served) -> None:
    with KgRetriever(_source(served, ontology="cars", mode="hybrid")) as retriever:
        first, *_ = retriever.retrieve("what is made from oil", limit=2)
        assert (first.text, first.metadata["document"]) == ("Fuel is made from oil.", "cars.txt")
        assert first.metadata["end"] - first.metadata["start"] == len(first.text)
        again = asyncio.run(retriever.aretrieve("what is made from oil", 2))
        assert again[0] == first

        async def inside() -> Any:
            return retriever.retrieve("what is made from oil", 1)  # a loop runs in this thread

        assert asyncio.run(inside()) == [first]


def test_the_graph_leads_to_what_neither_words_nor_meaning_find(served: Served) -> None:
    question = "people of which place first sung what Ada Grebe wrote"
    places = {}
    for mode in ("hybrid", "graph"):
        with KgRetriever(_source(served, ontology="islands", mode=mode)) as retriever:
            texts = [one.text for one in retriever.retrieve(question, limit=20)]
            places[mode] = texts.index("Skarvøy belongs to Northmark.")
    assert places["graph"] < places["hybrid"]
    assert places["graph"] <= 6  # before all bread


def test_the_answer_says_which_mode_it_was(served: Served) -> None:
    async def main() -> None:
        import httpx2

        headers = {"Authorization": f"Bearer {served.tokens['operator']}"}
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", headers=headers) as client:
            body = {"query": "song", "what": "passages", "mode": "graph"}
            assert (await client.post("/query/search", json=body)).json()["mode"] == "graph"
            wrong = await client.post("/query/search", json=body | {"what": "concepts"})
            assert (wrong.status_code, wrong.json()["field"]) == (422, "mode")
            empty = await client.post("/query/search", json=body | {"ontology": "islands", "query": "zzz"})
            assert empty.status_code == 200

    asyncio.run(main())


def test_what_can_go_wrong(served: Served) -> None:
    def find(source: Server, query: str = "x") -> Any:
        with KgRetriever(source) as retriever:
            return retriever.retrieve(query)

    with pytest.raises(OntologyNotFound, match="nowhere"):
        find(_source(served, ontology="nowhere"))
    with pytest.raises(InvalidQuery):
        find(_source(served), "")
    with pytest.raises(NotAuthenticated):
        find(Server(f"http://127.0.0.1:{served.port}", "wrong"))
    with pytest.raises(ServerAway):
        find(Server("http://127.0.0.1:1", "wrong"))

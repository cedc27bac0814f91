"""A large document goes in pieces; vectors get into their index after the lock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from kg._store.graph import index_concepts
from kg._store.leaving import still_leaving
from kg._store.verb import query
from kg.errors import SourceGone
from kg.graph import leaving, writing
from kg.graph.growth import Growth
from kg.graph.indexing import index
from tests.kg.graphs import Body, Conn, Document, Library, dump, extraction, vector, vectors


def _chunk(number: int) -> Any:
    """Names of its own, names that its neighbours have, and two that everybody has."""
    labels = ("Geneva", "Taito", f"Thing {number}", f"Matter {number // 3}", f"Topic {number % 5}")
    concepts = [(label, "", f"said by chunk {number}", ()) for label in labels]
    return extraction(concepts, [(0, 2, "uses", 0.5), (2, 3, "part of", 0.7), (1, 4, "causes", 0.4), (0, 1, "uses", 0.6)])


FEW, CHUNKS = 3, 9
LARGE = Document("large", tuple(_chunk(number) for number in range(CHUNKS)))
SMALL = Document("small", (_chunk(2), _chunk(7)))
LATER = Document("later", (_chunk(3), _chunk(CHUNKS + 1)))


async def _fill(here: Library, *documents: Document) -> None:
    for document in documents:
        for at in range(len(document.chunks)):
            await here.store(document, at)


async def _delete(here: Library, document: Document, **more: float) -> None:
    id, sources = here.there.pop(document)
    growth = Growth(here.work)

    async def act(vectors: Any) -> None:
        async with here.conn.transaction():
            await growth.drop(here.conn, here.id, sources, vectors, here.space)
            await here.conn.execute("delete from kg.documents where id = %s", [id])

    await growth.dropping(here.embed, here.space, sources, act, **more)


async def _same(conn: Conn, one: Library, other: Library) -> None:
    mine, his = await dump(conn, one.id), await dump(conn, other.id)
    for part in mine:
        assert mine[part] == his[part], part


async def _counts(conn: Conn) -> list[int]:
    asked = "select count(*) from kg.leaving union all select count(*) from kg.sources where document_id is null"
    return [row[0] for row in await (await conn.execute(asked)).fetchall()]


def _between(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], Awaitable[None]]) -> None:
    """`act` is called with its number after each piece, and the pieces are small."""
    real, pieces = leaving._remove, 0

    async def remove(*arguments: Any) -> None:
        nonlocal pieces
        await real(*arguments)
        pieces += 1
        await act(pieces)

    monkeypatch.setattr(leaving, "NAMES", 4)
    monkeypatch.setattr(leaving, "FEW", FEW)
    monkeypatch.setattr(leaving, "_remove", remove)


def test_a_large_document_goes_in_pieces_and_others_write_between_them(
    graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(conn: Conn, here: Library, serial: Library) -> None:
        async def write(piece: int) -> None:
            if piece in (1, 3):
                await here.store(LATER, piece // 2)

        _between(monkeypatch, write)
        await _fill(here, LARGE, SMALL)
        here.embed.asked.clear()
        await _delete(here, LARGE)
        assert len(here.there[LATER][1]) == 2  # there were so many pieces
        await _fill(serial, SMALL, LATER)
        await _same(conn, here, serial)
        assert await _counts(conn) == [0, 0]
        mine = {text for text in here.embed.asked if "said by chunk" in text}
        assert all(any(f"chunk {n}" in text for n in (2, 3, 7, CHUNKS + 1)) for text in mine)  # none for what goes itself

    graphs(body)


def test_what_was_left_half_done_is_finished_by_whoever_comes_next(
    graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(conn: Conn, here: Library, serial: Library) -> None:
        async def die(piece: int) -> None:
            raise ConnectionError("the process is gone")

        _between(monkeypatch, die)
        await _fill(here, SMALL, LARGE)
        _, sources = here.there[LARGE]
        with pytest.raises(ConnectionError):
            await _delete(here, LARGE)
        assert (await _counts(conn))[0] > 0
        with pytest.raises(SourceGone):  # whoever still writes for it
            async with conn.transaction():
                answer = LARGE.chunks[1]
                await writing.store_chunk(conn, here.id, sources[1], answer, vectors=vectors(answer), space=here.space)
        monkeypatch.undo()
        await leaving.finish(here.work, here.embed, here.space)
        await _fill(serial, SMALL)
        await _same(conn, here, serial)
        assert await _counts(conn) == [0, 0]

    graphs(body)


def test_a_small_one_goes_at_once(graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(conn: Conn, here: Library, serial: Library) -> None:
        async def never(piece: int) -> None:
            raise AssertionError(f"piece {piece}")

        _between(monkeypatch, never)
        await _fill(here, SMALL, LATER)
        await _delete(here, SMALL)
        await _fill(serial, LATER)
        await _same(conn, here, serial)

    graphs(body)


async def _quoted(conn: Conn, here: Library, label: str) -> tuple[list[int], list[int]]:
    """The sources of the first quote of a concept, and of the first of each of its relations."""
    of = "from kg.names n {} where n.ontology_id = %s and n.label = %s"
    concept = f"select q.source_id {of.format('cross join kg.quotes(n.concept_id, 1) q')}"
    related = "join kg.relations r on r.from_id = n.concept_id cross join kg.relation_quotes(r.id, 1) q"
    found = [await (await conn.execute(asked.encode(), [here.id, label])).fetchall()
             for asked in (concept, f"select q.source_id {of.format(related)} and r.type = 'CAUSES'")]  # fmt: skip
    return [row[0] for row in found[0]], [row[0] for row in found[1]]


def test_a_document_that_goes_is_no_evidence_from_the_first_moment_and_hides_none(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, serial: Library) -> None:
        await _fill(here, LARGE, SMALL)  # both say the same of Topic 2; the first places are all of the one that goes
        sources, left = here.there[LARGE][1], here.there[SMALL][1]
        await conn.execute(
            "insert into kg.passages (source_id, ontology_id, ordinal, start, finish, text)"
            " select id, %s, 0, start, finish, 'Geneva' from kg.sources where id = any (%s)", [here.id, [*sources, *left]],
        )  # fmt: skip
        first, related = await _quoted(conn, here, "Taito")
        assert first == sources[:1] and {*related} <= {*sources}
        await leaving.leave(conn, here.id, sources)
        assert await _quoted(conn, here, "Taito") == (left[:1], left[:1])
        (concept,) = await (await conn.execute("select id from kg.concepts where label = 'Geneva'")).fetchall()
        passages = await (
            await conn.execute(query("concept_passages"), {"ids": [*concept], "most": 1, "look": 4, "ontologies": None})
        ).fetchall()
        assert len(passages) == 1
        rows = await (await conn.execute("select source_id from kg.passages order by 1")).fetchall()
        assert [row[0] for row in rows] == left
        aliases = await (await conn.execute(query("concept_aliases"), {"id": concept[0], "limit": 9})).fetchall()
        assert aliases == [("Geneva", len(left))]

    graphs(body)


def test_who_has_no_patience_leaves_the_rest_to_upkeep(graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(conn: Conn, here: Library, serial: Library) -> None:
        monkeypatch.setattr(leaving, "FEW", FEW)
        await _fill(here, LARGE, SMALL)
        _, sources = here.there[LARGE]
        await _delete(here, LARGE, patience=0)
        assert await here.work._arun(still_leaving(sources)) and await _counts(conn) == [CHUNKS, CHUNKS]
        await leaving.finish(here.work, here.embed, here.space)
        assert not await here.work._arun(still_leaving(sources))
        await _fill(serial, SMALL)
        await _same(conn, here, serial)

    graphs(body)


async def _near(conn: Conn, text: str) -> list[str]:
    """Over all ontologies: a small one would be compared as a whole."""
    asked = "select c.label from kg.find_near('concepts', 'words', %s, null, 1, 40) f join kg.concepts c on c.id = f.id"
    return [row[0] for row in await (await conn.execute(asked, [str(vector(text))])).fetchall()]


async def _waiting(conn: Conn) -> int:
    row = await (await conn.execute("select count(*) from kg.unindexed")).fetchone()
    assert row is not None
    return int(row[0])


def test_a_concept_is_found_before_its_vector_is_in_the_index_and_after(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _fill(here, SMALL)
        for indexed in (False, True):
            assert bool(await _waiting(conn)) != indexed
            assert await _near(conn, "Matter 2: said by chunk 7") == ["Matter 2"]
            await index(here.work)
        await here.remove(SMALL)
        assert await _near(conn, "Matter 2: said by chunk 7") == []

    graphs(body)


def test_who_indexes_an_old_vector_does_not_hide_the_new_one(platform: str, graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _fill(here, SMALL)
        await index(here.work)
        change = "update kg.concepts set rank = %s, embedding = %s::vector where label = 'Geneva'"
        async with await psycopg.AsyncConnection.connect(platform, autocommit=True) as slow:
            await conn.execute(change, [b"one", str(vector("old"))])
            async with slow.transaction():
                await slow.execute(query("index_concepts"), {"limit": 9})
                await conn.execute(change, [b"two", str(vector("new"))])
                await conn.execute("set lock_timeout = '2s'")
                assert await _near(conn, "new") == ["Geneva"]
                done = await (await conn.execute(query("index_concepts"), {"limit": 9})).fetchone()
                assert done == (0,)  # the one before it is not done yet
        assert await _near(conn, "new") == ["Geneva"]
        assert await here.work._arun(index_concepts(9)) == 1
        stored = await (await conn.execute(
            "select c.id from kg.indexed i join kg.concepts c on c.id = i.concept_id where c.label = 'Geneva'"
            " and i.embedding::vector <=> %s::vector < 0.001", [str(vector("new"))])).fetchall()  # fmt: skip
        assert len(stored) == 1 and await _waiting(conn) == 0

    graphs(body)


def test_a_deleted_ontology_takes_along_what_was_leaving(graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _fill(here, LARGE)
        await leaving.leave(conn, here.id, here.there[LARGE][1])
        run = partial(conn.execute, query("delete_ontology"), {"id": here.id, "by": "ann", "documents": 0})
        await run()
        assert await _counts(conn) == [0, 0]

    graphs(body)

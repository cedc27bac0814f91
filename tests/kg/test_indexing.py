"""Vectors of passages get into their index after the commit, and are found before that. (Those of concepts: `test_leaving`.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg
import pytest

from kg._store.graph import index_passages
from kg._store.verb import query
from kg.graph import indexing
from kg.graph.indexing import index
from tests.kg.graphs import Body, Conn, Document, Library, extraction, vector

TEXTS = ("a lane has slots", "workers take jobs", "a permit ends")
DOCUMENT = Document("passages", (extraction([("Geneva", "", "", ())]),))


async def _add(conn: Conn, here: Library, texts: Sequence[str] = TEXTS) -> list[int]:
    """Passages of one chunk, as `add_chunk` writes them."""
    (source,) = await here.add(DOCUMENT)
    rows = await (await conn.execute(
        "insert into kg.passages (source_id, ontology_id, ordinal, start, finish, text, space, embedding)"
        " select %s, %s, n - 1, 0, 1, t, %s, v::vector from unnest(%s::text[], %s::text[]) with ordinality x (t, v, n)"
        " returning id", [source, here.id, here.space, list(texts), [str(vector(text)) for text in texts]],
    )).fetchall()  # fmt: skip
    return [row[0] for row in rows]


async def _near(conn: Conn, text: str, ontologies: list[int] | None = None) -> list[str]:
    """Over all ontologies, unless told: a small one is compared as a whole."""
    asked = "select p.text from kg.find_near('passages', 'words', %s, %s::bigint[], 1, 40) f join kg.passages p on p.id = f.id"
    return [row[0] for row in await (await conn.execute(asked, [str(vector(text)), ontologies])).fetchall()]


async def _counts(conn: Conn) -> tuple[int, int]:
    """In the index, and not yet."""
    asked = "select (select count(*) from kg.indexed_passages), (select count(*) from kg.unindexed_passages)"
    row = await (await conn.execute(asked)).fetchone()
    assert row is not None
    return row[0], row[1]


def test_a_passage_is_found_before_its_vector_is_in_the_index_and_after(
    graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(conn: Conn, here: Library, other: Library) -> None:
        monkeypatch.setattr(indexing, "AT_ONCE", 2)
        await _add(conn, here)
        assert await _counts(conn) == (0, 3)
        for state in ((2, 1), (3, 0)):
            for text in TEXTS:
                assert await _near(conn, text) == [text]
            await here.work._arun(index_passages(2))
            assert await _counts(conn) == state
        await _add(conn, other, ["a lane has many slots"])
        assert await _near(conn, "a lane has many slots") == ["a lane has many slots"]  # beside what is in the index
        assert await index(here.work) == 1
        for text in (*TEXTS, "a lane has many slots"):
            assert await _near(conn, text) == [text]

    graphs(body)


def test_of_a_large_ontology_only_its_own_are_found(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, other: Library) -> None:
        await conn.execute("create or replace function kg.few() returns int language sql immutable as 'select 1'")  # all are large
        await _add(conn, here)
        await _add(conn, other)
        for _ in range(2):  # before and after
            assert await _near(conn, "workers take jobs", [other.id]) == ["workers take jobs"]
            found = await (await conn.execute(
                "select distinct p.ontology_id from kg.find_near('passages', 'words', %s, %s::bigint[], 9, 40) f"
                " join kg.passages p on p.id = f.id", [str(vector("jobs")), [other.id]])).fetchall()  # fmt: skip
            assert found == [(other.id,)]
            await index(here.work)

    graphs(body)


def test_a_passage_that_goes_is_found_no_more_and_one_that_moves_stays(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        first, _second, third = await _add(conn, here)
        await here.work._arun(index_passages(2))
        await conn.execute("update kg.passages set start = start + 7, finish = finish + 7")
        assert await _counts(conn) == (2, 1)  # its vector is what it was: nobody puts it in again
        await conn.execute("delete from kg.passages where id = any (%s)", [[first, third]])
        assert await _counts(conn) == (1, 0)
        assert await _near(conn, TEXTS[0]) == [TEXTS[1]]

    graphs(body)


def test_a_new_vector_counts_from_its_commit_on_whoever_indexes_the_old_one(platform: str, graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _add(conn, here)
        await index(here.work)
        change = "update kg.passages set embedding = %s::vector where text = 'a permit ends'"
        async with await psycopg.AsyncConnection.connect(platform, autocommit=True) as slow:
            await conn.execute(change, [str(vector("old"))])
            async with slow.transaction():
                await slow.execute(query("index_passages"), {"limit": 9})
                await conn.execute(change, [str(vector("new"))])
                assert await _near(conn, "new") == ["a permit ends"]
                assert await here.work._arun(index_passages(9)) == 0  # the one before it is not done yet
        assert await _near(conn, "new") == ["a permit ends"]
        assert await here.work._arun(index_passages(9)) == 1
        assert await _counts(conn) == (3, 0)
        for text, found in (("new", "a permit ends"), ("a lane has slots", "a lane has slots")):
            assert await _near(conn, text) == [found]

    graphs(body)

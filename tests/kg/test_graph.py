"""From chunks to concepts and relations, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest

from kg.errors import GraphNotFound, InvalidDecision, SourceGone, Unprepared
from kg.graph import writing
from kg.graph.deciding import Decisions
from kg.graph.said import said
from kg.parts import Chunk, Concept, Extraction, Instance, Relationship
from lanework import Lanework
from tests.kg.graphs import Conn, Document, Library, dump, extraction, library, make_platform, texts, vectors

Body = Callable[[Conn, Library], Awaitable[Any]]


@pytest.fixture
def graph(database: str) -> Iterator[Callable[[Body], Any]]:
    """Runs a coroutine function with a connection and an empty ontology."""
    make_platform(database)

    def run(body: Body) -> Any:
        async def connected() -> Any:
            work = Lanework(database)
            async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
                try:
                    return await body(conn, await library(work, conn))
                finally:
                    await work.aclose()

        return asyncio.run(connected())

    yield run


WHO = ("World Health Organization", "organization", "looks after health", ("WHO",))
GENEVA = ("Geneva", "place", "a city", ())
ONE = extraction([WHO, GENEVA], [(0, 1, "located in", 0.8)])
TWO = extraction([("WHO", "organization", "", ()), ("Geneva", "place", "a city by a lake", ())], [(0, 1, "LOCATED_IN", 0.5)])
WHO_FORMS = ["who", "world health organization"]


async def rows(conn: Conn, query: str, *params: Any) -> list[Any]:
    return await (await conn.execute(query.encode(), params)).fetchall()


async def concepts(conn: Conn) -> list[list[str]]:
    found = await rows(conn, "select array_agg(form order by form) from kg.names group by concept_id order by 1")
    return [row[0] for row in found]


def test_two_names_of_one_thing_are_one_concept_with_all_it_was_said_of_it(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        await here.store(Document("a", (ONE, TWO)), 0)
        await here.store(next(iter(here.there)), 1)
        assert await concepts(conn) == [["geneva"], WHO_FORMS]
        ((label, terms, seen),) = await rows(
            conn, "select label, search_terms, seen_count from kg.concepts where 'WHO' in (label, search_terms[1])"
        )
        assert (label, terms, seen) == ("WHO", ["World Health Organization"], 2)
        ((type, tier, confidence, evidence),) = await rows(conn, "select type, tier, confidence, evidence from kg.relations")
        assert (type, tier, round(confidence, 4), evidence) == ("LOCATED_IN", "precise", 0.9, 2)  # 1 - 0.2 · 0.5
        assert await rows(conn, "select count(*) from kg.relation_evidence") == [(2,)]
        places = await rows(conn, "select start, finish, quote from kg.instances order by start")
        assert places == [(0, 25, "World Health Organization"), (3, 9, "Geneva"), (200, 203, "WHO"), (203, 209, "Geneva")]
        assert await rows(conn, "select form from kg.aliases order by form") == [
            ("Geneva",),
            ("Geneva",),
            ("WHO",),
            ("World Health Organization",),
        ]

    graph(body)


def test_a_chunk_that_is_stored_again_changes_nothing_not_even_the_epoch(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        document = Document("a", (ONE,))
        await here.store(document, 0)
        before = await rows(
            conn, "select n.xmin, c.xmin, r.xmin, o.xmin, o.epoch from kg.names n, kg.concepts c, kg.relations r, kg.ontologies o"
        )
        await here.store(document, 0)
        assert (
            await rows(
                conn,
                "select n.xmin, c.xmin, r.xmin, o.xmin, o.epoch from kg.names n, kg.concepts c, kg.relations r, kg.ontologies o",
            )
            == before
        )
        assert await rows(conn, "select epoch, kind from kg.epochs") == [(1, "chunk")]

    graph(body)


def test_another_answer_for_a_chunk_replaces_the_first(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        document = Document("a", (ONE,))
        await here.store(document, 0)
        source = here.there[document][1][0]
        async with conn.transaction():
            await writing.store_chunk(conn, here.id, source, extraction([GENEVA]), vectors=vectors(ONE), space=here.space)
        assert await concepts(conn) == [["geneva"]]
        assert await rows(conn, "select count(*) from kg.relations") == await rows(conn, "select count(*) from kg.claims") == [(0,)]

    graph(body)


def test_only_who_leads_is_embedded(graph: Any) -> None:
    """The rank of a mention depends on what it says alone: of these two, one leads wherever it comes from."""

    async def body(conn: Conn, here: Library) -> None:
        said_so = [extraction([("Geneva", "place", f"text {at}", ())]) for at in range(12)]
        ranks = [said(one).mentions[0].rank for one in said_so]
        for at, one in enumerate(said_so):
            await here.store(Document(f"d{at}", (one,)), 0)
        new_leaders = [at for at in range(12) if ranks[at] == min(ranks[: at + 1])]
        assert here.embed.asked == [f"Geneva: text {at}" for at in new_leaders]
        await here.remove(Document(f"d{new_leaders[-1]}", (said_so[new_leaders[-1]],)))
        second = min(rank for rank in ranks if rank != min(ranks))
        assert here.embed.asked[len(new_leaders) :] == [f"Geneva: text {ranks.index(second)}"]
        assert await rows(conn, "select context from kg.names") == [(f"text {ranks.index(second)}",)]

    graph(body)


def test_without_the_vector_it_needs_nothing_is_written(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        document = Document("a", (ONE,))
        source = (await here.add(document))[0]
        with pytest.raises(Unprepared, match="2 names need a vector") as missing:
            async with conn.transaction():
                await writing.store_chunk(conn, here.id, source, ONE, vectors={}, space=here.space)
        assert sorted(one.text for one in missing.value.meanings) == [
            "Geneva: a city",
            "World Health Organization: looks after health",
        ]
        assert await concepts(conn) == []

    graph(body)


def test_a_source_that_is_gone_is_told(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        with pytest.raises(SourceGone, match="no source 17"):
            await writing.store_chunk(conn, here.id, 17, ONE, vectors=vectors(ONE), space=here.space)
        assert await writing.remove_document(conn, 17, vectors={}, space=here.space) is None

    graph(body)


def test_what_cannot_be_stored_is_left_out_and_counted(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        odd = Extraction(
            (
                Concept("a", "x" * 5000),
                Concept("b", "\x00 \x1f"),
                Concept("c", "Ge\x00neva\ud800", "a\x00b", search_terms=("\x1f", "Genf")),
            ),
            (Instance("a", "x", 0), Instance("c", "Ge\x00neva", 5), Instance("nobody", "?", 1)),
            (Relationship("a", "c", "uses"), Relationship("c", "c", "uses"), Relationship("c", "nobody", "uses")),
        )
        document = Document("a", (odd,))
        await here.store(document, 0)
        await here.store(document, 0)
        assert await rows(conn, "select form, label from kg.names") == [("geneva", "Geneva?")]
        assert await rows(conn, "select count(*) from kg.claims") == [(0,)]
        assert said(odd).dropped == 2

    graph(body)


def test_an_edited_document_keeps_what_did_not_change(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        document = Document("a", (ONE, TWO, ONE))
        for at in range(3):
            await here.store(document, at)
        id, sources = here.there[document]
        first, second, _ = texts(document)
        moved = Chunk(1, 50, 50, 250, second.text)
        new = Chunk(0, 0, 0, 50, "something new")
        meanings = await writing.prepare_replacement(here.work, id, [new, moved], here.space)
        async with conn.transaction():
            ready = await writing.embedded(here.embed, meanings)
            placed = await writing.replace_sources(conn, id, [new, moved], vectors=ready, space=here.space)
        assert [(one.ordinal, one.new) for one in placed] == [(0, True), (1, False)]
        assert placed[1].id == sources[1]
        assert await concepts(conn) == [["geneva"], ["who"]]
        assert await rows(conn, "select start, finish, quote from kg.instances order by start") == [
            (50, 53, "WHO"),
            (53, 59, "Geneva"),
        ]
        assert await rows(conn, "select seen from kg.names") == [(1,), (1,)]
        kinds = await rows(conn, "select kind from kg.epochs order by epoch")
        assert [row[0] for row in kinds] == ["chunk", "chunk", "chunk", "document changed"]
        assert first.text != new.text

    graph(body)


def test_a_concept_keeps_its_id_and_old_ids_lead_on(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        full, short = extraction([(*WHO[:3], ())]), extraction([("WHO", "organization", "", ())])
        link = extraction([("World Health Organization", "organization", "", ("WHO",))])
        documents = [Document(name, (one,)) for name, one in (("a", full), ("b", short), ("c", link))]
        await here.store(documents[0], 0)
        await here.store(documents[1], 0)
        ids = dict(await rows(conn, "select form, concept_id from kg.names"))
        await here.store(documents[2], 0)  # it says that they are one
        assert await concepts(conn) == [WHO_FORMS]
        ((kept,),) = await rows(conn, "select id from kg.concepts")
        (lost,) = set(ids.values()) - {kept}
        assert await rows(conn, "select old_id, new_id from kg.concept_moves") == [(lost, kept)]
        await here.remove(documents[2])
        assert dict(await rows(conn, "select form, concept_id from kg.names")) == ids
        assert await rows(conn, "select count(*) from kg.concept_moves") == [(0,)]

    graph(body)


KOMBATS = extraction(
    [("Mortal Kombat", "", "a game", ()), ("Mortal Kombat II", "", "a game", ()), ("Mortal Kombat 2", "", "a game", ())]
)


def test_a_chain_of_likenesses_does_not_glue_what_a_veto_keeps_apart(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        chain = extraction(
            [("Mortal Kombat", "", "", ("MK",)), ("MK", "", "", ("Mortal Kombat II",)), ("Mortal Kombat II", "", "", ())]
        )
        await here.store(Document("a", (KOMBATS, chain)), 0)
        await here.store(next(iter(here.there)), 1)
        homes = dict(await rows(conn, "select form, concept_id from kg.names"))
        assert homes["mortal kombat"] != homes["mortal kombat ii"]

    graph(body)


def test_people_decide_and_take_it_back(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        people = Decisions(here.work)
        document = Document(
            "a", (extraction([("San Antonio Spurs", "", "", ()), ("Spurs", "", "", ()), GENEVA], [(1, 2, "uses", 0.5)]),)
        )
        await here.store(document, 0)
        (proposal,) = await people.proposals(here.id)
        assert {proposal.one.label, proposal.other.label} == {"San Antonio Spurs", "Spurs"}
        before = await dump(conn, here.id)
        act = await people.decide(proposal.id, "same", by="ann")
        assert await concepts(conn) == [["geneva"], ["san antonio spurs", "spurs"]]
        assert await people.proposals(here.id) == []
        with pytest.raises(GraphNotFound, match="no open proposal"):
            await people.decide(proposal.id, "apart", by="ann")
        # it is about the names, and outlives the document that brought them
        await here.remove(document)
        await here.store(document, 0)
        assert await concepts(conn) == [["geneva"], ["san antonio spurs", "spurs"]]
        await people.undo(act, by="bob")
        assert await dump(conn, here.id) == before
        with pytest.raises(GraphNotFound, match="nothing to undo"):
            await people.undo(act, by="bob")
        (done,) = await people.acts(here.id)
        assert (done.decision, done.decided_by, done.undone_by) == ("same", "ann", "bob")
        log = await rows(conn, "select actor, act from lanework.audit_log where act ~ 'proposal|graph' order by id")
        assert log == [("ann", "proposal.same"), ("bob", "graph.undo")]

    graph(body)


def test_two_concepts_are_merged_whole_and_come_apart_whole(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        people = Decisions(here.work)
        await here.store(Document("a", (ONE, TWO, KOMBATS)), 0)
        for at in (1, 2):
            await here.store(next(iter(here.there)), at)
        before, homes = await dump(conn, here.id), dict(await rows(conn, "select form, concept_id from kg.names"))
        act = await people.merge(homes["who"], homes["mortal kombat"], by="ann")
        assert sorted([*WHO_FORMS, "mortal kombat"]) in await concepts(conn)
        with pytest.raises(InvalidDecision, match="one already"):
            await people.merge(homes["who"], homes["mortal kombat"], by="ann")  # by the id that one of them had
        await people.undo(act, by="ann")
        assert await dump(conn, here.id) == before
        assert dict(await rows(conn, "select form, concept_id from kg.names")) == homes
        other = await library(here.work, conn)
        await other.store(Document("b", (ONE,)), 0)
        ((elsewhere,),) = await rows(conn, "select concept_id from kg.names where ontology_id = %s and form = 'geneva'", other.id)
        with pytest.raises(InvalidDecision, match="two ontologies"):
            await people.merge(homes["who"], elsewhere, by="ann")
        with pytest.raises(GraphNotFound, match="no concept 987654"):
            await people.merge(homes["who"], 987654, by="ann")

    graph(body)


def test_people_keep_apart_what_is_alike(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        people = Decisions(here.work)
        act = await people.decide_names(here.id, "W.H.O.", "World Health Organization", "apart", by="ann")
        await here.store(Document("a", (ONE, TWO)), 0)
        await here.store(next(iter(here.there)), 1)
        assert await concepts(conn) == [["geneva"], ["who"], ["world health organization"]]
        await people.undo(act, by="ann")
        assert await concepts(conn) == [["geneva"], WHO_FORMS]
        with pytest.raises(InvalidDecision, match="two names"):
            await people.decide_names(here.id, "WHO", "W.H.O.", "apart", by="ann")
        with pytest.raises(InvalidDecision, match="expected one of same, apart, got 'maybe'"):
            await people.decide_names(here.id, "WHO", "Geneva", "maybe", by="ann")  # type: ignore[arg-type]

    graph(body)


def test_it_takes_a_handful_of_statements_whatever_the_chunk_says(graph: Any) -> None:
    async def body(conn: Conn, here: Library) -> None:
        counts = []
        for size in (5, 60):
            concepts = [(f"Thing{size} {chr(97 + at % 26)}{chr(97 + at // 26)}", "", f"{at}", ()) for at in range(size)]
            one = extraction(concepts, [(at, at + 1, "uses", 0.5) for at in range(size - 1)])
            source = (await here.add(Document(f"d{size}", (one,))))[0]
            counted = Counted(conn)
            async with conn.transaction():
                await writing.store_chunk(counted, here.id, source, one, vectors=vectors(one), space=here.space)
            counts.append(counted.statements)
        assert counts[0] == counts[1] <= 22

    graph(body)


class Counted:
    """A connection that counts its cursors: a statement has one of its own."""

    def __init__(self, conn: Conn) -> None:
        self._conn, self.statements = conn, 0

    def __getattr__(self, name: str) -> Any:
        if name == "cursor_factory" or name == "lock":
            self.statements += name == "lock"
        return getattr(self._conn, name)

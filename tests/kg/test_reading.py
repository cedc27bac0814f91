"""How the graph is read: bounds of work and time, hubs, spaces of vectors, collections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from kg._store.schema import prepare
from kg.bench import synthetic
from kg.collections.vectors import PgVectorStore
from kg.errors import InvalidQuery
from kg.graph.evidence import LONGEST, sentence
from kg.graph.fan import PER_PROCESS, Places, fan_out
from kg.graph.grounding import Axis
from kg.graph.neighbourhood import Budget, Wanted, neighbourhood
from kg.graph.paths import PER_CONCEPT
from kg.graph.reader import Reader
from kg.graph.searching import MODES
from kg.parts import Embedded, Item, VectorStore
from lanework import Lanework
from lanework._store.verb import Verb, arun
from tests.kg.graph import TinyEmbed, Writer
from tests.servers import Databases


def act(what: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(what)


@pytest.fixture(scope="module")
def dsn(_fleet: Callable[[int], Databases]) -> Iterator[str]:
    with _fleet(18).with_schema() as dsn, Lanework(dsn) as work:
        prepare(work)
        yield dsn


@pytest.fixture
def writer(dsn: str) -> Iterator[Writer]:
    with psycopg.connect(dsn, autocommit=True) as db:
        yield Writer(db)


async def _reading(dsn: str, ask: Callable[[Reader], Coroutine[Any, Any, Any]]) -> Any:
    async with Lanework(dsn) as work:
        return await ask(Reader(work, TinyEmbed()))


# -- fan-out


async def _crowd(requests: int, places: Places) -> int:
    now, most = 0, 0

    async def one(_: int) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1

    await asyncio.gather(*(fan_out(range(50), one, places) for _ in range(requests)))
    assert places._free == PER_PROCESS
    return most


def test_a_process_has_eight_workers_whoever_asks() -> None:
    assert act(_crowd(1, Places(PER_PROCESS))) == 8
    assert act(_crowd(5, Places(PER_PROCESS))) == 8


def test_who_is_cancelled_takes_no_place_with_him() -> None:
    async def main() -> None:
        places = Places(1)
        async with places.place():
            waiting = [asyncio.create_task(fan_out([1], _never, places)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        waiting[1].cancel()  # it may just have been given the place
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (places._free, len(places._waiting)) == (1, 0)

    act(main())


async def _never(_: int) -> None:
    await asyncio.Event().wait()


def test_loops_share_the_places() -> None:
    places = Places(2)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: asyncio.run(fan_out(range(50), lambda _: asyncio.sleep(0), places)), range(4)))
    assert places._free == 2


def test_what_fails_is_told_as_it_is() -> None:
    async def wrong(_: int) -> None:
        raise InvalidQuery("no")

    with pytest.raises(InvalidQuery):
        act(fan_out([1, 2], wrong))


# -- budgets


def test_time_that_is_up_leaves_what_was_found(writer: Writer, dsn: str) -> None:
    for label in ("slow", "first", "second"):
        writer.concept("late", label)
    writer.relate("slow", "LEADS_TO", "first")
    writer.relate("first", "LEADS_TO", "second")

    async def main() -> Any:
        async with Lanework(dsn) as work:
            asked = 0

            async def run(verb: Verb[Any]) -> Any:
                nonlocal asked
                asked += b"as one (id)" in verb.sql and b"kg.relations" in verb.sql
                if asked == 2 and b"kg.relations" in verb.sql:
                    await asyncio.Event().wait()  # the second hop never answers
                return await work._arun(verb)

            return await neighbourhood(
                run, writer.ids["slow"], hops=3, budget=Budget(seconds=0.3), wanted=Wanted(), ontologies=None
            )

    found = act(main())
    assert ([one.label for one in found.nodes], found.partial) == (["first"], "time")


@pytest.mark.parametrize("bad", [{"nodes": 0}, {"nodes": 2001}, {"seconds": 0}, {"seconds": 31}])
def test_budgets_have_bounds(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery, match=next(iter(bad))):
        Budget(**bad)


def _hub(writer: Writer, name: str, spokes: int) -> None:
    writer.concept("hubs", name)
    ids = [writer.concept("hubs", f"{name} spoke {n}") for n in range(spokes)]
    writer.db.execute("insert into kg.vocabulary (type) values ('HAS') on conflict do nothing")
    for ends in ("%s, id", "id, %s"):
        writer.db.execute(
            "insert into kg.relations (ontology_id, from_id, to_id, type, tier, confidence)"
            f" select ontology_id, {ends}, 'HAS', 'precise', 0.9 from kg.concepts where id = any (%s)".encode(),
            [writer.ids[name], ids],
        )


def test_a_hub_hides_no_path_that_ends_there(writer: Writer, dsn: str) -> None:
    """Relations of hubs that are weaker than all that are followed: to each other, and to something that is near the other one."""
    for name in ("hub", "second hub", "third hub"):
        _hub(writer, name, PER_CONCEPT + 10)
    for label in ("shy", "between"):
        writer.concept("hubs", label)
    writer.relate("hub", "HAS", "shy", 0.01)
    writer.relate("hub", "HAS", "second hub", 0.01)
    writer.relate("between", "HAS", "hub", 0.01)
    writer.relate("third hub", "HAS", "between", 0.95)
    ids = writer.ids

    async def ask(reader: Reader) -> Any:
        ends = [
            ("hub", "shy"),
            ("shy", "hub"),
            ("hub", "second hub"),
            ("second hub", "hub"),
            ("hub", "third hub"),
            ("third hub", "hub"),
        ]
        return [await reader.connect(ids[one], ids[two], k=1, max_hops=2) for one, two in ends]

    found = act(_reading(dsn, ask))
    stops = [[stop.label for stop in path.stops] for one in found for path in one.paths]
    ways = [["hub", "shy"], ["hub", "second hub"], ["hub", "between", "third hub"]]
    assert stops == [one for way in ways for one in (way, way[::-1])]
    assert all(one.bounded for one in found)


def test_paths_are_those_of_a_search_without_bounds(writer: Writer, dsn: str) -> None:
    """Against breadth-first search over all edges, on a random graph."""
    chance = random.Random(5)
    labels = [f"node {n}" for n in range(60)]
    for label in labels:
        writer.concept("random", label)
    near: dict[str, set[str]] = {label: set() for label in labels}
    for _ in range(75):
        one, two = chance.sample(labels, 2)
        if two not in near[one]:
            writer.relate(one, "HAS", two, round(chance.uniform(0.1, 1), 3))
            near[one].add(two)
            near[two].add(one)

    def hops(start: str, end: str) -> int | None:
        seen, level = {start}, [start]
        for hop in range(1, 5):
            level = [two for one in level for two in near[one] if two not in seen]
            seen.update(level)
            if end in level:
                return hop
        return None

    pairs = [chance.sample(labels, 2) for _ in range(40)]

    async def ask(reader: Reader) -> Any:
        return [await reader.connect(writer.ids[one], writer.ids[two], k=5) for one, two in pairs]

    for (one, two), found in zip(pairs, act(_reading(dsn, ask)), strict=True):
        lengths = [len(path.steps) for path in found.paths]
        assert (min(lengths) if lengths else None) == hops(one, two)
        assert lengths == sorted(lengths)
        for path in found.paths:
            names = [stop.label for stop in path.stops]
            assert (names[0], names[-1], len(set(names))) == (one, two, len(names))
            assert all(b in near[a] for a, b in pairwise(names))
        assert len({tuple(stop.id for stop in path.stops) for path in found.paths}) == len(found.paths)


def test_no_path_leads_through_a_date(writer: Writer, dsn: str) -> None:
    for label in ("ferry", "lighthouse", "harbour", "island"):
        writer.concept("coast", label)
    writer.concept("coast", "1988", type="date")
    for one, two in (("ferry", "1988"), ("lighthouse", "1988")):
        writer.relate(one, "HAS", two, 0.99)
    for one, two in (("ferry", "harbour"), ("harbour", "island"), ("island", "lighthouse")):
        writer.relate(one, "HAS", two, 0.5)
    ids = writer.ids

    async def ask(reader: Reader) -> Any:
        ends = [("ferry", "lighthouse"), ("ferry", "1988")]
        return [(await reader.connect(ids[one], ids[two], k=3)).paths for one, two in ends]

    through, to = act(_reading(dsn, ask))
    assert [[stop.label for stop in path.stops] for path in through] == [["ferry", "harbour", "island", "lighthouse"]]
    assert [stop.label for stop in to[0].stops] == ["ferry", "1988"]


# -- nothing reads all of it


@pytest.fixture(scope="module")
def large(_fleet: Callable[[int], Databases]) -> Iterator[tuple[str, synthetic.Synthetic]]:
    size = synthetic.Size(concepts=3000, relations=9000, dimensions=64, clusters=30)
    with _fleet(18).with_schema() as dsn:
        with Lanework(dsn) as work:
            prepare(work)
        with psycopg.connect(dsn, autocommit=True) as db:
            yield dsn, synthetic.load(db, size)


class OneVector:
    name, dimensions = synthetic.MODEL, 64

    def __init__(self, made: synthetic.Synthetic) -> None:
        self._vector = made.vectors[7].tolist()

    async def embed(self, texts: Any) -> Embedded:
        return Embedded((self._vector,) * len(texts))


SCANNED = """select relname, seq_tup_read from pg_stat_xact_user_tables
where schemaname = 'kg' and seq_tup_read > 0 and relid in (select oid from pg_class where reltuples > 500)"""


def test_nothing_scans_a_table(large: tuple[str, synthetic.Synthetic]) -> None:
    """All reads in one transaction; then the server says how many rows were read without an index."""
    dsn, made = large

    async def main() -> Any:
        async with await psycopg.AsyncConnection.connect(dsn) as db:

            class Work:
                lock = asyncio.Lock()

                async def _arun(self, verb: Verb[Any]) -> Any:
                    async with self.lock:
                        return await arun(db, verb)

            reader = Reader(Work(), OneVector(made))  # type: ignore[arg-type]
            await db.execute("select pg_stat_force_next_flush()")
            label = await (await db.execute("select label, description from kg.concepts where id = 77")).fetchone()
            assert label is not None
            for mode in MODES:
                for query in (label[0], label[0].split()[2], label[1]):
                    for ontology in (None, "bench-0", "bench-1"):
                        found = await reader.search(query, mode=mode, ontology=ontology)
                        assert found.concepts or ontology == "bench-1"
            await reader.related(77, hops=3, budget=Budget(nodes=500))
            await reader.connect(77, 78, k=5)
            await reader.connect(label[0], 78)
            await reader.concept(77)
            return await (await db.execute(SCANNED)).fetchall()

    assert act(main()) == []


def test_most_of_the_nearest_are_found(large: tuple[str, synthetic.Synthetic]) -> None:
    dsn, made = large
    found = []
    with psycopg.connect(dsn, autocommit=True) as db:
        for query in synthetic.queries(made, 20):
            rows = db.execute(
                "select id from kg.find_near('concepts', 'bench', %s, null, 10, 100)", [str(query.tolist())]
            ).fetchall()
            exact = {int(n) + 1 for n in (made.vectors @ query).argsort()[-10:]}
            found.append(len(exact & {id for (id,) in rows}) / 10)
    assert sum(found) / len(found) >= 0.95


def test_a_small_ontology_is_searched_as_a_whole(large: tuple[str, synthetic.Synthetic]) -> None:
    """The index over all would have to pass most of the others first, and gives up before it has: it may walk 40,000 rows, and
    remember `work_mem` of them. Here that is less, as the graph is smaller, and the planner would take the index."""
    dsn, made = large
    query = made.vectors[3]
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("set work_mem = '64kB'; set enable_sort = off")
        (of,) = db.execute("select id from kg.ontologies where name = 'bench-3'").fetchall()[0]
        ids = [id for (id,) in db.execute("select id from kg.concepts where ontology_id = %s", [of])]
        rows = db.execute(
            "select id from kg.find_near('concepts', 'bench', %s, %s::bigint[], 50, 100)", [str(query.tolist()), [of]]
        )
        best = sorted(ids, key=lambda id: -float(made.vectors[id - 1] @ query))[:50]
        assert [id for (id,) in rows] == best


# -- spaces and collections


def test_a_space_is_made_once_and_has_one_length(dsn: str) -> None:
    def use(_: int) -> int:
        with psycopg.connect(dsn, autocommit=True) as db:
            return int(db.execute("select kg.use_space('raced', 8)").fetchall()[0][0])

    with ThreadPoolExecutor(6) as threads:
        assert len(set(threads.map(use, range(6)))) == 1
    with psycopg.connect(dsn, autocommit=True) as db, pytest.raises(psycopg.DataError, match="have 8 dimensions, not 9"):
        db.execute("select kg.use_space('raced', 9)")


def test_a_vector_store(dsn: str) -> None:
    embed = TinyEmbed()

    async def main() -> None:
        async with Lanework(dsn) as work:
            store = PgVectorStore(work)
            assert isinstance(store, VectorStore)
            items = [Item(f"n{n}", text, embed.vector(text), {"n": n}) for n, text in enumerate(("cats purr", "dogs bark", "fish"))]
            await store.put("pets", "tiny", items)
            await store.put("others", "tiny", [Item("x", "cats purr", embed.vector("cats purr"))])
            found = await store.search("pets", "tiny", embed.vector("cats purr"), limit=2)
            assert [(one.id, one.text, one.meta) for one in found][:1] == [("n0", "cats purr", {"n": 0})]
            assert found[0].score == pytest.approx(1) and len(found) == 2
            twice = [Item("n0", "first", embed.vector("first")), Item("n0", "last", embed.vector("last"))]
            await store.put("pets", "tiny", twice)
            assert (await store.search("pets", "tiny", embed.vector("last"), limit=1))[0].text == "last"
            assert await store.search("pets", "another model", embed.vector("last")) == []
            assert await store.search("nothing", "tiny", embed.vector("last")) == []
            with pytest.raises(InvalidQuery, match="have 64 dimensions, got 2"):
                await store.put("pets", "tiny", [Item("y", "z", [1.0, 0.0])])
            with pytest.raises(InvalidQuery, match="different lengths"):
                await store.put("pets", "tiny", [Item("y", "z", [1.0, 0.0]), Item("w", "z", [1.0])])
            assert await store.remove("pets", ["n0", "n1", "nobody"]) == 2
            assert [one.id for one in await store.search("pets", "tiny", embed.vector("fish"))] == ["n2"]

    act(main())


def test_long_vectors_have_an_index_of_halves(dsn: str) -> None:
    async def main() -> None:
        async with Lanework(dsn) as work:
            store = PgVectorStore(work)
            vectors = [[float(n == place) for n in range(3072)] for place in range(3)]
            await store.put("long", "large-3072", [Item(str(n), str(n), one) for n, one in enumerate(vectors)])
            assert (await store.search("long", "large-3072", vectors[2], limit=1))[0].id == "2"

    act(main())
    with psycopg.connect(dsn, autocommit=True) as db:
        made = db.execute("select indexdef from pg_indexes where schemaname = 'kg' and indexdef like '%halfvec(3072)%'").fetchall()
        assert len(made) == 3


# -- small parts


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("One. Two is here. Three.", "Two", "Two is here."),
        ("One. Two is here. Three.", "here. Three", "Two is here. Three."),
        ("# Title\n\nA paragraph\nof two lines\n\nNext", "two", "A paragraph of two lines"),
        ("Ends at e.g. this. No", "this", "this."),
        ("only", "only", "only"),
        # Red while all rows of a table of a DOCX or a web page were one sentence.
        ("who | due\nLetter | Ann | 24 May\nQuote | Bob | 31 May\n\nNext", "Ann", "Letter | Ann | 24 May"),
    ],
)
def test_sentences(text: str, quote: str, expected: str) -> None:
    begin = text.index(quote)
    assert sentence(text, begin, begin + len(quote)) == expected


def test_a_sentence_without_an_end_is_cut_around_the_quote() -> None:
    text = "x" * 3000 + "quote" + "y" * 3000
    found = sentence(text, 3000, 3005)
    assert "quote" in found and len(found) <= LONGEST + 10


def test_the_axis_of_support() -> None:
    axis = Axis(against=[0.0, 1.0], towards=[1.0, 0.0])
    assert [axis.place(one) for one in ([1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [5.0, -5.0])] == [1, -1, pytest.approx(0), 1]
    assert Axis([1.0, 0.0], [1.0, 0.0]).place([0.0, 1.0]) == 0  # an embedder that sees no difference

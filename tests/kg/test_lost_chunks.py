"""A chunk's commit does not wait for the disk: what a crash of the database's server takes is stored again, and not paid again."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from pathlib import Path

import psycopg
import pytest

from kg.errors import ChunksLost
from lanework.testing import adrain
from tests.kg import fakes, provider
from tests.kg.fakes import ask, new, on
from tests.kg.killing import Place, texts
from tests.kg.processes import until
from tests.servers import PrivateServer

#: As if their commits had been lost, by a server that was up again before anybody asked it for something.
_LOSE = """
    with lost as (delete from kg.sources where id in (select id from kg.sources order by id limit 1) returning document_id)
    update kg.documents set chunks_done = chunks_done - 1 where id in (select document_id from lost) returning chunks_done"""


def test_a_document_is_not_done_while_chunks_are_missing(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        gate, done = asyncio.Event(), "select chunks_done from kg.documents"
        bench.extractor.gates["Leaders"] = gate
        document = (await bench.documents.accept(new())).document
        async with bench.work.worker():
            while ask(database, done) != 2:
                await asyncio.sleep(0.02)
            assert ask(database, _LOSE) == 1
            gate.set()
            while not (told := ask(database, "select error_code || ' ' || error_class || ' ' || error from lanework.attempts")):
                await asyncio.sleep(0.02)
        assert told.startswith(f"{ChunksLost.code} transient") and "lost 1 of 3 chunks" in told
        ask(database, "update lanework.jobs set run_at = now() returning 1")
        await adrain(bench.work)
        assert (await bench.documents.show(document.id)).processing_status == "completed"
        assert ask(database, "select count(*) from kg.sources") == 3
        assert set(bench.extractor.calls.values()) == {1}

    on(database, main)


def test_no_chunk_waits_for_the_disk_and_every_document_does(database: str) -> None:
    """What a transaction has set is seen in its last moment."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(f"alter database {conn.info.dbname} set synchronous_commit = on".encode())

    async def main(bench: fakes.Bench) -> None:
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute("create table seen (status text, waits text)")
            conn.execute("""
                create function look() returns trigger language plpgsql as $$ begin
                    insert into seen values (new.processing_status, current_setting('synchronous_commit'));
                    return null;
                end $$""")
            conn.execute("""
                create constraint trigger look after update on kg.documents deferrable initially deferred
                for each row when (new.chunks_done > 0) execute function look()""")
        await bench.documents.accept(new())
        await adrain(bench.work)

    on(database, main)
    with psycopg.connect(database) as conn:
        found = set(conn.execute("select status, waits, count(*) from seen group by 1, 2").fetchall())
    assert found == {("processing", "off", 3), ("completed", "on", 1)}


@pytest.mark.chaos
@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2))
def test_a_server_that_goes_down_in_the_middle_of_documents(tmp_path: Path, seed: int) -> None:
    dice, found = random.Random(seed), texts(18)
    with PrivateServer.temporary(tcp=True, durable=True) as server, provider.started() as models:
        with psycopg.connect(server.dsn, autocommit=True) as conn:  # as much as possible is lost
            conn.execute("alter system set wal_writer_delay = '10s'")
            conn.execute("select pg_reload_conf()")
        place = Place(server.dsn, models, tmp_path)
        with place.work, place.worker():
            place.submit("calm", found)
            until(lambda: place.done("calm") == len(found), "the undisturbed run", 300)
            calls, calm = models.counts().paths, place.library("calm")
            place.begin()
            models.set(latency=0.1)
            place.submit("crashed", found)
            for moment in sorted(dice.sample(range(4, sum(calls.values()) // 2), 2)):  # each may cost a document a try
                models.wait(calls=moment)
                server.restart("immediate")
                place.conn.close()
                place.conn = psycopg.connect(server.dsn, autocommit=True)
                until(partial(_going_on, place), "all of them to go on", 120)
            until(lambda: _going_on(place) and place.done("crashed") == len(found), "the rest", 300)
            crashed = place.library("crashed")
        place.conn.close()
    for part in calm.keys() - {"jobs"}:  # a crash may cost a try
        assert crashed[part] == calm[part], part


def _going_on(place: Place) -> bool:
    """Nobody waits for his next try any longer."""
    place.rows("update lanework.jobs set run_at = now() where status = 'scheduled' returning 1")
    return not place.one("select count(*) from lanework.jobs where status = 'scheduled'")

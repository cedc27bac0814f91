"""Promises 8 and 21 for documents: whatever is killed, a call is paid again only if it was in flight, and the graph is that of an
undisturbed run."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kg._store.schema import prepare
from kg.composition import Composition
from kg.config import KgSettings
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.documents.sniffing import sniff
from kg.jobs import ingestion
from lanework import Lanework
from lanework._guard.processes import children_of
from tests.kg import provider
from tests.kg.processes import until
from tests.processes.harness import SCALE

pytestmark = pytest.mark.processes
ROOT = Path(__file__).parents[2]
NAMES = [
    "Ada Byron",
    "Charles Babbage",
    "Grace Hopper",
    "Alan Turing",
    "London",
    "Vienna",
    "Analytical Engine",
    "Bletchley Park",
    "Kurt Gödel",
    "Princeton",
]


def texts(count: int) -> list[str]:
    """Small documents that share their names; each third is long enough for several chunks."""
    dice = random.Random(7)
    found = []
    for n in range(count):
        sentences = [
            f"In report {n}.{k} {one} wrote to {other} about work of the year {dice.randint(1800, 1999)} and nothing else."
            for k in range(120 if n % 3 == 0 else 4)
            for one, other in [dice.sample(NAMES, 2)]
        ]
        found.append(" ".join(sentences))
    return found


@contextmanager
def worker(dsn: str, server: provider.Provider, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("KG_", "LANEWORK_"))}
    environment = {
        **ours, **SCALE, "KG_DSN": dsn, "LANEWORK_DSN": dsn, "KG_CHAT": "openai:fake", "KG_EMBED": "openai:fake",
        "KG_OPENAI_KEY": "key-for-tests",
        "KG_OPENAI_URL": server.openai, "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, "-m", "kg", "work"], cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield process
    finally:
        for pid in [*_below(process.pid), process.pid]:
            if process.poll() is None or pid != process.pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        process.wait()


def _below(pid: int) -> list[int]:
    found = list(children_of(pid))
    return [*found, *(below for one in found for below in _below(one))]


class Place:
    """A database, and a service that submits to it."""

    def __init__(self, dsn: str, server: provider.Provider) -> None:
        self.dsn, self.server = dsn, server
        self.conn = psycopg.connect(dsn, autocommit=True)
        work = Lanework(dsn)
        work.lane("interactive", max_slots=4, poll_interval_ms=100)
        settings = KgSettings.load(chat="openai:fake", embed="openai:fake", openai_key="key-for-tests", openai_url=server.openai)
        parts = Composition(settings, work)
        job = ingestion.declare(work, lambda: parts.pipeline)
        self.documents = Documents(work, job, lambda: parts.pipeline, sniff=sniff, size_limit=10_000_000)
        self.work = work
        prepare(work)

    def submit(self, ontology: str, found: list[str]) -> None:
        async def all() -> None:
            for n, text in enumerate(found):
                await self.documents.accept(New(text.encode(), name=f"{n}.txt", ontology=ontology, owner="ada"))
            await self.work._close_loop()

        asyncio.run(all())

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.conn.execute(query.encode(), values).fetchall()

    def one(self, query: str, *values: Any) -> Any:
        return self.rows(query, *values)[0][0]

    def done(self, ontology: str) -> int:
        return int(self.one("select count(*) from kg.document_states where ontology = %s and status = 'completed'", ontology))

    def worker_pid(self) -> int:
        """Of the one that lives and has been heard of."""
        query = "select pid from lanework.workers where state = 'active' order by id desc limit 1"
        return int(until(lambda: self.rows(query), "a worker")[0][0])

    def answers(self) -> dict[str, int]:
        """Stored ones, by kind."""
        query = "select split_part(key, ':', 1), count(*) from lanework.steps where key ~ '^(extract|embed):' group by 1"
        return {"extract": 0, "embed": 0} | dict(self.rows(query))

    def paid(self) -> dict[str, int]:
        """Without those by which a worker that starts finds out how long vectors are."""
        paths, starting = self.server.counts().paths, self.one("select count(*) from kg.model_calls where job_id is null")
        return {"extract": paths.get("/v1/chat/completions", 0), "embed": paths.get("/v1/embeddings", 0) - starting}

    def graph(self, ontology: str) -> dict[str, Any]:
        """As it is seen, without numbers that depend on the order in which rows came."""
        return {
            "concepts": self.rows(
                "select c.label, c.type, c.description, c.seen_count, array(select distinct a.form from kg.aliases a"
                " where a.concept_id = c.id order by 1), c.embedding::text from kg.concepts c"
                " join kg.ontologies o on o.id = c.ontology_id where o.name = %s order by 1, 2, 3", ontology,
            ),
            "relations": self.rows(
                "select f.label, t.label, r.type, r.tier, r.direction, round(r.confidence::numeric, 4), r.evidence"
                " from kg.relations r join kg.concepts f on f.id = r.from_id join kg.concepts t on t.id = r.to_id"
                " join kg.ontologies o on o.id = r.ontology_id where o.name = %s order by 1, 2, 3, 4, 5", ontology,
            ),
            "instances": self.rows(
                "select d.name, n.form, i.start, i.finish, i.quote from kg.instances i join kg.names n on n.id = i.name_id"
                " join kg.sources s on s.id = i.source_id join kg.documents d on d.id = s.document_id"
                " join kg.ontologies o on o.id = d.ontology_id where o.name = %s order by 1, 2, 3, 4", ontology,
            ),
            "passages": self.rows(
                "select d.name, s.ordinal, p.ordinal, p.start, p.text, p.embedding::text from kg.passages p"
                " join kg.sources s on s.id = p.source_id join kg.documents d on d.id = s.document_id"
                " join kg.ontologies o on o.id = d.ontology_id where o.name = %s order by 1, 2, 3", ontology,
            ),
        }  # fmt: skip


def _is_other(place: Place, pid: int) -> bool:
    return place.worker_pid() != pid


def _killed(dsn: str, server: provider.Provider, documents: int, kills: int, log: Path) -> None:
    place = Place(dsn, server)
    with place.conn, place.work:
        _kill(place, documents, kills, log)


def _kill(place: Place, documents: int, kills: int, log: Path) -> None:
    found, dice = texts(documents), random.Random(11)
    with worker(place.dsn, place.server, log):
        place.submit("calm", found)
        until(lambda: place.done("calm") == documents, "the undisturbed run", 300)
        assert place.paid() == place.answers()  # nothing was paid twice, nothing was not stored
        before, lost, in_flight = place.paid(), {"extract": 0, "embed": 0}, 0
        place.server.set(latency=0.1)
        place.submit("killed", found)
        share = (sum(before.values()) - 4) // (kills + 1)
        for kill in range(kills):
            place.server.wait(calls=sum(before.values()) + share * (kill + 1) + dice.randint(0, 3))
            pid = place.worker_pid()
            os.kill(pid, signal.SIGSTOP)  # what is in flight now stays in flight
            until(lambda: place.server.counts().now == 0, "the provider to have answered all")
            gone = {kind: paid - place.answers()[kind] - lost[kind] for kind, paid in place.paid().items()}
            lost = {kind: lost[kind] + gone[kind] for kind in lost}
            in_flight = max(in_flight, sum(gone.values()))
            os.kill(pid, signal.SIGKILL)
            until(partial(_is_other, place, pid), "another worker")
        until(lambda: place.done("killed") == documents, "the rest", 300)
    paid, stored = place.paid(), place.answers()
    assert {kind: paid[kind] - stored[kind] for kind in paid} == lost  # what was lost with the kills, and no more
    assert in_flight <= 8, "more than the provider's permits"
    assert sum(lost.values()) > 0, "no kill has met a call: this tests nothing"
    assert stored["extract"] == 2 * before["extract"]
    calm, killed = place.graph("calm"), place.graph("killed")
    assert len(calm["concepts"]) >= len(NAMES) and calm["relations"]
    for part in calm:
        assert killed[part] == calm[part], part
    assert place.one("select count(*) from kg.documents where processing_status <> 'completed'") == 0


def test_kills_in_the_middle_of_documents(database: str, tmp_path: Path) -> None:
    with provider.started() as server:
        _killed(database, server, documents=9, kills=2, log=tmp_path / "worker.log")


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_many_kills_in_the_middle_of_fifty_documents(database: str, tmp_path: Path) -> None:
    with provider.started() as server:
        _killed(database, server, documents=50, kills=8, log=tmp_path / "worker.log")

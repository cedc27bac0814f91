# ruff: noqa: E501 - queries
"""Documents that are worked by real processes, which tests stop and kill; and what was paid and stored, to compare."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

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
from tests.kg.graphs import PARTS
from tests.kg.processes import until
from tests.processes.harness import SCALE

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
PRICES = {"date": "2026-11-01", "models": {"fake": [1000, 2000]}}
DAY = 1e6


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


def below(pid: int) -> list[int]:
    found = list(children_of(pid))
    return [*found, *(under for one in found for under in below(one))]


class Place:
    """A database, a provider whose calls cost something, and a service that submits."""

    def __init__(self, dsn: str, server: provider.Provider, folder: Path) -> None:
        self.dsn, self.server, self.folder = dsn, server, folder
        self.prices = folder / "prices.json"
        self.prices.write_text(json.dumps(PRICES))
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.work = Lanework(dsn)
        self.work.lane("interactive", max_slots=4, poll_interval_ms=100)
        settings = KgSettings.load(
            chat="openai:fake", embed="openai:fake", openai_key="key-for-tests", openai_url=server.openai, prices=str(self.prices)
        )
        parts = Composition(settings, self.work)
        job = ingestion.declare(self.work, lambda: parts.pipeline, auto_approve=DAY)
        self.documents = Documents(self.work, job, lambda: parts.pipeline, sniff=sniff, size_limit=10_000_000)
        prepare(self.work)
        self.work.budgets.set("day", DAY, per="total")
        self._starts = 0

    @contextmanager
    def worker(self, name: str = "worker", **more: str) -> Iterator[subprocess.Popen[bytes]]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("KG_", "LANEWORK_"))}
        environment = {
            **ours, **SCALE, "KG_DSN": self.dsn, "LANEWORK_DSN": self.dsn, "KG_CHAT": "openai:fake", "KG_EMBED": "openai:fake",
            "KG_OPENAI_KEY": "key-for-tests", "KG_OPENAI_URL": self.server.openai, "KG_PRICES": str(self.prices),
            "KG_AUTO_APPROVE": str(DAY), "PYTHONUNBUFFERED": "1", **more,
        }  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as out:
            process = subprocess.Popen([sys.executable, "-m", "kg", "work"], cwd=ROOT, env=environment, stdout=out, stderr=out)
        try:
            yield process
        finally:
            for pid in [*below(process.pid), process.pid]:
                if process.poll() is None or pid != process.pid:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            process.wait()

    def submit(self, ontology: str, found: list[str]) -> None:
        self.accept(*(New(text.encode(), name=f"{n}.txt", ontology=ontology, owner="ada") for n, text in enumerate(found)))

    def accept(self, *new: New) -> None:
        async def all() -> None:
            for one in new:
                await self.documents.accept(one)
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

    def stop(self, pid: int) -> None:
        """The worker and the processes below it stand still: what is in flight stays in flight."""
        os.kill(pid, signal.SIGSTOP)
        for one in below(pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGSTOP)

    # -- what was paid

    def begin(self) -> None:
        """The provider counts anew."""
        self.server.reset()
        self._starts = self._starting()

    def _starting(self) -> int:
        """Calls by which a process that starts finds out how long vectors are."""
        return int(self.one("select count(*) from kg.model_calls where purpose = 'dimensions'"))

    def paid(self) -> dict[str, int]:
        """Calls of jobs, as the provider has counted them."""
        paths, starts = self.server.counts().paths, self._starting() - self._starts
        return {"extract": paths.get("/v1/chat/completions", 0), "embed": paths.get("/v1/embeddings", 0) - starts}

    def answers(self, ontology: str) -> dict[str, int]:
        """Stored ones, by kind."""
        query = (
            "select split_part(key, ':', 1), count(*) from lanework.steps where key ~ '^(extract|embed):' and job_id in"
            " (select d.job_id from kg.documents d join kg.ontologies o on o.id = d.ontology_id where o.name = %s) group by 1"
        )
        return {"extract": 0, "embed": 0} | dict(self.rows(query, ontology))

    def in_flight(self, at_once: int = 8) -> int:
        """Chunks that can be under way: those left of documents whose job runs, so many of each at a time."""
        query = (
            "select coalesce(sum(least(%s, greatest(d.chunks - d.chunks_done, 1))), 0) from kg.documents d"
            " join lanework.jobs j on j.id = d.job_id where j.status = 'running'"
        )
        return int(self.one(query, at_once))

    def bill(self) -> Decimal:
        """By the provider's own count."""
        counts, (price_in, price_out) = self.server.counts(), PRICES["models"]["fake"]  # type: ignore[index]
        return (Decimal(counts.tokens_in * price_in) + Decimal(counts.tokens_out * price_out)) / 1_000_000

    # -- what is stored

    def library(self, ontology: str) -> dict[str, Any]:
        """All of it, without numbers that depend on the order in which rows came."""
        of = self.one("select id from kg.ontologies where name = %s", ontology)
        graph = {part: sorted(self.conn.execute(query, {"o": of}).fetchall(), key=repr) for part, query in PARTS.items()}
        return graph | {part: self.rows(query, of) for part, query in _STORED.items()}


_STORED = {
    "documents": "select name, version, title, media_type, size, characters, hash, text_hash, processing_status, stage, chunks, chunks_done,"
    " chunks_failed, error from kg.documents where ontology_id = %s order by name",
    "states": "select name, status, stage, error from kg.document_states where ontology_id = %s order by name",
    "sources": "select d.name, s.ordinal, s.hash, s.copy, s.start, s.own, s.finish, s.text, s.version, s.extractor, s.dropped"
    " from kg.sources s join kg.documents d on d.id = s.document_id where d.ontology_id = %s order by 1, 2",
    "passages": "select d.name, s.ordinal, p.ordinal, p.start, p.finish, p.text, p.space, p.embedding::text from kg.passages p"
    " join kg.sources s on s.id = p.source_id join kg.documents d on d.id = s.document_id where d.ontology_id = %s order by 1, 2, 3",
    "claims": "select d.name, s.ordinal, f.form, t.form, c.type, c.tier, c.direction, c.confidence from kg.claims c"
    " join kg.names f on f.id = c.from_name join kg.names t on t.id = c.to_name join kg.sources s on s.id = c.source_id"
    " join kg.documents d on d.id = s.document_id where d.ontology_id = %s order by 1, 2, 3, 4, 5",
    "quotes": "select c.label, d.name, i.start, i.finish, i.quote, substr(convert_from(b.data, 'UTF8'), i.start + 1, i.finish - i.start)"
    " from kg.instances i join kg.names n on n.id = i.name_id join kg.concepts c on c.id = n.concept_id"
    " join kg.sources s on s.id = i.source_id join kg.documents d on d.id = s.document_id join kg.blobs b on b.hash = d.text_hash"
    " where d.ontology_id = %s order by 1, 2, 3, 4",
    "changes": "select kind, count(*) from kg.epochs where ontology_id = %s group by 1 order by 1",  # nothing was written twice
    "jobs": "select d.name, j.status::text, j.partial, j.tries_used, j.result - 'document' - 'kept' from kg.documents d"
    " join lanework.all_jobs j on j.id = d.job_id where d.ontology_id = %s order by 1",
}  # fmt: skip

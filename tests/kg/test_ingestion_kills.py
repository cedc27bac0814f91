"""Promises 8 and 21 for documents: whatever is killed, a call is paid again only if it was in flight, and the graph is that of an
undisturbed run."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from kg._store.models import settle_lost_calls
from tests.kg import provider
from tests.kg.killing import NAMES, Place, texts
from tests.kg.processes import until
from tests.processes.harness import expiring

pytestmark = pytest.mark.processes
MOST_SECONDS = 600
OPEN = "select count(*) from lanework.reservations where state = 'open'"


@dataclass
class Losses:
    """What kills have met."""

    calls: dict[str, int] = field(default_factory=lambda: {"extract": 0, "embed": 0})
    in_flight: int = 0

    def meet(self, place: Place, ontology: str) -> None:
        """The worker stands still, and the provider has answered all: what is paid and not stored is lost with it."""
        paid, stored = place.paid(), place.answers(ontology)
        gone = {kind: paid[kind] - stored[kind] - self.calls[kind] for kind in paid}
        in_flight = place.in_flight()
        # a worker that dies while it starts may lose a question that is no chunk's: how long vectors are
        asked = gone["embed"] if not in_flight and gone["embed"] <= 1 else 0
        assert 0 <= sum(gone.values()) <= in_flight + asked, f"lost {gone}, though {in_flight} chunks were in flight"
        self.calls = {kind: self.calls[kind] + gone[kind] for kind in gone}
        self.in_flight += in_flight


def _kill(place: Place, documents: int, kills: int, seed: int) -> None:
    found, dice = texts(documents), random.Random(seed)
    # a guard sees its worker die at once; but where a beat comes too late on a busy machine, calls are lost that no kill has met
    with place.worker(**expiring(60)):
        place.submit("calm", found)
        until(lambda: place.done("calm") == documents, "the undisturbed run", MOST_SECONDS)
        calm = place.paid()
        assert calm == place.answers("calm")  # nothing was paid twice, nothing was not stored
        spent = place.work.budgets.get("day").spent
        place.begin()
        place.server.set(latency=0.1)
        place.submit("killed", found)
        losses, moments = Losses(), sorted(dice.sample(range(2, sum(calm.values()) - 4), kills))
        for moment in moments:
            place.server.wait(calls=moment)
            pid = place.worker_pid()
            place.stop(pid)
            until(lambda: place.server.counts().now == 0, "the provider to have answered all")
            losses.meet(place, "killed")
            os.kill(pid, signal.SIGKILL)
            until(partial(_is_other, place, pid), "another worker")
        until(lambda: place.done("killed") == documents, "the rest", MOST_SECONDS)
        until(lambda: not place.one(f"{OPEN} and job_id is not null"), "what jobs had reserved to be settled")
        # a worker that dies while it starts has a call under way that is no job's: maintenance would find it later
        place.work._run(settle_lost_calls(0))
    _judge_calls(place, losses, calm["extract"])
    _judge_money(place, losses, place.work.budgets.get("day").spent - spent)
    _judge_libraries(place)


def _is_other(place: Place, pid: int) -> bool:
    return place.worker_pid() != pid


def _judge_calls(place: Place, losses: Losses, extracted: int) -> None:
    paid, stored = place.paid(), place.answers("killed")
    assert {kind: paid[kind] - stored[kind] for kind in paid} == losses.calls  # what was lost with the kills, and no more
    assert place.server.counts().again == losses.calls["extract"] <= losses.in_flight
    assert sum(losses.calls.values()) > 0, "no kill has met a call: this tests nothing"
    assert stored["extract"] == extracted


def _judge_money(place: Place, losses: Losses, spent: Decimal) -> None:
    """What was on the bill was counted; what was counted on top is calls that nobody knows of."""
    unknown, amount, calls = place.rows(
        "select count(job_id) filter (where state = 'unknown'), coalesce(sum(amount) filter (where state = 'unknown'), 0), count(*)"
        " from lanework.reservations"
    )[0]
    assert unknown <= losses.in_flight
    assert place.one(OPEN) == 0 and not place.work.budgets.get("day").reserved
    assert place.bill() <= spent <= place.bill() + amount + calls * Decimal("1e-6")


def _judge_libraries(place: Place) -> None:
    calm, killed = place.library("calm"), place.library("killed")
    assert len(calm["concepts"]) >= len(NAMES) and all(calm[part] for part in ("relations", "instances", "claims", "passages"))
    for part in calm:
        assert killed[part] == calm[part], part
    assert {row[1] for row in killed["states"]} == {"completed"}
    assert all(quote == there for *_, quote, there in killed["quotes"])


def _killed(dsn: str, folder: Path, **how: int) -> None:
    with provider.started() as server:
        place = Place(dsn, server, folder)
        with place.conn, place.work:
            _kill(place, **how)


def test_kills_in_the_middle_of_documents(database: str, tmp_path: Path) -> None:
    _killed(database, tmp_path, documents=7, kills=2, seed=11)


@pytest.mark.chaos
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
def test_many_kills_in_the_middle_of_fifty_documents(database: str, tmp_path: Path, seed: int) -> None:
    _killed(database, tmp_path, documents=50, kills=8, seed=seed)

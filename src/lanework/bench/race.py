"""We and the peers, round after round in turn, so that a noisy machine disturbs all alike. Of each the best counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields

from lanework.bench.home import say
from lanework.bench.peer import Run, Runner
from lanework.bench.server import Server

LOWER_IS_BETTER = ("pickup_p50_ms", "pickup_p99_ms")


@dataclass(slots=True)
class Contestant:
    key: str
    label: str
    run: Runner
    jobs: int
    rounds: int
    pings: int
    runs: list[Run] = field(default_factory=list)
    reason: str | None = None

    def best(self, figure: str) -> float | None:
        values = [value for run in self.runs if (value := getattr(run, figure)) is not None]
        if not values:
            return None
        return float(min(values) if figure in LOWER_IS_BETTER else max(values))

    @property
    def name(self) -> str:
        version = self.runs[-1].version if self.runs else ""
        return f"{self.label} {version}".strip()


def race(server: Server, contestants: list[Contestant], late: Callable[[], bool]) -> None:
    """Fill in each contestant's runs. Rounds after the first are left out when the time is up."""
    for number in range(max(contestant.rounds for contestant in contestants)):
        if number and late():
            say(f"time is up: {number} rounds instead of more")
            return
        for contestant in contestants:
            if number < contestant.rounds and contestant.reason is None:
                _turn(server, contestant, number)


def _turn(server: Server, contestant: Contestant, number: int) -> None:
    try:
        with server.fresh() as dsn:
            run = contestant.run(dsn, contestant.jobs, contestant.pings)
    except Exception as error:  # one that cannot run is shown as such; the others go on
        contestant.reason = f"{type(error).__name__}: {error}"
        say(f"{contestant.label}: {contestant.reason}")
        return
    contestant.runs.append(run)
    shown = [(item.name, getattr(run, item.name)) for item in fields(Run) if item.type != "str"]
    figures = ", ".join(f"{name} {value:,.1f}" for name, value in shown if isinstance(value, float))
    say(f"round {number + 1}, {contestant.name}, {contestant.jobs:,} jobs: {figures}")

"""Not bugs: what makes a test short, or makes something fail that must be survived."""

from __future__ import annotations

from typing import Any

from tests.processes.plants import a_plant, put


@a_plant
def impatient() -> None:
    """A blocked worker is killed after 9 s, not 15."""
    put("lanework._guard.guard", "KILL_STUCK_AFTER", 9.0)


@a_plant
def short_of_time() -> None:
    """What was asked to end after the grace has 3 s, not 8."""
    put("lanework.worker", "LAST_SECONDS", 3.0)


@a_plant
def failing_poller() -> None:
    """The poller dies three times, later than its first success."""
    rounds = iter(range(1_000_000))

    async def run_once(self: Any) -> Any:
        if next(rounds) in (1, 2, 3):
            raise RuntimeError("planted: the poller dies")
        return await right(self)

    right = put("lanework._services.poller:Poller", "run_once", run_once)

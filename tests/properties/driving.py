"""How the machines are driven: moderately in `make test`, for long in `make chaos`, and after a planted bug."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.sql.engine import Engine
from tests.sql.proof import planted, wipe

CHAOS = os.environ.get("LANEWORK_CHAOS") == "1"
#: Of every file with a machine.
MARKS = [pytest.mark.chaos] if CHAOS else [pytest.mark.long]
# The same examples in every `make test`; new ones in `make chaos`.
MODERATE = settings(
    derandomize=not CHAOS,
    max_examples=1000 if CHAOS else 28,
    stateful_step_count=80 if CHAOS else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Shrinking replays a run hundreds of times: minutes on a real database. Ask for it when there is something to shrink.
    phases=[phase for phase in Phase if phase is not Phase.shrink or os.environ.get("LANEWORK_SHRINK") == "1"],
)
#: Always the same examples, and no shrinking: it only has to be red.
HUNT = settings(MODERATE, max_examples=400, derandomize=True, database=None, phases=[Phase.generate], print_blob=False)

#: A function of the engine, what stands in it, and what the bug makes of that.
Bug = tuple[str, str | re.Pattern[str], str]


def drive(machine: Callable[[list[Engine]], object], sessions: list[Engine], how: settings = MODERATE) -> None:
    run_state_machine_as_test(lambda: machine(sessions), settings=how)  # type: ignore[arg-type]  # any factory will do


def must_notice(machine: Callable[[list[Engine]], object], sessions: list[Engine], bug: Bug, *errors: type[Exception]) -> None:
    """By an assertion, or by one of these errors."""
    with planted(sessions[0], *bug), pytest.raises((AssertionError, BaseExceptionGroup, *errors)):
        drive(machine, sessions, HUNT)
    wipe(sessions[0])

"""The engine over HTTP, as a router for any FastAPI application (`lanework[api]`).

from lanework.api import install, make_router

api = FastAPI()
api.include_router(make_router(work, gate=my_gate))
install(api)                      # errors as RFC 9457 problems; refuses to start with a route that has no policy
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import APIRouter, FastAPI

from lanework.api import document, problems
from lanework.api.audit import Audit
from lanework.api.bodies import BodyLimit, JsonBodies
from lanework.api.budgets import Budgets
from lanework.api.crew import Crew
from lanework.api.dead import DeadLetters
from lanework.api.deciding import Deciding
from lanework.api.doctor import Doctor
from lanework.api.gate import Anybody, Caller, Forbidden, Gate, Policy, Routes, Who, check_policies, open_gate, routes_of
from lanework.api.health import Health
from lanework.api.jobs import Jobs
from lanework.api.limits import Limits
from lanework.api.live import Live
from lanework.api.maintenance import Maintenance
from lanework.api.operations import Operations
from lanework.api.schedules import Schedules
from lanework.api.workers import Workers
from lanework.client import Lanework

__all__ = [
    "Anybody",
    "BodyLimit",
    "Caller",
    "Forbidden",
    "Gate",
    "JsonBodies",
    "Policy",
    "Routes",
    "Who",
    "check_policies",
    "install",
    "make_router",
    "open_gate",
    "routes_of",
]

#: A payload has 256 KiB at most; what comes with it is small.
BODY_LIMIT = 1_048_576


def make_router(app: Lanework, *, gate: Gate, topics: Sequence[str] = ()) -> APIRouter:
    """Jobs, workers, lanes, events and health of one application. `gate` says who is asking; `open_gate` asks nobody. `topics` of
    your own events (`lanework.tell`) can be followed beside the engine's."""
    jobs = Jobs(app)
    live = Live(app, jobs, gate, topics)
    routes = Routes(gate, lifespan=live.lifespan)
    parts = (
        Operations(app), jobs, live, Deciding(app, jobs), Workers(app), Crew(app), DeadLetters(app), Schedules(app),
        Maintenance(app), Limits(app), Budgets(app), Audit(app), Doctor(app), Health(app),
    )  # fmt: skip
    for part in parts:
        part.add_to(routes)
    return routes.router


def install(
    api: FastAPI, *, body_limit: int = BODY_LIMIT, larger: Mapping[str, int] | None = None,
    codes: Mapping[str, str] | None = None, keys: bool = False,
) -> None:  # fmt: skip
    """Call it after the routers were included. `larger`: paths with a body limit of their own; `codes`: what is too large there has
    this code. `keys`: the application answers an
    Idempotency-Key of every POST that creates; the document says so. (That of a job is stored with the job, always.)"""
    problems.install(api)
    document.install(api, keys=keys)
    check_policies(api)
    api.add_middleware(JsonBodies)
    api.add_middleware(BodyLimit, limit=body_limit, larger=larger, codes=codes)

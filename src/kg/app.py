"""The composition root: the only place that wires the platform together.

kg.app:work      the platform's Lanework application, for workers
kg.app:make_api  the HTTP application, for `kg serve` and `kg up`
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import compile_path

from kg import lanes
from kg._store.schema import prepare
from kg.access import upkeep
from kg.access.access import Access
from kg.access.answers import Answers
from kg.api.documents import DocumentRoutes
from kg.api.door import Door
from kg.api.headers import SafeHeaders
from kg.api.login import Logins
from kg.api.ontologies import OntologyRoutes
from kg.api.pace import PacedDoor
from kg.api.query import Query
from kg.api.replays import Replays
from kg.api.users import Users
from kg.composition import Composition
from kg.config import KgSettings
from kg.documents.documents import Documents
from kg.documents.sniffing import sniff
from kg.errors import TooLarge
from kg.graph.questions import Walk
from kg.graph.ranking import walked
from kg.graph.reader import Reader
from kg.jobs import ingestion
from kg.logs import quiet
from kg.ontologies.ontologies import Ontologies
from kg.parts import Embed
from lanework import Lanework
from lanework.api import Routes, install, make_router, routes_of
from lanework.errors import ConfigError, DatabaseUnavailable
from lanework.job import Job

logger = logging.getLogger("kg")
#: What stands around a document in a form.
ENVELOPE = 65_536


def make_work(settings: KgSettings | None = None) -> Lanework:
    settings = settings or KgSettings.load()
    work = Lanework(settings.dsn)
    lanes.declare(work, settings)
    upkeep.declare(work)
    parts = Composition(settings, work)
    parts.models.declare(work, keep_days=settings.calls_days)
    ingestion.declare(work, lambda: parts.pipeline, auto_approve=settings.auto_approve)
    return work


quiet()
work = make_work()


def _import_jobs(names: str) -> None:
    """Modules that declare jobs of their own on `kg.app.work`."""
    for name in filter(None, (one.strip() for one in names.split(","))):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ConfigError(f"KG_IMPORTS: cannot import {name!r}: {error}") from error


_import_jobs(KgSettings.load().imports)


async def _prepare(work: Lanework) -> None:
    """Waits for a database that is away: whoever watches this process need not start it again and again."""
    pause = 0.2
    while True:
        try:
            await asyncio.to_thread(prepare, work)
            return
        except DatabaseUnavailable as error:
            logger.warning("waiting for the database: %s", error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, 5.0)


def make_api(
    settings: KgSettings | None = None, work: Lanework = work, embed: Embed | None = None, walk: Walk | None = walked,
    parts: Composition | None = None,
) -> FastAPI:  # fmt: skip
    """`parts` are models and pipeline, those of the settings unless given; `embed` makes the vectors of searches,
    `walk` is how the graph helps with questions."""
    settings = settings or KgSettings.load()
    parts = parts or Composition(settings, work)
    if ingestion.NAME not in work.handlers:
        ingestion.declare(work, lambda: parts.pipeline, auto_approve=settings.auto_approve)
    submits: Job[[int, int], Any] = Job(work, work.handlers[ingestion.NAME])
    documents = Documents(work, submits, lambda: parts.pipeline, sniff=sniff, size_limit=settings.document_limit)
    access = Access(work, logins_per_minute=settings.logins_per_minute, session_hours=settings.session_hours)
    door = Door(access)
    paced = PacedDoor(door, settings.submits_per_minute)
    engine = make_router(work, gate=paced, topics=[one.strip() for one in settings.topics.split(",") if one.strip()])

    @asynccontextmanager
    async def life(api: FastAPI) -> AsyncIterator[Mapping[str, Any]]:
        await _prepare(work)
        async with engine.lifespan_context(api) as state:
            yield state or {}
        await work.aclose()

    api = FastAPI(title="Lanework", version=version("lanework"), lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    api.state.work, api.state.access, api.state.door = work, access, door
    routes = Routes(door)
    Logins(access, door, secure=settings.secure_cookies).add_to(routes)
    Users(access).add_to(routes)
    routes.add("GET", "/", _welcome, needs=None, because="it tells whoever comes where to go on", tags=["health"])
    Query(Reader(work, embed or parts.searching, walk, like=settings.phrase_likeness)).add_to(routes)
    OntologyRoutes(Ontologies(work, remove=lambda id, by: documents.delete(id, by=by, patience=math.inf))).add_to(routes)
    submitting = Routes(paced)
    DocumentRoutes(documents, Answers(work)).add_to(submitting)
    routes.add("GET", "/openapi.json", api.openapi, needs="", include_in_schema=False)
    # as they are: to include a router builds each of its routes a second time
    api.router.routes.extend([*engine.routes, *routes.router.routes, *submitting.router.routes])
    api.add_middleware(Replays, answers=Answers(work), door=door, creates=_creating(api))
    larger, codes = {"/ingest": settings.document_limit + ENVELOPE}, {"/ingest": TooLarge.code}
    install(api, body_limit=settings.body_limit, larger=larger, codes=codes, keys=True)
    if settings.cors:
        api.add_middleware(
            CORSMiddleware, allow_origins=[one.strip() for one in settings.cors.split(",")], allow_methods=["*"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
        )  # fmt: skip
    api.add_middleware(SafeHeaders)  # the outermost: every answer has them
    return api


async def _welcome() -> dict[str, str]:
    """Where to go on from here."""
    return {"name": "Lanework", "version": version("lanework"), "routes": "/openapi.json", "you": "/me", "health": "/health/ready"}


def _creating(api: FastAPI) -> Callable[[str], bool]:
    """Is it the path of a POST that creates something? A job's key is not asked for here: it is stored with the job."""
    patterns = [compile_path(one.path)[0] for one in routes_of(api) if one.method == "POST" and one.status == 201]
    return lambda path: any(pattern.match(path) for pattern in patterns)

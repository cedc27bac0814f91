"""The application's connections: opened when they are wanted, one set for blocking callers and one for each event loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lanework import _notifying, _preparing
from lanework._loading import Target
from lanework._store.keeper import AsyncKeeper, Keeper
from lanework._store.verb import Verb, storable
from lanework.config import Settings
from lanework.errors import ConfigError, JobNotFound
from lanework.handlers import Handler, Handlers

if TYPE_CHECKING:
    from lanework.client import Lanework

T = TypeVar("T")


class Database:
    """What every part stands on."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.handlers = Handlers()
        self._lane_values: dict[str, dict[str, Any]] = {}
        self._lanes_told: set[str] = set()
        self._notifiers: dict[str, _notifying.Registered] = {}
        self._notifiers_told: set[str] = set()
        self._lock = threading.Lock()
        self._prepared: _preparing.Prepared | None = None
        self._type_ids: dict[str, int] = {}
        self._keeper: Keeper | None = None
        self._keepers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKeeper] = weakref.WeakKeyDictionary()

    @property
    def _app(self) -> Lanework:
        """The whole of which this is a part."""
        return cast("Lanework", self)

    def _run(self, verb: Verb[T]) -> T:
        with storable():
            return self._sync_keeper().run(verb)

    async def _arun(self, verb: Verb[T]) -> T:
        with storable():
            return await (await self._async_keeper()).run(verb)

    def _sync_keeper(self) -> Keeper:
        if self._keeper is None:
            prepared = self._ready()
            with self._lock:
                if self._keeper is None:
                    self._keeper = Keeper(prepared.dsn, self.settings, "client", self.settings.connections)
        return self._keeper

    async def _async_keeper(self) -> AsyncKeeper:
        loop = asyncio.get_running_loop()
        keeper = self._keepers.get(loop)
        if keeper is None:
            dsn = await self._prepare()
            keeper = self._keepers.setdefault(loop, AsyncKeeper(dsn, self.settings, "client", self.settings.connections))
        return keeper

    async def _prepare(self) -> str:
        prepared = await asyncio.to_thread(self._ready)
        return prepared.dsn

    def _ready(self) -> _preparing.Prepared:
        """Once per process: the server, its schema, and this application's types in it."""
        with self._lock:
            if self._prepared is None:
                self._prepared = _preparing.Prepared(self.settings)
            if set(self._type_ids) != set(self.handlers) or self._lanes_told != set(self._lane_values):
                self._type_ids = _preparing.register_types(self._prepared.dsn, self.settings, self.handlers, self._lane_values)
                self._lanes_told = set(self._lane_values)
            if self._notifiers_told != set(self._notifiers):
                _preparing.register_notifiers(self._prepared.dsn, self.settings, [one.row() for one in self._notifiers.values()])
                self._notifiers_told = set(self._notifiers)
            return self._prepared

    def _ensure(self, handler: Handler) -> None:
        if handler.name not in self._type_ids:
            self._ready()

    async def _aensure(self, handler: Handler) -> None:
        if handler.name not in self._type_ids:
            await self._prepare()

    @property
    def _embedded_folder(self) -> str | None:
        lease = None if self._prepared is None else self._prepared.lease
        return None if lease is None else str(lease.folder)

    @property
    def _target(self) -> Target | None:
        try:
            return Target.of(self)
        except ConfigError:
            return None

    def _forget(self) -> tuple[Keeper | None, _preparing.Prepared | None]:
        """What is to be closed; the next call begins anew."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
            prepared, self._prepared = self._prepared, None
            self._type_ids, self._notifiers_told, self._lanes_told = {}, set(), set()
        return keeper, prepared

    async def _close_loop(self) -> None:
        """Closes the connections that belong to this event loop."""
        keeper = self._keepers.pop(asyncio.get_running_loop(), None)
        if keeper is not None:
            await keeper.close()


def answered(job_id: int, answer: T | None) -> T:
    if answer is None:
        raise JobNotFound(f"there is no job {job_id}")
    return answer

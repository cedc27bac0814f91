"""Who may call what: the gate says who is asking, a route says what it needs. A route without a policy does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRouter, iter_route_contexts

from lanework._store.verb import origin
from lanework.api.storable import Storable
from lanework.errors import ConfigError

Scope = Literal["all", "own"]


class Caller(Protocol):
    """Who is asking. `scope` answers how far a permission reaches: over everything, over what is his own, or not at all."""

    @property
    def name(self) -> str: ...

    def scope(self, permission: str) -> Scope | None: ...

    def may_submit(self, type: str) -> bool: ...


class Gate(Protocol):
    """Finds out who is asking; raises what the caller shall see if nobody known is."""

    def __call__(self, request: Request, /) -> Awaitable[Caller]: ...


class Forbidden(Exception):
    """Known, but without this permission at all. (What lies outside a caller's scope is not found instead.)"""

    def __init__(self, permission: str) -> None:
        super().__init__(f"this needs the permission {permission}")
        self.permission = permission


@dataclass(frozen=True, slots=True)
class Policy:
    """What a route needs. `permission` None: anybody may call it, for the reason given."""

    permission: str | None
    gate: Gate | None = None
    reason: str = ""

    async def __call__(self, request: Request) -> None:
        if self.permission is None or self.gate is None:
            return
        caller = await self.gate(request)
        # "" is for routes that any known caller may use for himself
        if self.permission and caller.scope(self.permission) is None:
            raise Forbidden(self.permission)
        request.state.caller = caller
        if request.method not in ("GET", "HEAD"):
            origin.set(f"http {request.client.host}" if request.client else "http")


def _caller(request: Request) -> Caller:
    found: Caller = request.state.caller
    return found


#: The parameter of a route that wants to know who is asking.
Who = Annotated[Caller, Depends(_caller)]


class Routes:
    """A router whose routes each have a policy."""

    def __init__(self, gate: Gate, **options: Any) -> None:
        self.gate = gate
        self.router = APIRouter(**options)

    def add(
        self, method: str, path: str, endpoint: Callable[..., Any], *, needs: str | None, because: str = "",
        cleaned: Collection[str] = (), **options: Any,
    ) -> None:  # fmt: skip
        """`needs` is a permission; "" for any known caller; None for everybody, which asks for a reason. `cleaned`: fields of the
        body that may have characters in them which nothing can store, because the route takes them out."""
        if needs is None and not because:
            raise ConfigError(f"route {method} {path}: a route that everybody may call says why (because=…)")
        policy = Policy(needs, None if needs is None else self.gate, because)
        extra = {"x-permission": needs, **options.pop("openapi_extra", {})}
        self.router.add_api_route(
            path, endpoint, methods=[method], dependencies=[Depends(policy), Depends(Storable(cleaned))], openapi_extra=extra,
            **options,
        )  # fmt: skip


class Listed(NamedTuple):
    """One route of an application, as it is served."""

    method: str
    path: str
    policy: Policy | None
    status: int | None


def routes_of(app: FastAPI) -> list[Listed]:
    """Every route, with its policy if it has one."""
    found = []
    for route in iter_route_contexts(app.routes):
        given = [one.dependency for one in getattr(route, "dependencies", ()) if isinstance(one.dependency, Policy)]
        for method in sorted(route.methods or ("*",)):
            status = getattr(route, "status_code", None)
            found.append(
                Listed(method, route.path or "*", given[0] if given else None, status if isinstance(status, int) else None)
            )
    return found


def check_policies(app: FastAPI) -> None:
    """Stops an application from starting if it has a route without a policy."""
    naked = [f"{one.method} {one.path}" for one in routes_of(app) if one.policy is None]
    if naked:
        raise ConfigError(f"routes without a policy: {', '.join(naked)}; add them through `Routes`")


@dataclass(frozen=True, slots=True)
class Anybody:
    """For an application that has its own door in front: whoever comes through may do everything."""

    name: str = "anybody"

    def scope(self, permission: str) -> Scope | None:
        return "all"

    def may_submit(self, type: str) -> bool:
        return True


async def open_gate(request: Request) -> Caller:
    """No access control. Only for applications that listen where nobody else can reach them."""
    return Anybody()

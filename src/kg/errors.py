"""What the platform raises, on the engine's tree. Codes are stable: they never change meaning and are never reused.

KgError
├── NotAuthenticated   KG-100   nobody known is asking
├── WrongLogin         KG-101   name or password do not fit
├── TooMany            KG-102   more attempts than allowed; later again
├── CrossSite          KG-103   a browser sent this from somebody else's page
├── InvalidAccess      KG-110   a user, role or token cannot be made like this
├── AccessNotFound     KG-111   no such user, role or token
├── KeyReused          KG-112   the Idempotency-Key belongs to another request
├── ServerAway         KG-120   the command line finds no server
├── Refused            KG-121   the server said no to the command line
├── Unprepared         KG-250   the graph changed meanwhile: some names need another vector first
├── SourceGone         KG-251   the document of this chunk was deleted or replaced
├── GraphNotFound      KG-252   no such concept, proposal or decision
└── InvalidDecision    KG-253   these two cannot be decided like this
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanework.errors import LaneworkError

if TYPE_CHECKING:
    from kg.graph.said import Meaning


class KgError(LaneworkError):
    code = "KG-000"


class NotAuthenticated(KgError):
    code = "KG-100"
    http_status = 401


class WrongLogin(NotAuthenticated):
    code = "KG-101"


class TooMany(KgError):
    code = "KG-102"
    http_status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CrossSite(KgError):
    code = "KG-103"
    http_status = 403


class InvalidAccess(KgError):
    code = "KG-110"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class AccessNotFound(KgError):
    code = "KG-111"
    exit_code = 5
    http_status = 404


class KeyReused(KgError):
    code = "KG-112"
    http_status = 409


class ServerAway(KgError):
    code = "KG-120"
    exit_code = 3
    http_status = 503


class Refused(KgError):
    code = "KG-121"


class Unprepared(KgError):
    """Nothing was written. Whoever embeds `meanings` and tries again, with their vectors beside those he had, comes through."""

    code = "KG-250"
    http_status = 409

    def __init__(self, meanings: Sequence[Meaning]) -> None:
        super().__init__(
            f"{len(meanings)} names need a vector that was not given, as {meanings[0].text[:80]!r} does; embed them and try again"
        )
        self.meanings = tuple(meanings)


class SourceGone(KgError):
    code = "KG-251"
    http_status = 404


class GraphNotFound(KgError):
    code = "KG-252"
    exit_code = 5
    http_status = 404


class InvalidDecision(KgError):
    code = "KG-253"
    exit_code = 2
    http_status = 422

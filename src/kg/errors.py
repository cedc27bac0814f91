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
├── ModelFiles         KG-240   a local model's files are missing, changed or of no use
└── EvaluationData     KG-241   the data to measure with cannot be read
"""

from __future__ import annotations

from lanework.errors import LaneworkError


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


class ModelFiles(KgError):
    code = "KG-240"
    exit_code = 2


class EvaluationData(KgError):
    code = "KG-241"
    exit_code = 2

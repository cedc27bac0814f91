"""Everything lanework raises, as one tree. Codes are stable: they never change meaning and are never reused.

LaneworkError
├── ConfigError                 LW-100   a setting or a declaration is wrong
├── DatabaseUnavailable         LW-200   PostgreSQL cannot be reached
├── UnsafeDatabase              LW-201   the server's settings would lose committed jobs
├── SchemaError                 LW-210   the database's schema is not the one this version needs
│   └── MigrationDrift          LW-211   an applied migration differs from its file
├── EmbeddedError               LW-220   the embedded PostgreSQL cannot be started or shared
├── InvalidJob                  LW-300   a submit was refused; nothing was stored
│   ├── UnknownJobType          LW-301
│   ├── TooManyChildren         LW-304
│   └── IdempotencyConflict     LW-302   the key belongs to a job with another body
├── NewerPayload                LW-303   the payload was written by newer code
├── JobNotFound                 LW-310
├── JobNotFinished              LW-311   a wait ran out of time; the job goes on
├── JobFailed                   LW-312   result() of a failed job
├── JobCancelled                LW-313   result() of a cancelled job
├── JobRunning                  LW-315   only a job that has ended can be deleted
├── InvalidLane                 LW-320   a lane's setting is out of bounds
│   ├── LaneNotFound            LW-321
│   └── LaneInUse               LW-322   the lane still has job types
├── WouldDeadlock               LW-314   a job that waits in its slot for a job of the same lane
├── ClaimLost                   LW-400   this attempt no longer owns its job: stop
├── WorkerRetired               LW-401   the database has declared this worker dead
├── JobStopped                  LW-406   raised inside a handler that was asked to stop
├── ChildrenFailed              LW-407   a parent whose children did not complete
├── ProcessDied                 LW-402   the child process that ran the job died
└── InvalidResult               LW-410   a handler returned what cannot be stored
"""

from __future__ import annotations

from typing import Any, ClassVar


class LaneworkError(Exception):
    """Base of all errors. `code` is stable, the message is for people."""

    code: ClassVar[str] = "LW-000"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class ConfigError(LaneworkError):
    code = "LW-100"
    exit_code = 2


class DatabaseUnavailable(LaneworkError):
    code = "LW-200"
    exit_code = 3
    http_status = 503


class UnsafeDatabase(LaneworkError):
    code = "LW-201"
    exit_code = 3


class SchemaError(LaneworkError):
    code = "LW-210"
    exit_code = 4


class MigrationDrift(SchemaError):
    code = "LW-211"


class EmbeddedError(LaneworkError):
    code = "LW-220"
    exit_code = 3


class InvalidJob(LaneworkError):
    """A submit was refused before anything was stored. `field` names the argument or option at fault."""

    code = "LW-300"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class UnknownJobType(InvalidJob):
    code = "LW-301"


class IdempotencyConflict(InvalidJob):
    code = "LW-302"
    http_status = 409


class NewerPayload(LaneworkError):
    """The payload was written by newer code: this process must leave the job to one that knows it."""

    code = "LW-303"
    http_status = 409


class JobNotFound(LaneworkError):
    code = "LW-310"
    exit_code = 5
    http_status = 404


class JobNotFinished(LaneworkError):
    code = "LW-311"
    exit_code = 6
    http_status = 409


class JobFailed(LaneworkError):
    """The job ended as `failed`. `error_class` is why, `job_id` is which."""

    code = "LW-312"
    exit_code = 7
    http_status = 409

    def __init__(self, message: str, *, job_id: int = 0, error_class: str = "unknown") -> None:
        super().__init__(message)
        self.job_id = job_id
        self.error_class = error_class


class JobCancelled(LaneworkError):
    code = "LW-313"
    exit_code = 8
    http_status = 409


class InvalidLane(LaneworkError):
    code = "LW-320"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class LaneNotFound(InvalidLane):
    code = "LW-321"
    exit_code = 5
    http_status = 404


class LaneInUse(InvalidLane):
    code = "LW-322"
    http_status = 409


class TooManyChildren(InvalidJob):
    code = "LW-304"


class WouldDeadlock(LaneworkError):
    code = "LW-314"
    http_status = 409


class JobRunning(LaneworkError):
    code = "LW-315"
    http_status = 409


class ClaimLost(LaneworkError):
    """Raised inside a handler whose attempt was superseded: none of its writes will be taken."""

    code = "LW-400"


class WorkerRetired(LaneworkError):
    code = "LW-401"


class JobStopped(LaneworkError):
    code = "LW-406"


class ChildrenFailed(LaneworkError):
    """`error_class` is read by the classification: the parent fails, it is not tried again."""

    code = "LW-407"
    error_class = "permanent"


class ProcessDied(LaneworkError):
    """The child process under a job died. `cause` says how: `signal 11 (SIGSEGV)`, `out of memory`, `exit code 3`."""

    code = "LW-402"

    def __init__(self, cause: str, *, pid: int = 0) -> None:
        super().__init__(f"the process that ran this job died: {cause}")
        self.cause = cause
        self.pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.cause,))


class InvalidResult(LaneworkError):
    code = "LW-410"


def _tree(root: type[LaneworkError]) -> list[type[LaneworkError]]:
    return [root, *(found for child in root.__subclasses__() for found in _tree(child))]


#: Stable code → class, for answers that come back from SQL as SQLSTATE `LW301` or over a wire as `LW-301`.
BY_CODE: dict[str, type[LaneworkError]] = {kind.code: kind for kind in _tree(LaneworkError)}

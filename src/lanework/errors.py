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
├── UnstorableValue             LW-305   a text or a number that PostgreSQL cannot store
├── NewerPayload                LW-303   the payload was written by newer code
├── JobNotFound                 LW-310
├── JobNotFinished              LW-311   a wait ran out of time; the job goes on
├── JobFailed                   LW-312   result() of a failed job
├── JobCancelled                LW-313   result() of a cancelled job
├── JobRunning                  LW-315   only a job that has ended can be deleted
├── InvalidLane                 LW-320   a lane's setting is out of bounds
│   ├── LaneNotFound            LW-321
│   └── LaneInUse               LW-322   the lane still has job types
├── InvalidCursor               LW-560   a position in the events that this database does not have
│   └── EventsRemoved           LW-561   events after the position have left by retention
├── AppendOnly                  LW-580   the audit log can be added to, nothing else
├── WouldDeadlock               LW-314   a job that waits in its slot for a job of the same lane
├── ApprovalOutdated            LW-520   the job is not what was shown: look at it again
├── NothingToApprove            LW-521   the job does not wait for an approval
├── SecondPersonNeeded          LW-522   four eyes: somebody else must approve
├── InvalidApproval             LW-523   a sum, a reason or a rule is wrong
├── NotEditable                 LW-524   the job runs, has ended, or has children
├── ClaimLost                   LW-400   this attempt no longer owns its job: stop
├── WorkerRetired               LW-401   the database has declared this worker dead
├── JobStopped                  LW-406   raised inside a handler that was asked to stop
├── ChildrenFailed              LW-407   a parent whose children did not complete
├── ProcessDied                 LW-402   the child process that ran the job died
├── InvalidResult               LW-410   a handler returned what cannot be stored
├── InvalidFilter               LW-500   an act on many jobs was refused: its filter or kind is wrong
├── OperationNotFound           LW-501
├── JobNotWaiting               LW-502   only a job that waits has a place in the queue
├── WorkerNotFound              LW-503
├── WorkerEnded                 LW-504   a worker that has ended, or is stopping, cannot be steered
├── InvalidFreeze               LW-505   a freeze was refused: its lanes or its time are wrong
├── FreezeConflict              LW-506   two jobs would freeze, and wait for, each other's lanes
├── FreezeNotFound              LW-507   it was ended before, by whomever
├── NotFailed                   LW-510   a retry of a job that is no dead letter
├── InvalidDeadLetters          LW-511   a filter, a rate, a rule or an address is wrong
│   ├── DeadLettersNotFound     LW-512   no such group, redrive, rule or notifier
│   └── DeadLettersBusy         LW-513   a redrive that is under way, or has ended
├── InvalidSchedule             LW-530   a schedule or maintenance task was refused; nothing was changed
│   ├── ScheduleNotFound        LW-531
│   ├── ScheduleExists          LW-532
│   └── TaskNotFound            LW-533
├── PermitBusy                  LW-540   a permit was not free, at once or in time
├── InvalidLimit                LW-541   a capacity, a rate or a time is out of bounds
├── PermitOrder                 LW-542   a wait for a permit by a holder of one that comes after it
├── PermitLost                  LW-543   the hold has expired or was taken away
├── LimitNotFound               LW-545   no permit or rate of that name
├── BudgetExceeded              LW-550   the budget has not so much left
├── InvalidBudget               LW-551   an amount or a period is out of bounds
├── BudgetNotFound              LW-552   no budget or reservation of that name
└── LanesBusy                   LW-508   frozen lanes did not become quiet in time
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


class UnstorableValue(LaneworkError):
    code = "LW-305"
    exit_code = 2
    http_status = 422


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


class InvalidCursor(LaneworkError):
    code = "LW-560"
    exit_code = 2
    http_status = 422


class EventsRemoved(InvalidCursor):
    code = "LW-561"
    http_status = 410


class AppendOnly(LaneworkError):
    code = "LW-580"
    http_status = 409


class ApprovalOutdated(LaneworkError):
    code = "LW-520"
    http_status = 409


class NothingToApprove(LaneworkError):
    code = "LW-521"
    http_status = 409


class SecondPersonNeeded(LaneworkError):
    code = "LW-522"
    http_status = 403


class InvalidApproval(LaneworkError):
    code = "LW-523"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class NotEditable(LaneworkError):
    code = "LW-524"
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


class InvalidFilter(LaneworkError):
    code = "LW-500"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class OperationNotFound(LaneworkError):
    code = "LW-501"
    exit_code = 5
    http_status = 404


class JobNotWaiting(LaneworkError):
    code = "LW-502"
    http_status = 409


class WorkerNotFound(LaneworkError):
    code = "LW-503"
    exit_code = 5
    http_status = 404


class WorkerEnded(LaneworkError):
    code = "LW-504"
    http_status = 409


class InvalidFreeze(LaneworkError):
    code = "LW-505"
    exit_code = 2
    http_status = 422


class FreezeConflict(LaneworkError):
    """`error_class` is read by the classification: the job is tried again when the other one may have ended."""

    code = "LW-506"
    http_status = 409
    error_class = "transient"


class FreezeNotFound(LaneworkError):
    code = "LW-507"
    exit_code = 5
    http_status = 404


class LanesBusy(LaneworkError):
    code = "LW-508"
    exit_code = 6
    http_status = 409
    error_class = "transient"


class NotFailed(LaneworkError):
    code = "LW-510"
    http_status = 409


class InvalidDeadLetters(LaneworkError):
    code = "LW-511"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DeadLettersNotFound(InvalidDeadLetters):
    code = "LW-512"
    exit_code = 5
    http_status = 404


class DeadLettersBusy(InvalidDeadLetters):
    code = "LW-513"
    exit_code = 1
    http_status = 409


class InvalidSchedule(LaneworkError):
    code = "LW-530"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class ScheduleNotFound(InvalidSchedule):
    code = "LW-531"
    exit_code = 5
    http_status = 404


class ScheduleExists(InvalidSchedule):
    code = "LW-532"
    http_status = 409


class TaskNotFound(InvalidSchedule):
    code = "LW-533"
    exit_code = 5
    http_status = 404


class PermitBusy(LaneworkError):
    """Not free. Raised out of a handler it parks the job until the permit is: no try is used."""

    code = "LW-540"
    exit_code = 6
    http_status = 409
    error_class = "throttled"

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.blocked_on = f"permit:{name}" if name else None


class InvalidLimit(LaneworkError):
    code = "LW-541"
    exit_code = 2
    http_status = 422


class PermitOrder(LaneworkError):
    """Two who take the same two permits in two orders wait for each other for ever: names are taken in rising order."""

    code = "LW-542"
    http_status = 409
    error_class = "permanent"


class PermitLost(LaneworkError):
    code = "LW-543"
    http_status = 409


class LimitNotFound(LaneworkError):
    code = "LW-545"
    exit_code = 5
    http_status = 404


class BudgetExceeded(LaneworkError):
    """Raised out of a handler it parks the job until the budget allows, or a person raises it: no try is used."""

    code = "LW-550"
    http_status = 402
    error_class = "budget"

    def __init__(self, message: str, *, budget: str = "") -> None:
        super().__init__(message)
        self.budget = budget
        self.blocked_on = f"budget:{budget}" if budget else None


class InvalidBudget(LaneworkError):
    code = "LW-551"
    exit_code = 2
    http_status = 422


class BudgetNotFound(LaneworkError):
    code = "LW-552"
    exit_code = 5
    http_status = 404


def _tree(root: type[LaneworkError]) -> list[type[LaneworkError]]:
    return [root, *(found for child in root.__subclasses__() for found in _tree(child))]


#: Stable code → class, for answers that come back from SQL as SQLSTATE `LW301` or over a wire as `LW-301`.
BY_CODE: dict[str, type[LaneworkError]] = {kind.code: kind for kind in _tree(LaneworkError)}

"""The public surface: codes that never change. (What an import brings and costs: test_repository.py.)"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import lanework
from lanework import errors, retries

ROOT = Path(__file__).parents[1]
#: Code → class. A code never changes its meaning and is never used again: this table only grows.
CODES = {
    "LW-000": "LaneworkError",
    "LW-100": "ConfigError",
    "LW-200": "DatabaseUnavailable",
    "LW-201": "UnsafeDatabase",
    "LW-210": "SchemaError",
    "LW-211": "MigrationDrift",
    "LW-220": "EmbeddedError",
    "LW-300": "InvalidJob",
    "LW-301": "UnknownJobType",
    "LW-302": "IdempotencyConflict",
    "LW-303": "NewerPayload",
    "LW-304": "TooManyChildren",
    "LW-305": "UnstorableValue",
    "LW-310": "JobNotFound",
    "LW-311": "JobNotFinished",
    "LW-312": "JobFailed",
    "LW-313": "JobCancelled",
    "LW-314": "WouldDeadlock",
    "LW-315": "JobRunning",
    "LW-320": "InvalidLane",
    "LW-321": "LaneNotFound",
    "LW-322": "LaneInUse",
    "LW-530": "InvalidSchedule",
    "LW-531": "ScheduleNotFound",
    "LW-532": "ScheduleExists",
    "LW-533": "TaskNotFound",
    "LW-400": "ClaimLost",
    "LW-401": "WorkerRetired",
    "LW-402": "ProcessDied",
    "LW-406": "JobStopped",
    "LW-407": "ChildrenFailed",
    "LW-410": "InvalidResult",
    "LW-500": "InvalidFilter",
    "LW-501": "OperationNotFound",
    "LW-502": "JobNotWaiting",
    "LW-503": "WorkerNotFound",
    "LW-504": "WorkerEnded",
    "LW-505": "InvalidFreeze",
    "LW-506": "FreezeConflict",
    "LW-507": "FreezeNotFound",
    "LW-508": "LanesBusy",
    "LW-560": "InvalidCursor",
    "LW-561": "EventsRemoved",
    "LW-580": "AppendOnly",
    "LW-520": "ApprovalOutdated",
    "LW-521": "NothingToApprove",
    "LW-522": "SecondPersonNeeded",
    "LW-523": "InvalidApproval",
    "LW-524": "NotEditable",
    "LW-510": "NotFailed",
    "LW-511": "InvalidDeadLetters",
    "LW-512": "DeadLettersNotFound",
    "LW-513": "DeadLettersBusy",
    "LW-540": "PermitBusy",
    "LW-541": "InvalidLimit",
    "LW-542": "PermitOrder",
    "LW-543": "PermitLost",
    "LW-545": "LimitNotFound",
    "LW-550": "BudgetExceeded",
    "LW-551": "InvalidBudget",
    "LW-552": "BudgetNotFound",
}
#: Codes of job errors that are no exception.
JOB_CODES = {"LW-403", "LW-404", "LW-405", "LW-420", "LW-421"}


def test_codes_are_unique_and_stable() -> None:
    for module in pkgutil.walk_packages(lanework.__path__, "lanework."):
        if not module.name.endswith("__main__") and not module.name.startswith("lanework.bench"):
            importlib.import_module(module.name)
    kinds = errors._tree(errors.LaneworkError)
    ours = {kind for kind in kinds if kind.__module__.startswith("lanework")}
    assert {kind.code: kind.__name__ for kind in ours} == CODES
    assert len(ours) == len(CODES)
    named = {retries.HANDLER_RAISED, retries.WORKER_LOST, retries.TIMED_OUT, retries.STALLED, retries.HANDLER_FAILED}
    assert named == JOB_CODES
    assert not JOB_CODES & CODES.keys()


def test_codes_that_sql_raises_are_known() -> None:
    migrations = ROOT / "src/lanework/_store/migrations"
    found = {code for file in migrations.glob("*.sql") for code in re.findall(r"errcode = '(LW\d+)'", file.read_text())}
    assert found
    assert {f"LW-{code[2:]}" for code in found} <= CODES.keys()


def test_every_error_has_its_place_in_the_tree_that_is_drawn() -> None:
    drawn = errors.__doc__ or ""
    for code, name in CODES.items():
        if code not in ("LW-000", "LW-303"):
            assert f"{name} " in drawn, name
            assert code in drawn, code

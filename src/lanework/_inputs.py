"""What callers ask with, checked before it goes to the database: a mistake is answered in words that name it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lanework.errors import InvalidJob, JobNotFound

TOO_LARGE = 2**63
MOST_ROWS = 100_000


def known_id(job_id: Any) -> int:
    if not _is_number(job_id):
        raise InvalidJob(f"job_id: expected the number of a job, got {job_id!r}", field="job_id")
    if not 0 < job_id < TOO_LARGE:
        raise JobNotFound(f"there is no job {job_id}")
    return int(job_id)


def place(value: Any, field: str) -> int:
    """An id that a page begins after, or ends before."""
    if not _is_number(value) or not 0 <= value < TOO_LARGE:
        raise InvalidJob(f"{field}: expected a number from 0 to 2**63 - 1, got {value!r}", field=field)
    return int(value)


def page(limit: Any, most: int = MOST_ROWS) -> int:
    if not _is_number(limit) or not 1 <= limit <= most:
        raise InvalidJob(f"limit: expected 1 to {most}, got {limit!r}", field="limit")
    return int(limit)


def texts(**values: Any) -> None:
    for field, value in values.items():
        if value is not None and not isinstance(value, str):
            raise InvalidJob(f"{field}: expected a text, got {value!r}", field=field)


def moment(field: str, value: Any) -> None:
    if value is not None and not isinstance(value, datetime):
        raise InvalidJob(f"{field}: expected a datetime, got {value!r}", field=field)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

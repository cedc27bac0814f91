"""Fields that several requests and answers share, with their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LARGEST = 2**63 - 1
#: A hundred years.
LONGEST = 36_525 * 86_400.0

Id = Annotated[int, Field(ge=1, le=LARGEST)]
#: An id that a page ends before.
Before = Annotated[int | None, Query(ge=1, le=LARGEST, description="the last id of the page before")]
Limit = Annotated[int, Query(ge=1, le=1000, description="entries of a page")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(max_length=1000)]
Priority = Annotated[int, Field(ge=-1000, le=1000)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False)]
Money = Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)]


def _sane(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("expected a moment with its time zone")
    if not 1900 <= moment.year < 3000:
        raise ValueError("expected a year from 1900 to 2999")
    return moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_sane)]


class Body(BaseModel):
    """What a request says; a name that is not known is refused."""

    model_config = ConfigDict(extra="forbid")


class Reason(Body):
    reason: Words = ""


class OldAndNew(BaseModel):
    old: Any
    new: Any


class Change(BaseModel):
    """What a change did, field by field."""

    name: str
    changed: dict[str, OldAndNew]


class Changed(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def changed(self) -> Mapping[str, tuple[Any, Any]]: ...


def shown(change: Changed) -> Change:
    pairs = change.changed.items()
    return Change(name=change.name, changed={name: OldAndNew(old=old, new=new) for name, (old, new) in pairs})


def given(body: BaseModel, *nullable: str, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """What was said; a null counts only where it means something."""
    said = body.model_dump(exclude_unset=True).items()
    return {name: value for name, value in said if name not in without and (value is not None or name in nullable)}

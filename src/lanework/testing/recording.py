"""A context without an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lanework._children import ChildResult
from lanework._codec import RESULT_LIMIT, decode, encode
from lanework.context import Context
from lanework.errors import ClaimLost, ConfigError, InvalidResult

if TYPE_CHECKING:
    from lanework._store.keeper import AsyncKeeper, Keeper


class SimulatedCrash(BaseException):
    """The process dies here. Not an `Exception`: no handler may catch it by accident."""


class RecordingLink:
    """A link without an engine: keeps what the handler said and stored, under the same rules."""

    def __init__(self) -> None:
        self.progress: list[tuple[float | None, str]] = []
        self.logs: list[tuple[str, str]] = []
        self.checkpoints: list[Any] = []
        self.steps: dict[str, str] = {}
        self.children: dict[str, tuple[int, str, str]] = {}
        self.child_results: dict[str, ChildResult] = {}
        self.item_errors: list[dict[str, Any]] = []
        self.spent: list[dict[str, Any]] = []
        self.permits: list[tuple[str, ...]] = []
        self.reserved: list[str] = []
        self.crash_at: set[str] = set()
        self.superseded = False

    def tell(self, op: str, data: dict[str, Any]) -> None:
        if op == "progress":
            self.progress.append((data["fraction"], data["message"]))
        elif op == "item_errors":
            self.item_errors.extend(data["errors"])
        elif op == "log":
            self.logs.append((data["stream"], data["text"]))

    def ask(self, op: str, data: dict[str, Any]) -> Any:  # noqa: PLR0911 - one answer per question
        match op:
            case "get_step":
                return {"text": self.steps[data["key"]], "blob": None} if data["key"] in self.steps else None
            case "get_items":
                return {key: {"text": text, "blob": None} for key, text in self.steps.items() if key.startswith(data["prefix"])}
            case "children":
                return [[name, id, type, *self._outcome_of(name)] for name, (id, type, _) in self.children.items()]
            case "spent":
                if data["key"] not in [one["key"] for one in self.spent]:
                    self.spent.append(data)
                return None
        if self.superseded:
            raise ClaimLost(f"{op}: this attempt was superseded")
        match op:
            case "save_step":
                self._reach(f"before_step:{data['key']}")
                self.steps.setdefault(data["key"], data["text"])
                self._reach(f"after_step:{data['key']}")
            case "submit_children":
                for name, payload in zip(data["names"], data["payloads"], strict=True):
                    self.children.setdefault(name, (len(self.children) + 2, data["type"], payload))
                return [[name, self.children[name][0], "test"] for name in data["names"]]
            case "permit_take":
                self.permits.append(tuple(data["names"]))
                return {"token": str(len(self.permits)), "fence": len(self.permits)}
            case "reserve":
                self.reserved.append(data["amount"])
                return None
            case "checkpoint":
                self.checkpoints.append(decode(encode(data["state"], field="checkpoint", limit=RESULT_LIMIT, error=InvalidResult)))
        return None

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        return self.ask(op, data)

    def _outcome_of(self, name: str) -> list[Any]:
        found = self.child_results.get(name)
        if found is None:
            return ["completed", None, None, None]
        return [found.status, json.dumps(found.result), found.error_class, found.error]

    def _reach(self, point: str) -> None:
        if point in self.crash_at:
            self.crash_at.discard(point)
            raise SimulatedCrash(point)

    def database(self) -> Keeper:
        raise ConfigError("this handler writes to the database: test it with testing.drain, which has one")

    async def adatabase(self) -> AsyncKeeper:
        raise ConfigError("this handler writes to the database: test it with testing.adrain, which has one")


class RecordingContext(Context):
    """A context without an engine: tells what the handler did, and keeps its steps for the next attempt."""

    __slots__ = ()

    @classmethod
    def make(cls, type: str = "test", *, saved: Any = None, attempt: int = 1, owner: str | None = None) -> RecordingContext:
        return cls(RecordingLink(), job_id=1, attempt=attempt, fence=attempt, type=type, lane="test", owner=owner, saved=saved)

    @property
    def record(self) -> RecordingLink:
        assert isinstance(self._link, RecordingLink)
        return self._link

    @property
    def progress_reports(self) -> list[tuple[float | None, str]]:
        return self.record.progress

    @property
    def log_entries(self) -> list[tuple[str, str]]:
        return self.record.logs

    @property
    def checkpoints(self) -> list[Any]:
        return self.record.checkpoints

    @property
    def cost(self) -> float:
        """The sum of its `ctx.spent`."""
        return float(sum(one["amount"] for one in self.record.spent))

    @property
    def steps(self) -> dict[str, Any]:
        """The stored steps, decoded."""
        return {key: decode(text) for key, text in self.record.steps.items()}

    def crash_at(self, *points: str) -> RecordingContext:
        """`before_step:NAME` or `after_step:NAME`: there the attempt dies with `SimulatedCrash`, once."""
        self.record.crash_at.update(points)
        return self

    def supersede(self) -> None:
        """From now on another attempt owns the job: every write raises `ClaimLost`."""
        self.record.superseded = True

    def next_attempt(self) -> RecordingContext:
        """The context of the attempt after this one: same job, same steps, last checkpoint."""
        again = type(self)(
            self._link, job_id=self.job_id, attempt=self.attempt + 1, fence=self.fence + 1, type=self.type, lane=self.lane,
            owner=self.owner, saved=self.record.checkpoints[-1] if self.record.checkpoints else self._saved, past=True,
        )  # fmt: skip
        self.record.superseded = False
        return again

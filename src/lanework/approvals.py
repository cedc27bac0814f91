"""`app.approvals`: who needs a yes before a job starts; `Above`, a policy; `Approval`, a yes that was given."""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from lanework._store import approvals as store
from lanework._store.verb import Row, Verb
from lanework.errors import ConfigError, InvalidApproval

if TYPE_CHECKING:
    from lanework.client import Lanework

ANY = "*"


@dataclass(frozen=True, slots=True)
class Above:
    """A policy: what may cost more than this needs an approval, and so does what nobody can estimate."""

    amount: float
    currency: str = "USD"

    def __post_init__(self) -> None:
        number = isinstance(self.amount, (int, float)) and not isinstance(self.amount, bool)
        if not number or not math.isfinite(self.amount) or not 0 <= self.amount < 1e12:
            raise ConfigError(f"Above: expected a sum from 0 on, got {self.amount!r}")


#: Who needs an approval: `"always"`, `"never"`, or above a sum.
Policy = Literal["always", "never"] | Above


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's yes to the payload of this hash; `limit`: up to this sum."""

    by: str
    at: datetime
    limit: float | None
    hash: str


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A job waits for a yes: since when, until when, and why it needs one."""

    since: datetime
    expires_at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule. `*` means any type, or any owner. `set_by` is `code` for what a job type declares."""

    type: str
    owner: str
    policy: Policy
    four_eyes: bool | None
    set_by: str
    updated_at: datetime | None


class Approvals:
    """`app.approvals`: the rules, each verb with an async twin with an `a` in front. The most specific one holds: type and owner,
    type, owner, all; where there is none, what the job type declares."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def rules(self) -> builtins.list[ApprovalRule]:
        """The rules of operators, then what job types declare."""
        return self._app._run(_rules())

    async def arules(self) -> builtins.list[ApprovalRule]:
        return await self._app._arun(_rules())

    def set_rule(
        self, policy: Policy, *, type: str = ANY, owner: str = ANY, four_eyes: bool | None = None, by: str = "operator"
    ) -> None:
        """Sets or replaces the rule of a type, an owner, both, or all. It holds for jobs that are submitted, estimated or edited
        from now on. `four_eyes`: whoever approves must be another than the owner; None: as the job type says."""
        self._app._run(_set(policy, type, owner, four_eyes, by))

    async def aset_rule(
        self, policy: Policy, *, type: str = ANY, owner: str = ANY, four_eyes: bool | None = None, by: str = "operator"
    ) -> None:
        await self._app._arun(_set(policy, type, owner, four_eyes, by))

    def remove_rule(self, *, type: str = ANY, owner: str = ANY, by: str = "operator") -> bool:
        """False: there was none."""
        return self._app._run(store.remove_rule(type, owner, by))

    async def aremove_rule(self, *, type: str = ANY, owner: str = ANY, by: str = "operator") -> bool:
        return await self._app._arun(store.remove_rule(type, owner, by))


def parts(policy: Any) -> tuple[str, float | None, str | None]:
    """A policy as columns: its word, its sum, the sum's currency."""
    if isinstance(policy, Above):
        return "above", policy.amount, policy.currency
    if policy not in ("always", "never"):
        raise InvalidApproval(f"policy: expected 'always', 'never' or Above(sum), got {policy!r}", field="policy")
    return policy, None, None


def _set(policy: Policy, type: str, owner: str, four_eyes: bool | None, by: str) -> Verb[None]:
    word, amount, currency = parts(policy)
    return store.set_rule(type, owner, policy=word, above=amount, currency=currency, four_eyes=four_eyes, by=by)


def _rules() -> Verb[list[ApprovalRule]]:
    return store.list_rules(_rule)


def _rule(row: Row) -> ApprovalRule:
    type, owner, word, above, currency, four_eyes, set_by, updated_at = row
    policy: Policy = Above(float(above), currency or "USD") if word == "above" else word
    return ApprovalRule(type, owner, policy, four_eyes, set_by, updated_at)

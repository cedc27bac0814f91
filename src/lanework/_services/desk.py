"""What a running job asks of its worker, wherever its body runs. Writes are refused once its claim is gone."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lanework._codec import RESULT_LIMIT, encode
from lanework._failpoints import reach
from lanework._limits.asked import Asked
from lanework._limits.source import take_from
from lanework._store.approvals import spend
from lanework._store.budgets import release_reservation, reserve, settle_reservation
from lanework._store.hints import hint
from lanework._store.inside import get_items, get_step, list_children, save_step, step_keys, submit_children
from lanework._store.running import save_checkpoint
from lanework.errors import ClaimLost, InvalidResult, PermitBusy

if TYPE_CHECKING:
    from lanework._services.run import Run


#: Of a job with more steps than this each one is asked for.
MOST_KEYS = 2000


async def answer(run: Run, op: str, data: dict[str, Any]) -> Any:
    if op in _READS:
        return await _READS[op](run, data)
    if op in _FACTS:
        return await _FACTS[op](run, data)
    if op not in _WRITES:
        raise ValueError(f"unknown request {op!r}")
    _must_hold(run, not run.settled, op)
    return await _WRITES[op](run, data)


def _must_hold(run: Run, holds: bool, what: str) -> None:
    if not holds:
        run.context._lost = True
        raise ClaimLost(f"job {run.row.id}: attempt {run.row.attempt} was superseded; {what} was refused")


async def _get_step(run: Run, data: dict[str, Any]) -> dict[str, Any] | None:
    """What earlier attempts have stored is asked for once: their writes are refused by now, so nothing is added to it."""
    if run.steps is None:
        run.steps = await run.lane.keeper.run(step_keys(run.row.id, MOST_KEYS))
    if data["key"] not in run.steps and len(run.steps) < MOST_KEYS:
        return None
    step = await run.lane.keeper.run(get_step(run.row.id, data["key"]))
    return None if step is None else {"text": step.result, "blob": step.blob}


async def _get_items(run: Run, data: dict[str, Any]) -> dict[str, Any]:
    steps = await run.lane.keeper.run(get_items(run.row.id, data["prefix"]))
    return {key: {"text": step.result, "blob": step.blob} for key, step in steps.items()}


async def _children(run: Run, data: dict[str, Any]) -> list[list[Any]]:
    return [list(row) for row in await run.lane.keeper.run(list_children(run.row.id))]


async def _drain(run: Run, data: dict[str, Any]) -> None:
    """Before a finish of the body's own: what it has said is stored while its claim still holds."""
    if run.spoke:
        await run.lane.recorder.drain(run.held)


async def _save_checkpoint(run: Run, data: dict[str, Any]) -> None:
    text = encode(data["state"], field="checkpoint", limit=RESULT_LIMIT, error=InvalidResult)
    _must_hold(run, await run.lane.keeper.run(save_checkpoint(run.held, text)), "its checkpoint")


async def _save_step(run: Run, data: dict[str, Any]) -> None:
    await reach("before_step")
    saved = await run.lane.keeper.run(save_step(run.held, data["key"], data.get("text"), data.get("blob")))
    _must_hold(run, saved, f"step {data['key']!r}")
    await reach("after_step")


async def _submit_children(run: Run, data: dict[str, Any]) -> list[list[Any]]:
    verb = submit_children(
        run.held, data["names"], data["type"], data["payloads"], version=data["version"], priority=data["priority"],
        delay=data["delay"], max_tries=data["max_tries"], session=data["session"],
    )  # fmt: skip
    rows = await run.lane.keeper.run(verb)
    for lane in {row.lane for row in rows}:
        await run.lane.keeper.run(hint(lane))
    return [list(row) for row in rows]


async def _permit_take(run: Run, data: dict[str, Any]) -> dict[str, Any]:
    """A hold for a part of the body. One that comes when the run has ended goes back at once."""
    asked = Asked(tuple(data["names"]), data["capacity"], data["scope"], None)
    try:
        grant = await take_from(run.lane.host.permits, asked, data["wait"], run.row.id)
    except PermitBusy as error:
        return {"busy": str(error), "name": asked.names[0]}
    if run.settled:
        run.lane.host.permits.release(grant)
        _must_hold(run, False, f"permit {asked.names[0]!r}")
    run.permits = run.permits or {}
    run.permits[grant.token] = grant
    return {"token": grant.token, "fence": grant.fence}


async def _permit_give(run: Run, data: dict[str, Any]) -> None:
    grant = (run.permits or {}).pop(data["token"], None)
    if grant is not None:
        run.lane.host.permits.release(grant)


async def _reserve(run: Run, data: dict[str, Any]) -> list[str] | None:
    verb = reserve(
        data["id"], Decimal(data["amount"]), what=data["what"], names=data["budgets"], job=run.row.id, attempt=run.row.attempt,
        owner=run.row.owner, worker=run.lane.host.worker_id,
    )  # fmt: skip
    refused = await run.lane.keeper.run(verb)
    return None if refused is None else [refused.budget, str(refused.left)]


async def _settle_reservation(run: Run, data: dict[str, Any]) -> str:
    actual = None if data["actual"] is None else Decimal(data["actual"])
    return await run.lane.keeper.run(settle_reservation(data["id"], actual))


async def _release_reservation(run: Run, data: dict[str, Any]) -> str:
    return await run.lane.keeper.run(release_reservation(data["id"]))


async def _database(run: Run, data: dict[str, Any]) -> dict[str, Any]:
    """Where a child process finds the database, for transactions of its own. Over the pipe, never on a command line."""
    return {"dsn": run.lane.host.dsn, "settings": run.lane.host.plain_settings()}


async def _spent(run: Run, data: dict[str, Any]) -> None:
    await run.lane.keeper.run(spend(run.row.id, **data))


_READS = {"get_step": _get_step, "get_items": _get_items, "children": _children, "drain": _drain}
#: Facts about the outside world: taken whether or not the claim still holds.
_FACTS = {
    "spent": _spent, "permit_give": _permit_give, "settle_reservation": _settle_reservation,
    "release_reservation": _release_reservation,
}  # fmt: skip
_WRITES = {
    "checkpoint": _save_checkpoint, "save_step": _save_step, "submit_children": _submit_children, "database": _database,
    "permit_take": _permit_take, "reserve": _reserve,
}  # fmt: skip

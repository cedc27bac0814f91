"""The application of the outage tests: the other tests' jobs, and one that says when it is stopped."""

from __future__ import annotations

import asyncio

from lanework import Context, Lanework
from tests.processes import jobs

app = jobs.declared(Lanework())


def watchful_of(app: Lanework) -> None:
    @app.job("watchful", lane="work")
    async def watchful(ctx: Context, name: str = "go") -> int:
        jobs.note(ctx, "start")
        try:
            while not jobs.gate(name).exists():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            jobs.note(ctx, "stopped")
            raise
        jobs.note(ctx, "end")
        return ctx.attempt


watchful_of(app)

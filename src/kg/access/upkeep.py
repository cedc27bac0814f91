"""What is left behind by logins: expired credentials, old attempts, stored answers. An hourly maintenance task removes it."""

from __future__ import annotations

from kg._store import access as store
from lanework import Context, Lanework


def declare(work: Lanework) -> None:
    @work.maintenance("access", every=3600, timeout=120)
    async def tidy(ctx: Context) -> dict[str, int]:
        return {"removed": await work._arun(store.clean_up())}

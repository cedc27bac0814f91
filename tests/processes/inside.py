"""A worker inside an application, guarded by a companion: `python -m tests.processes.inside NAME`. Ends when gate `leave` is open."""

from __future__ import annotations

import asyncio
import logging
import sys

from tests.processes.jobs import app, gate


async def main() -> None:
    async with app.worker(name=sys.argv[1]):
        while not gate("leave").exists():
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(main())

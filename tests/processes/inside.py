"""A worker inside an application, guarded by a companion: `python -m tests.processes.inside NAME [LANE]`.

It writes its health to a file, again and again, and ends when gate `leave` is open.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from tests.processes.jobs import FOLDER, app, gate


async def main() -> None:
    async with app.worker(name=sys.argv[1], lanes=sys.argv[2:] or None):
        while not gate("leave").exists():
            new = FOLDER / "health.new"
            new.write_text(json.dumps(await app.ahealth(), default=str))
            new.rename(FOLDER / "health.json")
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(main())

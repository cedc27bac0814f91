"""An executor of your own: here one that runs bodies one after the other in a single thread that owns a device."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lanework import Call, Context, Lanework


class DeviceThread:
    """`Executor`: start, run, stop. A cancelled `run` waits for its body, as the protocol asks."""

    def __init__(self, lane: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"device-{lane}")

    async def start(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, threading.get_native_id)  # where a device would be opened

    async def run(self, call: Call) -> Any:
        def body() -> Any:
            return call.handler.fn(call.context, **call.handler.load(call.payload, call.version))

        work = asyncio.get_running_loop().run_in_executor(self._thread, body)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    async def stop(self) -> None:
        self._thread.shutdown(wait=False)


app = Lanework()
app.executor("device", DeviceThread)


@app.job(executor="device")
def render(ctx: Context, scene: str) -> str:
    return f"{scene}.png"


async def main() -> None:
    async with app, app.worker():
        for job in await render.asubmit_many([("hill",), ("lake",)]):
            print(await job.aresult(timeout=30))


if __name__ == "__main__":
    asyncio.run(main())

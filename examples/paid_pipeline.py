"""A pipeline in which every step costs money. Its workers are killed ten times, and every step is paid once.

The provider counts. It kills the worker that works for it, with SIGKILL, once for each of the first ten payments: in turn before
it has answered, when the money is gone and nobody knows it, and right after. What was stored is not asked for again; what was
paid and not stored is asked for again with the same idempotency key, and the provider charges a key once.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

from lanework import Context, Lanework

KILLS = 10
app = Lanework()
app.lane("paid", max_slots=1, poll_interval_ms=250)


def ask(key: str, prompt: str) -> str:
    request = Request(os.environ["PROVIDER"], json.dumps(prompt).encode(), {"Idempotency-Key": key})
    with urlopen(request, timeout=60) as response:
        return str(json.load(response))


@app.job(lane="paid", executor="process")
def report(ctx: Context, topic: str, chapters: int) -> str:
    def write(number: int) -> str:
        return ask(ctx.idempotency_key(f"chapter-{number}"), f"chapter {number} of {topic}")

    outline = ctx.step("outline", ask, ctx.idempotency_key("outline"), f"outline of {topic}")
    texts = ctx.map("chapter", range(chapters), write, concurrency=2)
    title = ctx.step("title", ask, ctx.idempotency_key("title"), f"title for {len(texts)} chapters after {outline}")
    return f"{title}: {len(texts)} chapters"


class Provider(ThreadingHTTPServer):
    """Charges each key once, counts every call, and is not kind to its callers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.calls, self.paid, self.killed = 0, set[str](), list[int]()
        self.lock = threading.Lock()
        self.workers = [start_worker(self.url), start_worker(self.url)]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def charge(self, key: str) -> int:
        """The number of the payment, or 0 if this key was paid before."""
        with self.lock:
            self.calls += 1
            fresh = key not in self.paid
            self.paid.add(key)
            return len(self.paid) if fresh else 0

    def kill_a_worker(self) -> None:
        """The one that has the job; another one is started in its place."""
        with self.lock:
            while (pid := holder()) is None or pid in self.killed:
                time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)
            self.workers.append(start_worker(self.url))

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        for worker in self.workers:
            worker.communicate()


class Desk(BaseHTTPRequestHandler):
    server: Provider

    def handle(self) -> None:
        with suppress(ConnectionError):  # the caller may be dead
            super().handle()

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        asked = self.rfile.read(length)
        if len(asked) < length:  # it died while it asked
            return
        prompt = json.loads(asked)
        payment = self.server.charge(self.headers["Idempotency-Key"])
        kill = 0 < payment <= KILLS
        if kill and payment % 2:
            self.server.kill_a_worker()
        with suppress(ConnectionError):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(f"answer to {prompt!r}").encode())
            self.wfile.flush()
        if kill and not payment % 2:
            self.server.kill_a_worker()

    def log_message(self, format: str, *args: object) -> None:
        pass


def holder() -> int | None:
    """The process of the worker that runs a job now, and has beaten since its start."""
    beating = [worker for worker in app.workers() if worker.seen_at - worker.started_at > timedelta(milliseconds=50)]
    return next((worker.pid for worker in beating if worker.running), None)


def start_worker(provider: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "work"]
    return subprocess.Popen(command, env={**os.environ, "PROVIDER": provider}, stdin=subprocess.PIPE)


async def work() -> None:
    async with app, app.worker():
        await asyncio.to_thread(sys.stdin.read)  # until whoever started it is gone, or closes it


def main() -> None:
    job = report.submit("lanes", chapters=10)
    provider = Provider()
    try:
        print(job.result(timeout=120))
    finally:
        provider.close()
    print(f"{len(provider.killed)} workers were killed, {job.info().attempt} attempts made")
    print(f"{len(app.steps(job.id))} steps, {len(provider.paid)} payments; the provider was called {provider.calls} times")
    app.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        asyncio.run(work())
    else:
        main()

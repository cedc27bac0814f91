"""A provider that says 429: its rate is paused for everybody, the jobs wait for that, and no try is used."""

import asyncio
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lanework import Context, Lanework, Retryable

app = Lanework()
answers = iter([429, 200])


class Provider(BaseHTTPRequestHandler):
    """Too busy for the first call."""

    def do_GET(self) -> None:
        self.send_response(next(answers))
        self.send_header("Retry-After", "1")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Not here."""


@app.job(rate="provider", executor="thread", max_tries=1)
def call(ctx: Context, port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}") as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        raise Retryable("slow down", error_class="throttled", retry_after=float(error.headers["Retry-After"])) from None


async def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        await work(server.server_port)
        server.shutdown()


async def work(port: int) -> None:
    async with app, app.worker():
        handle = await call.asubmit(port)
        print("status", await handle.aresult(timeout=30))
        info = await app.aget(handle.id)
        print("attempts", info.attempt, "tries", info.tries_used)


if __name__ == "__main__":
    asyncio.run(main())

"""Effects outside the database: a service that takes idempotency keys and refuses lower fences.

`ctx.idempotency_key` is the same in every attempt of a job: the service carries a call out once. `ctx.fence` rises with every
claim, over all jobs: a caller that was thought dead and comes back has a lower one than its successor, and is refused.
"""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from lanework import Context, Lanework

app = Lanework()
URL = ""


class Shelf(ThreadingHTTPServer):
    """Somebody else's service: named documents, each with the highest fence that has written it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.lock = threading.Lock()
        self.answers: dict[str, tuple[int, object]] = {}
        self.documents: dict[str, tuple[int, str]] = {}
        self.writes = 0

    def put(self, name: str, text: str, key: str, fence: int) -> tuple[int, object]:
        with self.lock:
            seen, _ = self.documents.get(name, (0, ""))
            if fence < seen:
                return 409, f"fence {fence} is below {seen}: another caller owns this document now"
            self.documents[name] = (fence, self.documents.get(name, (0, text))[1])
            if key not in self.answers:
                self.writes += 1
                self.documents[name] = (fence, text)
                self.answers[key] = (200, f"version {self.writes}")
            return self.answers[key]


class Desk(BaseHTTPRequestHandler):
    server: Shelf

    def do_PUT(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        key, fence = self.headers["Idempotency-Key"], int(self.headers["Fence"])
        status, answer = self.server.put(self.path, text, key, fence)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def put(name: str, text: str, key: str, fence: int) -> str:
    request = Request(f"{URL}/{name}", text.encode(), {"Idempotency-Key": key, "Fence": str(fence)}, method="PUT")
    with urlopen(request, timeout=10) as response:
        return str(json.load(response))


@app.job(max_tries=3, backoff_base=0.05)
def publish(ctx: Context, name: str, text: str) -> dict[str, int | str]:
    version = put(name, text, ctx.idempotency_key("put"), ctx.fence)
    if ctx.attempt == 1:
        raise ConnectionError("the answer was lost on the way")  # carried out, but the job does not know it
    return {"version": version, "fence": ctx.fence}


async def main() -> None:
    global URL  # noqa: PLW0603 - known when the service has its port
    with Shelf() as shelf:
        URL = f"http://127.0.0.1:{shelf.server_port}"
        threading.Thread(target=shelf.serve_forever, daemon=True).start()
        async with app, app.worker():
            job = await publish.asubmit("report", "first text")
            answer = await job.aresult(timeout=60)
            print(f"{answer['version']}, {shelf.writes} write in {(await job.ainfo()).attempt} attempts")
            try:  # a zombie of an earlier claim wakes up and writes
                await asyncio.to_thread(put, "report", "old text", "another key", int(answer["fence"]) - 1)
            except HTTPError as error:
                print(f"{error.code}: a lower fence is refused; the document is still {shelf.documents['/report'][1]!r}")
                error.close()
        shelf.shutdown()


if __name__ == "__main__":
    asyncio.run(main())

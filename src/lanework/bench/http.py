"""The HTTP application in a process of its own, and wrk that asks it."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 30.0


def more_files(count: int = 20_000) -> int:
    """Raises the limit of open files as far as it is allowed and wanted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@dataclass(frozen=True, slots=True)
class Api:
    process: subprocess.Popen[bytes]
    port: int

    def rss_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving(dsn: str) -> Iterator[Api]:
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(4096)
        fd = listening.fileno()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "lanework.bench.api", str(fd)], pass_fds=[fd], env={**os.environ, "LANEWORK_DSN": dsn}
        )
        api = Api(process, listening.getsockname()[1])
    try:
        _wait_until_it_answers(api)
        yield api
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(api: Api) -> None:
    connection = HTTPConnection("127.0.0.1", api.port, timeout=PATIENCE)
    connection.request("GET", "/health/live")
    if connection.getresponse().status != 200:
        raise RuntimeError("the HTTP process does not answer")
    connection.close()


# -- wrk


@dataclass(frozen=True, slots=True)
class Wrk:
    per_s: float
    p50_ms: float
    p95_ms: float
    errors: int


SCRIPT = """
{setup}
done = function(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("figures %f %f %f %d\\n", summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(95) / 1000, bad))
end
"""
POST = """
wrk.method = "POST"
wrk.body = '{"type": "noop", "args": {"i": 1}}'
wrk.headers["Content-Type"] = "application/json"
"""


def missing(*, wrk: bool) -> str | None:
    """Why it cannot be measured here."""
    if gone := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        return f"{' and '.join(gone)} not installed (pip install 'lanework[kg]')"
    return "wrk is not installed (on Debian: apt install wrk)" if wrk and shutil.which("wrk") is None else None


def wrk(url: str, seconds: float, folder: str, setup: str = "", connections: int = 8) -> Wrk:
    script = Path(folder) / "figures.lua"
    script.write_text(SCRIPT.replace("{setup}", setup))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(int(seconds), 1)}s", "-s", str(script), url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    line = next(line for line in output.splitlines() if line.startswith("figures "))
    _, per_s, p50, p95, errors = line.split()
    return Wrk(float(per_s), float(p50), float(p95), int(errors))

"""`kg` as its users start it: real processes, on a data folder or a database of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 120
#: A module that `KG_IMPORTS` names.
JOBS = """
import os
from kg.app import work
from lanework import Context

@work.job(lane="interactive")
async def add(ctx: Context, a: int, b: int = 2) -> int:
    return a + b

@work.job(lane="interactive")
async def fail(ctx: Context, secret: str = "") -> None:
    raise RuntimeError("it did not work")

if "HOUSE_WEBHOOK" in os.environ:
    work.webhook("http://127.0.0.1:9/", secret=os.environ["HOUSE_WEBHOOK"], every=0)
"""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def raw(port: int, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
    """A request as bare bytes: no Content-Type but what is given. `curl -d` says it is a form."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    data = (body or "").encode()
    if body is not None:
        lines.append(f"Content-Length: {len(data)}")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as conn:
        conn.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        got = b""
        while part := conn.recv(65536):
            got += part
    head, _, rest = got.partition(b"\r\n\r\n")
    if not head:
        raise ConnectionError("no answer")
    first, *others = head.decode().split("\r\n")
    found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in others)}
    return Answer(int(first.split()[1]), found, rest)


def until(done: Callable[[], Any], what: str, seconds: float = LIMIT_S) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if found := done():
                return found
        except OSError:
            pass
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@dataclass
class Kg:
    """A started `kg up` or `kg serve`."""

    process: subprocess.Popen[bytes]
    folder: Path
    port: int
    log_file: Path

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def link(self) -> str:
        found = re.search(r"/login/(\S+)", self.log)
        assert found, self.log
        return found[1]

    @property
    def token(self) -> str:
        return str(json.loads((self.folder / "kg.json").read_text())["token"])

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        return raw(self.port, method, path, body, Authorization=f"Bearer {self.token}", **headers)

    def family(self) -> list[int]:
        """The processes that were started with this very folder: the variable has to be exactly its path, which is new and random
        for each test. Nothing else may be taken for ours: what is found here is killed at the end."""
        ours = f"LANEWORK_DATA={self.folder}"
        return [pid for pid in _pids() if pid != os.getpid() and ours in _environment(pid)]

    def like(self, words: str) -> list[int]:
        return [pid for pid in self.family() if words in _command(pid)]

    def commands(self) -> list[str]:
        return [_command(pid) for pid in self.family()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _environment(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0") if _state(pid) != "Z" else []
    except OSError:
        return []


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def environment(folder: Path, **more: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("KG_", "LANEWORK_"))}
    return {
        **ours, "LANEWORK_DATA": str(folder), "LANEWORK_ALLOW_UNSAFE": "1", "KG_IMPORTS": "house_jobs", "KG_PROCESSES": "1",
        "PYTHONUNBUFFERED": "1", **more,
    }  # fmt: skip


def run(folder: Path, *words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "kg", *words], cwd=folder.parent, env=environment(folder, **more), input=stdin, capture_output=True,
        text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@contextmanager
def started(folder: Path, *words: str, ready: bool = True, **more: str) -> Iterator[Kg]:
    """Runs it on a port of its own until the block ends; whatever of it is left then is killed."""
    (folder.parent / "house_jobs.py").write_text(JOBS)
    log = folder.parent / f"{words[0]}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "kg", *words, "--port", "0"], cwd=folder.parent, env=environment(folder, **more),
            stdout=out, stderr=out,
        )  # fmt: skip
    kg = Kg(process, folder, 0, log)
    try:
        if ready:
            found = until(lambda: re.search(r"ready: http://127\.0\.0\.1:(\d+)", kg.log) or process.poll() is not None, "ready")
            assert process.poll() is None, kg.log
            kg.port = int(found[1])
        yield kg
    finally:
        for pid in [process.pid, *kg.family()]:
            if process.poll() is None or pid != process.pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        process.wait()

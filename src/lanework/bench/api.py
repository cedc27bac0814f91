"""`python -m lanework.bench.api FD`: our routes over HTTP, and a bare one beside them.

The bare route does what an application does at least: one query on a connection that is there, one answer in JSON.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

from fastapi import FastAPI

from lanework._store.verb import Verb
from lanework.api import Routes, install, make_router, open_gate
from lanework.api.server import Server, make_config
from lanework.bench.app import app as work
from lanework.bench.http import more_files

ONE = b"select id, type, status from lanework.all_jobs where id = %(id)s"


async def bare(job_id: int) -> dict[str, Any]:
    found = await work._arun(Verb(ONE, {"id": job_id}, lambda rows: rows[0]))
    return {"id": found[0], "type": found[1], "status": found[2]}


def make_api() -> FastAPI:
    api = FastAPI(openapi_url=None)
    api.include_router(make_router(work, gate=open_gate, topics=["bench"]))
    routes = Routes(open_gate)
    routes.add("GET", "/bare/{job_id}", bare, needs=None, because="for comparison")
    api.include_router(routes.router)
    install(api)
    return api


def main(fd: int) -> None:
    more_files()
    with socket.socket(fileno=fd) as listening:
        Server(make_config(make_api(), backlog=4096)).run(sockets=[listening])


if __name__ == "__main__":
    main(int(sys.argv[1]))

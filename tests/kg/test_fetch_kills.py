"""A worker that is killed while it fetches a document's address: the address is asked again, and nothing is there twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kg.documents.document import New
from tests.kg import provider
from tests.kg.fetch_plants import PLANTS
from tests.kg.killing import Place
from tests.kg.processes import until
from tests.sql.engine import Engine, connect
from tests.sql.proof import planted

pytestmark = pytest.mark.processes
TEXT = "Ada Byron wrote to Charles Babbage. Charles Babbage lived in London."


class Web(ThreadingHTTPServer):
    """Sends half of a page to whoever asks first, and no more until that one is gone; all of it to those who ask later."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.asked = 0
        self.halfway, self.go_on = threading.Event(), threading.Event()
        self.host = f"127.0.0.1:{self.server_address[1]}"


class Page(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        self.server.asked += 1
        data = TEXT.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.server.asked == 1:
            self.wfile.write(data[:20])
            self.server.halfway.set()
            self.server.go_on.wait(300)
            return
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def web() -> Iterator[Web]:
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            server.shutdown()
            thread.join()


JOBS = (
    "select t.name, j.status::text, j.attempt, j.tries_used from lanework.all_jobs j join lanework.job_types t on t.id = j.type_id"
    " where t.name ~ '^ingestion' order by 1"
)


ENDED = "select status from kg.document_states where status in ('completed', 'failed', 'cancelled')"


def test_a_worker_that_is_killed_while_it_fetches(database: str, tmp_path: Path) -> None:
    _kill(database, tmp_path)


def _kill(dsn: str, folder: Path, **env: str) -> None:
    with provider.started() as models, web() as server:
        place = Place(dsn, models, folder)
        with place.conn, place.work, place.worker(KG_FETCH_ALLOW=server.host, **env):
            place.accept(New(b"", name="", url=f"http://{server.host}/letters.txt", ontology="letters", owner="ada"))
            until(server.halfway.is_set, "the address to be asked")
            assert place.rows("select processing_status, stage, size from kg.documents") == [("estimating", "fetch", 0)]
            os.kill(place.worker_pid(), signal.SIGKILL)
            assert until(lambda: place.rows(ENDED), "the document") == [("completed",)]
            assert server.asked == 2
            # what the worker had was given back: no try was used for it, and it was taken once more
            assert place.rows(JOBS) == [("ingestion", "completed", 1, 0), ("ingestion:estimate", "completed", 2, 0)]
            stored = "select name, size, version, chunks, chunks_done, convert_from(data, 'UTF8') from kg.documents d"
            assert place.rows(f"{stored} join kg.blobs b on b.hash = d.text_hash") == [("letters.txt", len(TEXT), 1, 1, 1, TEXT)]
            assert place.one("select count(*) from kg.blobs") == 1
            assert place.answers("letters")["extract"] == models.counts().paths["/v1/chat/completions"] == 1  # it was read once
            assert place.one("select count(*) from kg.sources") == 1


@pytest.mark.chaos
@pytest.mark.parametrize("bug", PLANTS)
def test_a_planted_bug_is_noticed(database: str, tmp_path: Path, bug: str) -> None:
    with pytest.raises(AssertionError) as red:
        _kill(database, tmp_path, KG_IMPORTS="tests.kg.fetch_plants", FETCH_PLANT=bug)
    print(bug, "→", red.value, (tmp_path / "worker.log").read_text()[-2000:])


@pytest.mark.chaos
def test_a_try_that_is_used_for_a_kill_is_noticed(database: str, tmp_path: Path) -> None:
    with connect(database) as conn, planted(Engine(conn), "give_back", "'uses_try', false", "'uses_try', true"):
        with pytest.raises(AssertionError) as red:
            _kill(database, tmp_path)
        print(red.value)

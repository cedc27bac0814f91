"""`site`: a database with history and oracles, and the means to start real processes on it. All are gone after the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes.harness import Site
from tests.sql.proof import complaints, instrumented


@pytest.fixture
def site(database: str, tmp_path: Path) -> Iterator[Site]:
    sql = instrumented(database)
    with sql.db, closing(Site(database, tmp_path, sql)) as site:
        yield site
        print(site.logs())
        if site.judged:
            # whatever a test does to the processes, the engine keeps its promises
            assert complaints(sql) == []

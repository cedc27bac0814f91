"""`house`: one database and one worker in this process, for the whole package. `site`: real worker processes, to kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.inside import app as code
from tests.inside.house import House, Inside
from tests.servers import Databases
from tests.sql.engine import Engine, connect
from tests.sql.proof import complaints, instrumented

LEGAL = """insert into proof.legal values
    (null, 'blocked'), ('blocked', 'approved'), ('blocked', 'scheduled'), ('blocked', 'cancelled'), ('blocked', 'failed'),
    ('running', 'blocked')"""


@pytest.fixture(scope="package")
def _house(_fleet: Callable[[int], Databases], pg_major: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    with pytest.MonkeyPatch.context() as patch, _fleet(pg_major).with_schema() as dsn, connect(dsn) as db:
        patch.setenv(code.FOLDER, str(folder))
        patch.setenv("LANEWORK_DSN", dsn)  # for the child processes, which load the application again
        with closing(House(dsn, folder, Engine(db))) as house:
            yield house


@pytest.fixture
def house(_house: House) -> House:
    return _house


@pytest.fixture
def site(database: str, tmp_path: Path) -> Iterator[Inside]:
    sql = instrumented(database)
    sql.db.execute(LEGAL)
    with sql.db, closing(Inside(database, tmp_path, sql)) as site:
        yield site
        print(site.logs())
        assert not site.judged or complaints(sql) == []  # whatever a test does to the processes, the engine keeps its promises

"""Migrations: each file once, by one process, in order; and clear words when something is not as it was."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from lanework import migrate
from lanework.errors import MigrationDrift, SchemaError

Write = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Write:
    """`folder(first="create …", second="…")` writes 0001_first.sql, 0002_second.sql, …"""

    def write(**texts: str) -> Path:
        for number, (name, text) in enumerate(texts.items(), 1):
            (tmp_path / f"{number:04}_{name}.sql").write_text(text)
        return tmp_path

    return write


def connect(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(dsn, autocommit=True)


def test_files_are_applied_in_order_once_and_recorded(empty_database: str, folder: Write) -> None:
    place = folder(one="create table s.t (a int)", two="alter table s.t add b int; insert into s.t values (1, 2);")
    with connect(empty_database) as connection:
        assert not migrate.is_current(connection, schema="s", folder=place)
        assert [it.file for it in migrate.plan(connection, schema="s", folder=place)] == [
            "0001_one.sql",
            "0002_two.sql",
        ]
        assert [it.file for it in migrate.apply(connection, schema="s", folder=place)] == [
            "0001_one.sql",
            "0002_two.sql",
        ]
        assert migrate.is_current(connection, schema="s", folder=place)
        assert migrate.apply(connection, schema="s", folder=place) == []
        assert connection.execute("select * from s.t").fetchall() == [(1, 2)]
        rows = connection.execute("select number, name, applied_at <= now(), applied_by from s.migrations").fetchall()
    assert [row[:3] for row in rows] == [(1, "one", True), (2, "two", True)]
    assert all(row[3] for row in rows)


def test_a_plan_changes_nothing(empty_database: str, folder: Write) -> None:
    with connect(empty_database) as connection:
        migrate.plan(connection, schema="s", folder=folder(one="select 1"))
        assert connection.execute("select 1 from pg_namespace where nspname = 's'").fetchone() is None


def test_two_schemas_keep_their_own_books(empty_database: str, folder: Write) -> None:
    place = folder(one="select 1")
    with connect(empty_database) as connection:
        migrate.apply(connection, schema="a", folder=place)
        assert not migrate.is_current(connection, schema="b", folder=place)
        assert len(migrate.apply(connection, schema="b", folder=place)) == 1


def test_a_failing_file_leaves_nothing_and_keeps_what_came_before(empty_database: str, folder: Write) -> None:
    place = folder(one="create table s.t (a int)", two="create table s.u (a int); select 1/0;", three="select 1")
    with connect(empty_database) as connection:
        with pytest.raises(SchemaError, match=r"0002_two\.sql failed: division by zero"):
            migrate.apply(connection, schema="s", folder=place)
        assert connection.execute("select to_regclass('s.t') is null, to_regclass('s.u') is null").fetchone() == (
            False,
            True,
        )
        (place / "0002_two.sql").write_text("create table s.u (a int)")
        assert [it.number for it in migrate.apply(connection, schema="s", folder=place)] == [2, 3]


def test_an_edited_file_is_named(empty_database: str, folder: Write) -> None:
    with connect(empty_database) as connection:
        migrate.apply(connection, schema="s", folder=folder(one="select 1", two="select 2"))
        place = folder(one="select 1", two="select 22")
        assert not migrate.is_current(connection, schema="s", folder=place)
        with pytest.raises(MigrationDrift, match=r"0002_two\.sql is not what was applied"):
            migrate.apply(connection, schema="s", folder=place)


def test_a_newer_database_is_refused(empty_database: str, folder: Write) -> None:
    with connect(empty_database) as connection:
        place = folder(one="select 1", two="select 2")
        migrate.apply(connection, schema="s", folder=place)
        (place / "0002_two.sql").unlink()
        assert not migrate.is_current(connection, schema="s", folder=place)
        with pytest.raises(SchemaError, match="newer than this code: schema s has 0002_two"):
            migrate.apply(connection, schema="s", folder=place)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["0001_a.sql", "0003_b.sql"], "0003_b.sql .* comes where 0002 should be"),
        (["0002_a.sql"], "0002_a.sql .* comes where 0001 should be"),
        (["0001_a.sql", "0001_b.sql"], "is there twice"),
        (["0001_a.sql", "2_b.sql"], "2_b.sql is not the name of a migration"),
    ],
)
def test_gaps_doubles_and_odd_names_are_refused(tmp_path: Path, names: list[str], words: str) -> None:
    for name in names:
        (tmp_path / name).write_text("select 1")
    with pytest.raises(SchemaError, match=words):
        migrate.load(tmp_path)


def test_a_connection_in_a_transaction_is_refused(empty_database: str, folder: Write) -> None:
    place = folder(one="select 1")
    with psycopg.connect(empty_database) as connection, pytest.raises(SchemaError, match="autocommit"):
        migrate.apply(connection, schema="s", folder=place)


def test_the_rendered_script_brings_a_database_up_to_date(empty_database: str, folder: Write) -> None:
    place = folder(one="create table s.t (a text default '%s')", two="-- no transaction\ncreate index concurrently on s.t (a)")
    script = migrate.render(place, schema="s")
    with connect(empty_database) as connection:
        _as_psql(connection, script)
        assert migrate.is_current(connection, schema="s", folder=place)
        assert migrate.apply(connection, schema="s", folder=place) == []


def _as_psql(connection: psycopg.Connection[tuple[object, ...]], script: str) -> None:
    for statement in script.split(";\n"):
        connection.execute(statement.encode())


def test_no_lock_and_no_transaction_stays_behind(empty_database: str, folder: Write) -> None:
    with connect(empty_database) as connection:
        migrate.apply(connection, schema="s", folder=folder(one="select 1", two="-- no transaction\nvacuum"))
        assert connection.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone() == (0,)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.direct("it sets limits per session")
def test_ten_at_once_apply_each_file_once(empty_database: str, folder: Write) -> None:
    # Every file fails if it runs twice. The index waits for every snapshot in the database: one that waited for the
    # lock inside a statement would wait for the index, and the index for it.
    place = folder(
        one="create table s.t (a int); insert into s.t values (1); select pg_sleep(0.05);",
        two="-- no transaction\ncreate index concurrently t_a on s.t (a)",
        three="create table s.u (a int)",
    )
    ready = threading.Barrier(10)

    def migrator(_: int) -> list[int]:
        with psycopg.connect(empty_database, autocommit=True, options="-c statement_timeout=20s") as connection:
            ready.wait()
            return [it.number for it in migrate.apply(connection, schema="s", folder=place)]

    with ThreadPoolExecutor(10) as pool:
        applied = [number for numbers in pool.map(migrator, range(10)) for number in numbers]
    assert sorted(applied) == [1, 2, 3]
    with connect(empty_database) as connection:
        assert connection.execute("select count(*) from s.t").fetchone() == (1,)


@pytest.mark.processes
def test_ten_processes_at_once(empty_database: str, folder: Write) -> None:
    place = folder(one="create table s.t (a int); select pg_sleep(0.05)", two="create table s.u (a int)")
    program = (
        "import sys, pathlib, psycopg\nfrom lanework import migrate\n"
        "connection = psycopg.connect(sys.argv[1], autocommit=True); print('ready', flush=True); sys.stdin.readline()\n"
        "print(len(migrate.apply(connection, schema='s', folder=pathlib.Path(sys.argv[2]))))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, empty_database, str(place)]
    crowd = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(10)]
    for process in crowd:
        assert process.stdout is not None
        process.stdout.readline()
    applied = [process.communicate("go\n", timeout=60)[0] for process in crowd[::-1]]
    assert sum(map(int, applied)) == 2
    assert [process.returncode for process in crowd] == [0] * 10


@pytest.mark.direct("it sets limits per session")
def test_the_limits_of_a_session_do_not_end_a_migration(empty_database: str, folder: Write) -> None:
    with psycopg.connect(empty_database, autocommit=True, options="-c statement_timeout=50ms") as connection:
        assert migrate.apply(connection, schema="s", folder=folder(one="select pg_sleep(0.2)"))


def test_the_engines_own_migrations_are_applied(database: str) -> None:
    with connect(database) as connection:
        assert migrate.is_current(connection)
        assert migrate.load()

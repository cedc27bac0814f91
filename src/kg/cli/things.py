"""What `kg ingest` is given: files, folders, addresses, stdin."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kg.cli.remote import ask
from kg.documents.parsers import suffixes
from kg.documents.walking import called, spelled, walk
from kg.errors import TooMany
from lanework.cli.text import safe
from lanework.errors import ConfigError

_ADDRESSES = ("http://", "https://")
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_UPLOAD_S = 300.0


@dataclass(frozen=True)
class Thing:
    """One document to be: a file, an address that the server fetches it from, or `data`."""

    name: str
    path: Path | None = None
    url: str | None = None
    data: bytes = field(default=b"", repr=False)

    def send(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        while True:
            try:
                with self._request(fields) as request:
                    found: dict[str, Any] = ask("POST", "/ingest", timeout=_UPLOAD_S, **request)
                return found
            except TooMany as error:  # as fast as the server lets us
                time.sleep(error.retry_after)
            except OSError as error:
                raise ConfigError(f"it cannot be read: {(error.strerror or str(error)).lower()}") from None

    @contextmanager
    def _request(self, fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if self.url is not None:
            yield {"json": {**fields, "url": self.url}}
            return
        key = {} if self.path is None else {"key": f"file:{spelled(self.path)}"[:2000]}
        form = {name: str(value).lower() if isinstance(value, bool) else value for name, value in {**fields, **key}.items()}
        if self.path is None:
            yield {"files": {"file": (self.name, self.data)}, "data": form}
            return
        with self.path.open("rb") as file:  # sent as it is read: however large it is, the server says whether it takes it
            yield {"files": {"file": (self.name, file)}, "data": form}


def things(words: Sequence[str]) -> list[Thing]:
    if words.count("-") > 1:
        raise ConfigError("stdin can be read once: give - one time")
    found = [thing for word in words for thing in _of(word)]
    if not found:
        endings = ", ".join(sorted(suffixes()))
        raise ConfigError(f"there is nothing to read in {', '.join(words)}; of a folder, what ends with {endings}")
    return found


def _of(word: str) -> Iterator[Thing]:
    if word == "-":
        yield Thing("stdin", data=sys.stdin.buffer.read())
    elif word.lower().startswith(_ADDRESSES):
        yield Thing(word, url=word)
    elif _ADDRESS.match(word) and not Path(word).exists():
        raise ConfigError(f"of addresses http and https are fetched, not {word!r}")
    else:
        yield from _files(Path(word))


def _files(path: Path) -> Iterator[Thing]:
    """A file as it is named; of a folder what `walk` finds in it, and on stderr what it leaves out."""
    if not path.exists():
        raise ConfigError(f"there is no file or folder {spelled(path)!r}")
    if not path.is_dir():
        yield Thing(called(path), path.resolve())
        return
    for one in walk(path, remark=lambda words: print(f"kg: {safe(words)}", file=sys.stderr)):
        yield Thing(called(one), one.resolve())

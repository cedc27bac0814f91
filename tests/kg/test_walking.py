"""Folders, and the loader for other code."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kg.adapters.loader import KgLoader
from kg.documents.walking import spelled, walk
from kg.errors import Unreadable, Unsupported
from tests.kg import files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    outside = tmp_path / "secret.txt"
    outside.write_text("outside")
    for name in (
        "b.md",
        "a.TXT",
        "sub/c.html",
        "sub/deep/d.txt",
        ".hidden.txt",
        ".git/x.txt",
        "node_modules/y.md",
        "z.bin",
        "README",
    ):
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    (made / "out.txt").symlink_to(outside)
    (made / "within.md").symlink_to(made / "b.md")
    (made / "nowhere.txt").symlink_to(made / "no such file")
    (made / "ring.txt").symlink_to(made / "ring.txt")
    (made / "parent").symlink_to(tmp_path)
    (made / "again").symlink_to(made / "sub")
    os.mkfifo(made / "pipe.txt")
    return made


def test_a_folder(folder: Path) -> None:
    assert [str(path.relative_to(folder)) for path in walk(folder)] == ["a.TXT", "b.md", "sub/c.html", "sub/deep/d.txt"]


def test_what_is_left_out_is_told(folder: Path) -> None:
    told: list[str] = []
    list(walk(folder, remark=told.append))
    assert [line.removeprefix(f"{folder}/").partition(" is left out: ")[::2] for line in told] == [
        ("nowhere.txt", "it is a link that leads nowhere (no such file or directory)"),
        ("out.txt", "it is a link that leads out of the folder"),
        ("pipe.txt", "it is no file"),
        ("ring.txt", told[3].rpartition(": ")[2]),
    ]
    assert "link" in told[3]


def test_links_that_go_in_rings(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x.txt").write_text("x")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "one.txt").symlink_to(tmp_path / "a" / "two.txt")
    (tmp_path / "a" / "two.txt").symlink_to(tmp_path / "a" / "one.txt")
    assert [path.name for path in walk(tmp_path)] == ["x.txt"]


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.txt").write_text("x")
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    told: list[str] = []
    assert [path.name for path in walk(tmp_path, remark=told.append)] == ["a.txt"]
    assert told == [f"the folder {tmp_path}/locked cannot be read: permission denied"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems have no such names")
def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    for name in (b"na\xefve.txt", b"\xff.md"):
        (place / os.fsdecode(name)).write_bytes(b"text")
    assert [spelled(path.relative_to(tmp_path)) for path in walk(tmp_path)] == [r"caf\xe9/na\xefve.txt", r"caf\xe9/\xff.md"]
    found = KgLoader(tmp_path).load()
    assert [one.page_content for one in found] == ["text", "text"]
    assert found[0].metadata["source"] == rf"{tmp_path}/caf\xe9/na\xefve.txt"


def test_a_folder_that_is_a_link_itself(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert [path.name for path in walk(tmp_path / "link")] == ["a.TXT", "b.md", "c.html", "d.txt"]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(walk(tmp_path / "nothing"))


def test_the_loader(folder: Path) -> None:
    found = KgLoader(folder).load()
    assert [one.page_content for one in found] == ["text of a.TXT", "text of b.md", "text of sub/c.html", "text of sub/deep/d.txt"]
    assert found[1].metadata == {"source": str(folder / "b.md"), "title": "", "media_type": "text/markdown"}


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(files.pdf(["One", ""], title="Report"))
    [found] = asyncio.run(KgLoader().aload(str(path)))
    assert found.page_content == "One"
    assert found.metadata == {
        "source": str(path), "title": "Report", "media_type": "application/pdf", "pages": 2,
        "warnings": ["1 of 2 pages have no text (scanned?): 2"],
    }  # fmt: skip
    assert next(KgLoader(path).lazy_load()) == found


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no PDF")
    (tmp_path / "b.txt").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"good")
    with pytest.raises(Unsupported):
        KgLoader(tmp_path).load()
    loader = KgLoader(tmp_path, skip_errors=True)
    assert [one.page_content for one in loader.load()] == ["good"]
    assert [type(error) for error in loader.errors.values()] == [Unsupported, Unreadable]
    with pytest.raises(ValueError, match="what to load"):
        KgLoader().load()

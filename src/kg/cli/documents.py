"""Documents as tables show them, for the commands that ask the server about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanework.cli.output import Column

Record = Mapping[str, Any]
FINAL = ("completed", "partial", "failed", "cancelled", "duplicate")
COLOURS = {
    "completed": "green", "partial": "yellow", "failed": "red", "cancelled": "yellow", "processing": "cyan",
    "awaiting_approval": "yellow",
}  # fmt: skip


def chunks(document: Record) -> str:
    failed = f", {document['chunks_failed']} failed" if document["chunks_failed"] else ""
    return f"{document['chunks_done']}/{document['chunks']}{failed}" if document["chunks"] else ""


def state(document: Record) -> str:
    status: str = document["processing_status"].replace("_", " ")
    if document["processing_status"] == "duplicate" and document["duplicate_of"] is not None:
        return f"duplicate of {document['duplicate_of']}"
    return f"{status}: {document['stage']}" if document["stage"] and document["processing_status"] not in FINAL else status


def size(bytes: int) -> str:
    return f"{bytes / 1_048_576:.1f} MB" if bytes >= 1_048_576 else f"{bytes / 1024:.0f} KB" if bytes >= 10_240 else f"{bytes} B"


COLUMNS: list[Column[Record]] = [
    Column("ID", lambda it: it["id"], right=True),
    Column("ONTOLOGY", lambda it: it["ontology"], flexible=True),
    Column("NAME", lambda it: it["name"], flexible=True),
    Column("SIZE", lambda it: size(it["size"]), right=True),
    Column("STATUS", state, flexible=True, colour=lambda it: COLOURS.get(it["processing_status"], "")),
    Column("CHUNKS", chunks, right=True),
    Column("OWNER", lambda it: it["owner"], flexible=True),
]

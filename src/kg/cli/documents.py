"""Documents as tables show them, for the commands that ask the server about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanework.cli.output import Column

Record = Mapping[str, Any]
COLOURS = {
    "completed": "green", "partial": "yellow", "failed": "red", "cancelled": "yellow", "processing": "cyan",
    "awaiting_approval": "yellow",
}  # fmt: skip


def chunks(document: Record) -> str:
    total, done = document["chunks"], document["chunks_done"]
    failed = f", {document['chunks_failed']} failed" if document["chunks_failed"] else ""
    return f"{done}/{total}{failed}" if total else ""


def outcome(document: Record) -> str:
    """What became of it, in a word or two."""
    same = document.get("duplicate_of")
    return f"{chunks(document) or '0'} chunks" if same is None else f"of document {same}"


def progress(document: Record) -> float:
    part: float = document["chunks_done"] / document["chunks"] if document["chunks"] else 0.0
    return part


def state(document: Record) -> str:
    """What is done with it now, or what it waits for."""
    status, stage = str(document["processing_status"]), str(document["stage"])
    if status == "duplicate" and document.get("duplicate_of") is not None:
        return f"duplicate of {document['duplicate_of']}"
    told = stage if status == "processing" or stage.startswith("waits") else ""
    return f"{status.replace('_', ' ')}: {told}" if told else status.replace("_", " ")


def warnings(document: Record) -> list[str]:
    """What was doubtful when it was read."""
    found: list[str] = document["provenance"].get("warnings", [])
    return found


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

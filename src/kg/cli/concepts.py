"""A concept as people name it: by its id, or by words that find it."""

from __future__ import annotations

from kg.cli.remote import ask
from kg.errors import AccessNotFound
from lanework.cli.output import say
from lanework.cli.text import safe


def concept_id(text: str) -> int:
    """Says which one words were taken for."""
    if text.isdecimal():
        return int(text)
    found = ask("POST", "/query/search", json={"query": text, "limit": 1})["concepts"]
    if not found:
        raise AccessNotFound(f"no concept is found by {text!r}")
    say(safe(f"{text!r} is taken for {found[0]['id']} ({found[0]['label']}, {found[0]['ontology']})"))
    return int(found[0]["id"])


def end_of(text: str) -> int | str:
    return int(text) if text.isdecimal() else text

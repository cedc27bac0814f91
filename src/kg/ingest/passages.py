"""A chunk's passages: what an embedding model can really see of it."""

from __future__ import annotations

from kg.ingest import seams

LONGEST = 950


def passages(text: str, start: int = 0, *, longest: int = LONGEST) -> list[tuple[int, int, str]]:
    """(start, finish, text) of each, in characters of the document in which `text` begins at `start`. Cut at paragraphs
    and sentences where they are; space at the edges belongs to none."""
    found: list[tuple[int, int, str]] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        while place < end and text[place].isspace():
            place += 1
        finish = end if end - place <= longest else seams.last(text, place + longest // 2, place + longest)
        said = text[place:finish].rstrip()
        if said:
            found.append((start + place, start + place + len(said), said))
        place = finish
    return found

"""What a name is found by, and what it looks for. Two names meet if one looks for what the other is found by; it is the same from
either side, so it does not matter who came first."""

from __future__ import annotations

from collections.abc import Iterable

from kg.graph.likeness import Named, acronyms


def keys(named: Named) -> list[str]:
    """Forms are in small letters, so a capital in front tells the kinds apart: `A:` an acronym that could be made of it, `S:` and
    `T:` how it is spelled without spaces and without order."""
    return sorted({named.form, *named.aliases, *(f"A:{one}" for one in acronyms(named.label)), *_spellings(named.form)})


def probes(named: Named) -> list[str]:
    called = {named.form, *named.aliases}
    return sorted({*called, *(f"A:{one}" for one in called), *acronyms(named.label), *_spellings(named.form)})


def aliases(found_by: Iterable[str], form: str) -> frozenset[str]:
    """Back from the keys of a name to what else it is called."""
    return frozenset(key for key in found_by if key != form and not (key[1:2] == ":" and key[0].isupper()))


def _spellings(form: str) -> set[str]:
    words = [word.rstrip("s") or word for word in form.split()]
    return {f"S:{''.join(words)}", f"T:{' '.join(sorted(words))}"}

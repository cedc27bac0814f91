"""What a name is found by, and what it looks for. Two names meet if one looks for what the other is found by; it is the same from
either side, so it does not matter who came first. No key is shared by many names that are not alike: `A System` and `B System` do
not meet, but each meets `System`."""

from __future__ import annotations

from collections.abc import Iterable

from kg.graph.likeness import Named, acronyms

#: Types whose names may be initials: J. Smith.
_PEOPLE = ("", "person")
MOST_WORDS = 8


def keys(named: Named) -> list[str]:
    """Forms are in small letters, so a capital in front tells the kinds apart: `A:` an acronym that could be made of it, `C:` a
    beginning or an end of it; `S:`, `T:` and `P:` how it is spelled without spaces, without order, with an initial."""
    return sorted(
        {
            named.form,
            *named.aliases,
            *(f"A:{one}" for one in acronyms(named.label)),
            *(f"C:{one}" for one in _affixes(named.form)),
            *_spellings(named),
        }
    )


def probes(named: Named) -> list[str]:
    called = {named.form, *named.aliases}
    return sorted(
        {
            *called,
            *(f"{kind}:{one}" for kind in "AC" for one in called),
            *acronyms(named.label),
            *_affixes(named.form),
            *_spellings(named),
        }
    )


def aliases(found_by: Iterable[str], form: str) -> frozenset[str]:
    """Back from the keys of a name to what else it is called."""
    return frozenset(key for key in found_by if key != form and not (key[1:2] == ":" and key[0].isupper()))


def _affixes(form: str) -> set[str]:
    words = form.split()[:MOST_WORDS]
    return {" ".join(part) for at in range(1, len(words)) for part in (words[:at], words[at:])}


def _spellings(named: Named) -> set[str]:
    words = [word.rstrip("s") or word for word in named.form.split()]
    made = {f"S:{''.join(words)}", f"T:{' '.join(sorted(words))}"}
    if len(words) > 1 and named.type in _PEOPLE:
        made.add(f"P:{words[0][0]} {words[-1]}")
    return made

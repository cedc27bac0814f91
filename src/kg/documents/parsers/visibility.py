"""What of a page nobody sees, by what its elements say of themselves. Style sheets are not looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping

ROLES_OUT = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog"})
_LENGTH = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*([a-z%]*)$")
_FONT_SIZE = re.compile(r"(?:^|\s)([-+.\d]+(?:[a-z]+|%)?)(?=\s*/|\s)")
_CLIPPED = re.compile(r"(?:rect\((?:\s*0[a-z]*[\s,]*){4}\)|circle\(\s*0[a-z%]*\s*[\s)]|inset\(\s*(?:[5-9]\d|100)%)")
#: So far out of the page, or so small, is unseen.
_FAR, _TINY = -500.0, 1.0


def is_hidden(said: Mapping[str, str | None], style: Mapping[str, str]) -> bool:
    """And all that is inside: nothing there can show itself again."""
    return (
        (said.get("role") or "").lower() in ROLES_OUT
        or (said.get("aria-hidden") or "").lower() == "true"
        or ("hidden" in said and (said["hidden"] or "").lower() != "until-found")
        or _is_gone(style)
    )


def declarations(style: str) -> dict[str, str]:
    """`style` of an element by property; the last one counts."""
    found: dict[str, str] = {}
    for one in _without_comments(style).lower().split(";"):
        name, colon, value = one.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def _without_comments(style: str) -> str:
    first, *others = style.split("/*")
    return first + "".join(one.partition("*/")[2] for one in others)


def text_is_shown(style: Mapping[str, str], *, around: tuple[bool, bool]) -> tuple[bool, bool]:
    """(its letters have a size, they are painted). Both come from the elements around and can be taken back inside."""
    size, painted = around
    if (given := _font_size(style)) is not None:
        number, unit = given
        size = (size or unit not in ("em", "%")) and number > 0
    if said := style.get("visibility"):
        painted = said == "visible" or (painted and said not in ("hidden", "collapse"))
    if said := style.get("color"):
        painted = said != "transparent" and not (said.startswith("rgba(") and re.search(r",\s*0?\.?0*\s*\)$", said))
    return size, painted


def _font_size(style: Mapping[str, str]) -> tuple[float, str] | None:
    said = style.get("font-size")
    if said is None and (found := _FONT_SIZE.search(style.get("font", "") + " ")):
        said = found[1]
    return _length(said)


def _is_gone(style: Mapping[str, str]) -> bool:
    if not style:
        return False
    return (
        style.get("display") == "none"
        or style.get("content-visibility") == "hidden"
        or _is(style, "opacity", most=0.0)
        or (style.get("position") in ("absolute", "fixed") and any(_is(style, one, most=_FAR) for one in ("left", "top", "right")))
        or _is(style, "text-indent", most=_FAR)
        or (_clips(style) and any(_is(style, one, most=_TINY) for one in ("width", "height", "max-width", "max-height")))
        or bool(_CLIPPED.search(style.get("clip", "") or style.get("clip-path", "")))
        or bool(re.search(r"scale[xy]?\(\s*0[\s,)]", style.get("transform", "")))
    )


def _clips(style: Mapping[str, str]) -> bool:
    return any(style.get(one) in ("hidden", "clip") for one in ("overflow", "overflow-x", "overflow-y"))


def _is(style: Mapping[str, str], name: str, *, most: float) -> bool:
    found = _length(style.get(name))
    return found is not None and found[0] <= most and (found[1] in ("", "px") or found[0] <= 0)


def _length(said: str | None) -> tuple[float, str] | None:
    found = _LENGTH.match(said) if said else None
    return (float(found[1]), found[2]) if found else None

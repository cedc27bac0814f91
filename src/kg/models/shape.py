"""JSON in a model's words, and whether it has the shape that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,),
}  # fmt: skip
MOST_PROBLEMS = 10


def read_json(text: str) -> Any:
    """The value in the text: all of it, what stands in a fence, or what is between the outermost brackets. Raises ValueError."""
    tries = [text.strip()]
    tries += [found[1] for found in [_FENCE.search(text)] if found]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        tries.append(text[start : end + 1])
    problem = ValueError("there is no JSON in it")
    for one in tries:
        try:
            return json.loads(one, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            problem = ValueError(f"it is no JSON: {error}")
    raise problem


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def problems(value: Any, schema: Mapping[str, Any], at: str = "$") -> list[str]:
    """What does not fit, in words for whoever made it. Knows type, enum, properties, required, items, minimum and maximum."""
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{at}: expected {kind}, got {_shown(value)}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: expected one of {', '.join(map(str, schema['enum']))}, got {_shown(value)}"]
    found: list[str] = []
    if isinstance(value, dict):
        found += [f"{at}.{name}: is missing" for name in schema.get("required", ()) if name not in value]
        for name, part in schema.get("properties", {}).items():
            found += problems(value[name], part, f"{at}.{name}") if name in value else []
    elif isinstance(value, list):
        for place, one in enumerate(value):
            found += problems(one, schema.get("items", {}), f"{at}[{place}]")
            if len(found) > MOST_PROBLEMS:
                break
    elif isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at}: expected {schema.get('minimum', '-∞')} to {schema.get('maximum', '∞')}, got {value}")
    return found[:MOST_PROBLEMS]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"

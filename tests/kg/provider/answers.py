"""What a model would say: it depends on the request alone."""

from __future__ import annotations

import hashlib
import json
import math
import re
from itertools import pairwise
from typing import Any

RELATIONS = ("SUPPORTS", "CAUSES", "PART_OF", "USES", "REQUIRES", "CONTRADICTS")


def tokens(text: str) -> int:
    return max(1, math.ceil(len(text) / 4))


def number_of(*words: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:8], "big")


def vector(text: str, dimensions: int) -> list[float]:
    """A hashed bag of words of length one."""
    found = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or ["nothing"]:
        spot = number_of(word)
        found[spot % dimensions] += 1.0 if spot & 1 << 40 else -1.0
    if not any(found):
        found[0] = 1.0
    length = math.sqrt(sum(one * one for one in found))
    return [one / length for one in found]


def extraction(text: str) -> dict[str, Any]:
    concepts: dict[str, dict[str, Any]] = {}
    instances: list[dict[str, Any]] = []
    relationships: dict[tuple[str, str], dict[str, Any]] = {}
    for sentence in re.findall(r"[^.!?\n]+[.!?]?", text):
        quote = sentence.strip()
        names = list(dict.fromkeys(re.findall(r"[A-Z][\w-]+(?: [A-Z][\w-]+)*", quote)))[:6]
        for name in names:
            if name not in concepts and len(concepts) < 30:
                concepts[name] = {
                    "key": f"c{len(concepts)}", "label": name, "type": "thing", "description": quote[:200],
                    "search_terms": [name.lower()],
                }  # fmt: skip
            if name in concepts:
                instances.append({"concept_key": concepts[name]["key"], "quote": quote})
        known = [concepts[name]["key"] for name in names if name in concepts]
        for one, other in pairwise(known):
            relationships.setdefault((one, other), {
                "from_key": one, "to_key": other, "type": RELATIONS[number_of(one, other, quote) % len(RELATIONS)],
                "direction": "forward", "confidence": 0.5 + number_of(quote) % 50 / 100,
            })  # fmt: skip
    return {"concepts": list(concepts.values()), "instances": instances, "relationships": list(relationships.values())}


def example(schema: dict[str, Any]) -> Any:
    """Something that fits a schema, without much in it."""
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example(one) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "string": "text", "number": 0.5, "integer": 1, "boolean": True}.get(kind or "")


def document_of(prompt: str) -> str:
    """The text that a prompt puts between `<text …>` and `</text …>`, else all of it."""
    found = re.search(r"<(text[^<>]*)>\n?(.*?)\n?</\1>", prompt, re.DOTALL)
    return found[2] if found else prompt


def answer_to(prompt: str, schema: dict[str, Any] | None) -> str:
    if schema is None:
        return "It says: " + " ".join(document_of(prompt).split()[:30])
    if "concepts" in schema.get("properties", {}):
        return json.dumps(extraction(document_of(prompt)), ensure_ascii=False)
    return json.dumps(example(schema))


def spoil(text: str, fault: str) -> str:
    """The answer with a fault in its text."""
    if fault == "truncated":
        return text[: len(text) // 2]
    if fault == "invalid_json":
        return "Certainly! {concepts: none"
    if fault == "fenced":
        return f"Here it is:\n```json\n{text}\n```"
    if fault == "violation":
        return json.dumps({"concepts": {"key": 7}, "found": "nothing"})
    if fault in ("false_quotes", "unknown_ends"):
        value = json.loads(text)
        for one in value.get("instances", []) if fault == "false_quotes" else ():
            one["quote"] = f"Nobody ever wrote this {one['quote'][::-1]}"
        for one in value.get("relationships", []) if fault == "unknown_ends" else ():
            one["to_key"] = "nowhere"
        return json.dumps(value)
    return text

"""The OpenAPI document is committed, current and complete, and random requests after it find no 500.

`python -m tests.kg.test_openapi` writes docs/reference/openapi.json again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kg.app import make_api
from kg.config import KgSettings
from lanework.api import routes_of
from lanework.api.document import METHODS
from tests.kg.house import make_work

FILE = Path(__file__).parents[2] / "docs/reference/openapi.json"
#: Any address: the document is made without a database.
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def document() -> dict[str, Any]:
    api = make_api(KgSettings.load(), make_work(NOWHERE))
    found: dict[str, Any] = api.openapi()
    return found


def text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, parts[method])
        for path, parts in document()["paths"].items()
        for method in METHODS
        if method in parts
    ]


def test_the_committed_document_is_current() -> None:
    assert FILE.read_text() == text(), "docs/reference/openapi.json is old: run `python -m tests.kg.test_openapi`"


def test_every_route_is_in_it() -> None:
    api = make_api(KgSettings.load(), make_work(NOWHERE))
    served = {(one.method, one.path.replace(":path", "")) for one in routes_of(api)} - {("GET", "/openapi.json")}
    assert {(method, path) for method, path, _ in operations()} == served


def test_every_operation_is_described() -> None:
    wanted = ("summary", "description", "tags")
    assert [f"{method} {path}" for method, path, one in operations() if not all(one.get(name) for name in wanted)] == []
    ids = [one["operationId"] for _, _, one in operations()]
    assert len(ids) == len(set(ids))


def test_every_operation_says_what_it_answers() -> None:
    lacking = []
    for method, path, one in operations():
        good = {status: answer for status, answer in one["responses"].items() if status[0] in "23"}
        for status, answer in good.items():
            schemas = [part.get("schema") for part in answer.get("content", {}).values()]
            if not schemas and status not in ("204", "303"):
                lacking.append(f"{method} {path}: {status} has no content")
            if any(not schema and "event-stream" not in str(answer) for schema in schemas):
                lacking.append(f"{method} {path}: {status} has no model")
        problems = {status: one["responses"].get(status, {}).get("content", {}) for status in ("4XX", "5XX")}
        lacking += [f"{method} {path}: no {status}" for status, has in problems.items() if "application/problem+json" not in has]
        if not good:
            lacking.append(f"{method} {path}: no good answer")
    assert lacking == []


def test_what_creates_takes_a_key() -> None:
    lacking = [
        path
        for method, path, one in operations()
        if method == "POST" and ({"201", "202"} & one["responses"].keys()) and not path.startswith("/admin/maintenance")
        if "idempotency-key" not in [parameter["name"].lower() for parameter in one.get("parameters", [])]
    ]
    assert lacking == []


def test_bodies_refuse_what_they_do_not_know() -> None:
    schemas = document()["components"]["schemas"]
    open_ones = []
    for method, path, one in operations():
        for part in one.get("requestBody", {}).get("content", {}).values():
            names = [ref["$ref"].rpartition("/")[2] for ref in [part["schema"], *part["schema"].get("anyOf", [])] if "$ref" in ref]
            open_ones += [f"{method} {path}: {name}" for name in names if schemas[name].get("additionalProperties") is not False]
    assert open_ones == []


if __name__ == "__main__":
    FILE.write_text(text())

"""The OpenAPI document: what FastAPI finds out, and what all routes share: problems, and how to say who one is."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from lanework.api.problems import MEDIA_TYPE

#: The header of POSTs that create.
_KEY = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "the same key with the same body gets the same answer",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}  # fmt: skip
METHODS = ("get", "post", "put", "patch", "delete")


class Wrong(BaseModel):
    """One field of a request that is wrong."""

    at: str
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457). `code` never changes its meaning; `field` names the one that is at fault."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str | None = None
    field: str | None = None
    permission: str | None = None
    errors: list[Wrong] | None = None


def install(api: FastAPI, *, keys: bool) -> None:
    generate = api.openapi

    def openapi() -> dict[str, Any]:
        if api.openapi_schema is None:
            _complete(generate(), keys=keys)
        found: dict[str, Any] = api.openapi_schema or {}
        return found

    api.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend it


def _complete(document: dict[str, Any], *, keys: bool) -> None:
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs", {}) | {"Problem": problem}
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for operations in document["paths"].values():
        for method in METHODS:
            if method in operations:
                _complete_operation(operations[method])
        if keys and "201" in operations.get("post", {}).get("responses", {}):
            operations["post"].setdefault("parameters", []).append(_KEY)


def _complete_operation(operation: dict[str, Any]) -> None:
    answers = operation["responses"]
    answers.pop("422", None)
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    answers["4XX"] = {"description": "refused; what was wrong, in words", "content": content}
    answers["5XX"] = {"description": "not carried out; 503 while the database is away, with Retry-After", "content": content}
    needs = operation.get("x-permission")
    operation["security"] = [] if needs is None else [{"token": []}]
    if needs:
        operation["description"] = f"{operation.get('description', '')}\n\nNeeds the permission `{needs}`.".strip()

"""A document as it comes over HTTP: a form with a file, JSON with a text or an address, or bare bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from kg.documents.document import Options
from kg.errors import InvalidDocument
from lanework.api.fields import Body

_FORM, _JSON = "multipart/form-data", "application/json"
#: What a form is: one file, and short fields.
_FIELDS, _FIELD_SIZE = 20, 10_000


class Wish(Body):
    """What is asked for with a document."""

    ontology: Annotated[str, Field(min_length=1, max_length=100, description="made if there is none")] = "default"
    name: Annotated[str, Field(max_length=500, description="shown in lists; never a path")] = ""
    key: (
        Annotated[str, Field(min_length=1, max_length=2000, description="new content under a known key is a new version")] | None
    ) = None
    force: Annotated[bool, Field(description="a new version, everything done again, though the content is known")] = False
    ask: Annotated[bool, Field(description="stop for an approval, whatever it costs")] = False
    graph: Annotated[bool, Field(description="off: embedded into a collection, without a graph")] = True
    collection: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    estimate: Annotated[bool, Field(description="only tell what it would cost")] = False

    @property
    def options(self) -> Options:
        return Options(self.graph, self.collection, self.ask)


class Told(Wish):
    """A document as JSON: a text, or an address to fetch it from."""

    text: str | None = None
    url: Annotated[str, Field(max_length=2000, description="fetched by the job, from public addresses only")] | None = None
    media_type: Annotated[str, Field(max_length=200)] = ""


class Incoming:
    """`data` or `url`, and what is asked for."""

    def __init__(self, wish: Wish, data: bytes = b"", *, url: str | None = None, name: str = "", media_type: str = "") -> None:
        self.wish, self.data, self.url, self.media_type = wish, data, url, media_type
        self.name = wish.name or name

    @property
    def hash(self) -> bytes:
        """Of everything that makes two requests the same."""
        said = json.dumps([self.wish.model_dump(exclude={"text"}), self.url, self.name, self.media_type], sort_keys=True)
        return hashlib.sha256(hashlib.sha256(said.encode()).digest() + hashlib.sha256(self.data).digest()).digest()


async def read(request: Request) -> Incoming:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _FORM:
        return await _form(request)
    if kind == _JSON:
        return await _json(request)
    wish, data = _checked(Wish, dict(request.query_params)), await request.body()
    if not data and not kind:
        raise InvalidDocument(
            "there is no document in the request: send a form with a file, JSON, or bytes with their Content-Type"
        )
    said = request.headers.get("content-type", "")[:200]  # with its charset
    return Incoming(wish, data, media_type="" if kind == "application/octet-stream" else said)


async def _form(request: Request) -> Incoming:
    try:
        form = await request.form(max_files=1, max_fields=_FIELDS, max_part_size=_FIELD_SIZE)
    except HTTPException as error:
        raise InvalidDocument(f"the form cannot be read: {error.detail}", field="file") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidDocument("file: the form has no file in the field `file`", field="file")
        wish = _checked(Wish, {name: value for name, value in form.items() if name != "file"})
        return Incoming(wish, await file.read(), name=file.filename or "", media_type=file.content_type or "")
    finally:
        await form.close()


async def _json(request: Request) -> Incoming:
    try:
        said = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InvalidDocument(
            "the body is no JSON; a document's bytes are sent with their own Content-Type, or as a form"
        ) from None
    told = _checked(Told, said)
    if (told.text is None) == (told.url is None):
        raise InvalidDocument("expected a text or a url, one of the two", field="text")
    if told.url is not None:
        return Incoming(told, url=told.url, media_type=told.media_type)
    data = (told.text or "").encode("utf-8", "replace")  # a lone surrogate is lost; NULs are as those of a file
    return Incoming(told, data, name="text.txt", media_type=told.media_type or "text/plain")


def _checked(kind: type[Any], said: Mapping[str, Any]) -> Any:
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in error.errors()]) from None


def _schema(kind: type[Body]) -> dict[str, Any]:
    return kind.model_json_schema(ref_template="#/components/schemas/{model}")


def _as_form() -> dict[str, Any]:
    schema = _schema(Wish)
    file = {"type": "string", "format": "binary"}
    return {**schema, "title": "Form", "properties": {"file": file, **schema["properties"]}, "required": ["file"]}


#: What the document of all routes says of it.
OPENAPI = {
    "requestBody": {
        "required": True,
        "content": {
            _JSON: {"schema": _schema(Told)},
            _FORM: {"schema": _as_form()},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

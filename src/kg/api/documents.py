"""`/ingest` and `/documents`. What is outside a caller's scope is not found."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from kg.access.answers import Answers, Kept
from kg.access.reach import Reach
from kg.api import incoming
from kg.api.incoming import Incoming
from kg.documents.document import Document, New, Status
from kg.documents.documents import Documents
from kg.errors import InvalidDocument
from lanework import Estimate
from lanework.api import Forbidden, Routes, Who
from lanework.api.fields import Before, Id, Limit

READ, WRITE = "documents:read", "documents:write"
Some = Annotated[str | None, Query(max_length=200)]
Place = Annotated[int | None, Query(ge=0, le=2**31)]


class Taken(BaseModel):
    """`existing`: the content was known already, and nothing was started."""

    document: Document
    job: int | None
    existing: bool


class Estimated(BaseModel):
    """What it would cost; nothing was stored."""

    estimate: Estimate


class Page(BaseModel):
    documents: list[Document]
    #: Pass it as `before` to get the next page; null when there is none.
    next: int | None


class Leaving(BaseModel):
    """The document is gone; the graph still has something of what only it supported."""

    leaving: bool = True


class DocumentRoutes:
    def __init__(self, documents: Documents, answers: Answers) -> None:
        self.documents, self.answers = documents, answers

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add(
            "POST", "/ingest", self.ingest, needs=WRITE, cleaned={"text"}, status_code=202, tags=["documents"],
            openapi_extra=incoming.OPENAPI,
            responses={200: {"model": Taken | Estimated, "description": "it is there already, or only an estimate was wanted"}},
            response_model=Taken | Estimated,
        )  # fmt: skip
        add("GET", "/documents", self.find, needs=READ, tags=["documents"])
        add("GET", "/documents/{document_id}", self.show, needs=READ, tags=["documents"])
        add(
            "GET", "/documents/{document_id}/text", self.text, needs=READ, tags=["documents"], response_class=PlainTextResponse
        )  # fmt: skip
        add(
            "DELETE", "/documents/{document_id}", self.delete, needs=WRITE, status_code=204, tags=["documents"],
            responses={202: {"model": Leaving}},
        )  # fmt: skip
        add("POST", "/documents/{document_id}/retry", self.retry, needs=WRITE, tags=["documents"])

    async def ingest(
        self,
        who: Who,
        request: Request,
        idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
    ) -> Any:
        """Takes a document: a form with a `file`, JSON with a `text` or a `url`, or bare bytes with the other fields in the
        address. What cannot be read, or fetched, is a failed job. The same content in one ontology is one document: it is
        answered as it is, with 200. `estimate` only tells what it would cost. The same Idempotency-Key with the same request gets
        the same answer."""
        came = await incoming.read(request)
        if not Reach.of(who, WRITE).may_make(came.wish.ontology):
            raise Forbidden(f"{WRITE} for the ontology {came.wish.ontology!r}")
        if idempotency_key is None:
            return _answer(*await self._take(who, came))
        kept = await self.answers.begin(who.name, idempotency_key, "/ingest", came.hash)
        if kept is not None:
            return Response(kept.body, kept.status, {"Idempotency-Replayed": "true"}, "application/json")
        try:
            status, taken = await self._take(who, came)
        except BaseException:
            await self.answers.drop(who.name, idempotency_key)
            raise
        await self.answers.end(who.name, idempotency_key, Kept(status, json.dumps(jsonable_encoder(taken))))
        return _answer(status, taken)

    async def _take(self, who: Any, came: Incoming) -> tuple[int, Taken | Estimated]:
        new = _new(who.name, came)
        if came.wish.estimate:
            return 200, Estimated(estimate=await self.documents.estimate(new))
        taken = await self.documents.accept(new, Reach.of(who, WRITE))
        return 200 if taken.existing else 202, Taken(document=taken.document, job=taken.document.job_id, existing=taken.existing)

    async def find(  # noqa: PLR0917 - each is a filter, by name
        self,
        who: Who,
        ontology: Some = None,
        status: Annotated[list[Status] | None, Query()] = None,
        owner: Some = None,
        name: Annotated[str | None, Query(max_length=500)] = None,
        before: Before = None,
        limit: Limit = 100,
    ) -> Page:
        """Newest first; those that the caller may see."""
        reach = Reach.of(who, READ)
        found = await self.documents.find(
            reach, ontology=ontology, status=status, owner=owner, name=name, before=before, limit=limit
        )
        return Page(documents=found, next=found[-1].id if len(found) == limit else None)

    async def show(self, who: Who, document_id: Id) -> Document:
        """A document and how far it is; cheap to ask again and again."""
        return await self.documents.show(document_id, Reach.of(who, READ))

    async def text(self, who: Who, document_id: Id, start: Place = None, finish: Place = None) -> PlainTextResponse:
        """The text that was found in it, or the characters from `start` to `finish`: what
        offsets of passages and quotes count in."""
        if start is not None and finish is not None and finish < start:
            raise InvalidDocument(f"finish: expected {start} or more, where `start` is, got {finish}", field="finish")
        await self.documents.show(document_id, Reach.of(who, READ))
        return PlainTextResponse((await self.documents.text(document_id))[start:finish])

    async def delete(self, who: Who, document_id: Id) -> Response:
        """Stops its job, and takes out of the graph what only this document supported. 202 for a large one of which the graph still
        has something: its text and its evidence are gone, the rest of what it alone supported goes within minutes."""
        await self.documents.show(document_id, Reach.of(who, WRITE))
        done = await self.documents.delete(document_id, by=who.name)
        return Response(status_code=204) if done else JSONResponse(jsonable_encoder(Leaving()), 202)

    async def retry(self, who: Who, document_id: Id) -> Taken:
        """What failed of it is done again: only those chunks."""
        await self.documents.show(document_id, Reach.of(who, WRITE))
        document = await self.documents.retry(document_id, by=who.name)
        return Taken(document=document, job=document.job_id, existing=False)


def _new(owner: str, came: Incoming) -> New:
    wish, provenance = came.wish, {} if came.url is None else {"url": came.url}
    name = came.name or ("document" if came.url is None else "")
    return New(
        came.data, name=name, ontology=wish.ontology, owner=owner, media_type=came.media_type, key=wish.key, options=wish.options,
        force=wish.force, provenance=provenance, url=came.url,
    )  # fmt: skip


def _answer(status: int, taken: Taken | Estimated) -> JSONResponse:
    headers = {"Location": f"/documents/{taken.document.id}"} if isinstance(taken, Taken) else {}
    return JSONResponse(jsonable_encoder(taken), status, headers)

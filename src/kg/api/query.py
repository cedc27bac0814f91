"""Questions to the graph. What lies outside a caller's ontologies is not found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query as Parameter
from fastapi.responses import StreamingResponse
from pydantic import Field

from kg.access.caller import Caller
from kg.errors import InvalidQuery
from kg.graph.concept import MOST as MOST_FACTS
from kg.graph.concept import ConceptPage
from kg.graph.exporting import FORMS, Format
from kg.graph.neighbourhood import MOST_HOPS, MOST_NODES, MOST_SECONDS, Budget, Neighbourhood, Wanted, Way
from kg.graph.paths import MOST_HOPS as MOST_STEPS
from kg.graph.paths import MOST_PATHS
from kg.graph.phrases import Resolved
from kg.graph.reader import Connection, Hits, Passages, Reader
from kg.graph.searching import LONGEST, MOST, PassageMode
from kg.graph.sight import Sight
from kg.parts import Tier
from lanework.api import Routes, Who
from lanework.api.fields import Body, Id

Phrase = Annotated[str, Field(min_length=1, max_length=LONGEST)]
#: In a body an id is a number: `true` is none.
Number = Annotated[int, Field(strict=True, ge=1, le=2**63 - 1)]
Ontology = Annotated[str, Field(min_length=1, max_length=100)]
One = Annotated[str | None, Parameter(min_length=1, max_length=100, description="one alone")]
Types = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(min_length=1, max_length=50)]
Seconds = Annotated[float, Field(gt=0, le=MOST_SECONDS, allow_inf_nan=False)]


class SearchQuery(Body):
    """By meaning (`semantic`), by words (`text`), or both (`hybrid`); for concepts, or for passages of documents. Passages also by
    what the `graph` leads to: for questions whose answer is in more than one of them. Unless said, concepts are found by `hybrid`
    and passages by `graph`. Passages of documents that were ingested without a graph stand among the others, with their
    `collection`; if one is asked for, they come alone."""

    query: Phrase
    mode: PassageMode | None = None
    what: Literal["concepts", "passages"] = "concepts"
    ontology: Ontology | None = None
    collection: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] = 10


class RelatedQuery(Body):
    """`concept` is an id, or a phrase; the answer says which concept that came to. `nodes` and `seconds` are the budget; an
    answer that used it up says so."""

    concept: Number | Phrase
    hops: Annotated[int, Field(ge=1, le=MOST_HOPS)] = 2
    nodes: Annotated[int, Field(ge=1, le=MOST_NODES)] = 100
    seconds: Seconds = 2.0
    tier: Tier | None = None
    types: Types | None = None
    direction: Way = "both"
    ontology: Ontology | None = None


class PhraseQuery(Body):
    """Words that a person has for a concept."""

    phrase: Phrase
    ontology: Ontology | None = None


class ConnectQuery(Body):
    """Each end is a concept's id, or a phrase; the answer says which concept that came to."""

    start: Number | Phrase
    end: Number | Phrase
    k: Annotated[int, Field(ge=1, le=MOST_PATHS)] = 3
    max_hops: Annotated[int, Field(ge=1, le=MOST_STEPS)] = 4
    seconds: Seconds = 5.0
    tier: Tier | None = None
    types: Types | None = None
    ontology: Ontology | None = None


class Query:
    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("POST", "/query/search", self.search, needs="graph:read", tags=["graph"])
        add("POST", "/query/resolve", self.resolve, needs="graph:read", tags=["graph"])
        add("POST", "/query/related", self.related, needs="graph:read", tags=["graph"])
        add("POST", "/query/connect", self.connect, needs="graph:read", tags=["graph"])
        add("GET", "/query/concept/{concept_id}", self.concept, needs="graph:read", tags=["graph"])
        add(
            "GET", "/graph/export", self.export, needs="graph:read", tags=["graph"], response_class=StreamingResponse,
            responses={200: {"description": "the file", "content": {kind: {"schema": _schema(kind)} for kind in sorted(_KINDS)}}},
        )  # fmt: skip

    async def search(self, who: Who, asked: SearchQuery) -> Hits | Passages:
        """Concepts with a sample of their evidence, or passages, the best first."""
        more: dict[str, Any] = {"ontology": asked.ontology, "limit": asked.limit, "sight": sight(who)}
        if asked.what == "passages":
            return await self.reader.passages(asked.query, mode=asked.mode or "graph", collection=asked.collection, **more)
        if asked.collection is not None:
            raise InvalidQuery("collection: concepts are of a graph; ask for passages (`what`)", field="collection")
        if asked.mode == "graph":
            raise InvalidQuery("mode: graph is for passages; for concepts there are semantic, text and hybrid", field="mode")
        return await self.reader.search(asked.query, mode=asked.mode or "hybrid", **more)

    async def resolve(self, who: Who, asked: PhraseQuery) -> Resolved:
        """The concept that a phrase means: one that is called so, else the nearest. Nothing like it: 404 (KG-262) with
        `suggestions`."""
        return await self.reader.resolve(asked.phrase, ontology=asked.ontology, sight=sight(who))

    async def related(self, who: Who, asked: RelatedQuery) -> Neighbourhood:
        """What is around a concept, within a budget; the surest first."""
        budget, wanted = Budget(asked.nodes, asked.seconds), _wanted(asked, asked.direction)
        return await self.reader.related(
            asked.concept, hops=asked.hops, budget=budget, wanted=wanted, ontology=asked.ontology, sight=sight(who)
        )

    async def connect(self, who: Who, asked: ConnectQuery) -> Connection:
        """Paths between two concepts, the shortest first, each step with its evidence."""
        return await self.reader.connect(
            asked.start, asked.end, k=asked.k, max_hops=asked.max_hops, seconds=asked.seconds, wanted=_wanted(asked),
            ontology=asked.ontology, sight=sight(who),
        )  # fmt: skip

    async def concept(
        self, who: Who, concept_id: Id, limit: Annotated[int, Parameter(ge=1, le=MOST_FACTS, description="of each list")] = 20,
        ontology: One = None,
    ) -> ConceptPage:  # fmt: skip
        """All about a concept: facts with their quotes and places, other names, relations. A merged one is found by its old id."""
        return await self.reader.concept(concept_id, limit=limit, ontology=ontology, sight=sight(who))

    async def export(self, who: Who, format: Format = "graphml", ontology: One = None) -> StreamingResponse:
        """The graph as a file: GraphML, JSON-LD, CSV (two files in a zip) or Cypher."""
        pieces = await self.reader.export(format, ontology=ontology, sight=sight(who))
        form = FORMS[format]
        headers = {"Content-Disposition": f'attachment; filename="graph.{form.suffix}"'}
        return StreamingResponse(pieces, media_type=form.media_type, headers=headers)


_KINDS = {form.media_type.partition(";")[0] for form in FORMS.values()}


def _schema(kind: str) -> dict[str, Any]:
    """What JSON has in it a client reads; other files are bytes to him."""
    if not kind.endswith("json"):
        return {"type": "string", "format": "binary"}
    entries = {"type": "array", "items": {"type": "object"}}
    return {"type": "object", "required": ["@context", "@graph"], "properties": {"@context": {"type": "object"}, "@graph": entries}}


def _wanted(asked: RelatedQuery | ConnectQuery, way: Way = "both") -> Wanted:
    return Wanted(asked.tier, None if asked.types is None else tuple(asked.types), way)


def sight(who: object) -> Sight:
    """What the caller's roles let him see."""
    assert isinstance(who, Caller)
    held = who.grants.get("graph:read", set())
    return Sight("all" in held, frozenset(who.ontologies("graph:read")), who.name if "own" in held else None)

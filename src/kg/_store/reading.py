"""The graph as it is read. Every statement has its limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kg._store.verb import Row, Verb, nothing, rows, verb
from kg.parts import Vector

#: How many candidates the index of vectors looks at; more find more of the true neighbours and take longer.
EF_SEARCH = 100
#: Passages that are looked at for the words of a question.
CANDIDATES = 2000
#: Places of a concept that are looked at for each passage that is wanted of it.
PLACES = 4
Ontologies = Sequence[int] | None


def vector_text(vector: Vector) -> str:
    return f"[{','.join(map(str, vector))}]"


def _first(found: list[Row]) -> Row | None:
    return found[0] if found else None


def _pairs(found: list[Row]) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in found]


def _ids(given: Sequence[int] | None) -> list[int] | None:
    return None if given is None else list(given)


def visible_ontologies(
    *, all: bool, names: Sequence[str] = (), owner: str | None = None, name: str | None = None
) -> Verb[list[tuple[int, str]]]:
    return verb(
        "visible_ontologies", lambda found: [(row[0], row[1]) for row in found], all=all, names=list(names), owner=owner, name=name
    )


def search(
    what: str, *, model: str | None, vector: Vector | None, words: str | None, ontologies: Ontologies, depth: int, limit: int
) -> Verb[list[Row]]:
    return verb(
        f"search_{what}", rows, model=model, vector=None if vector is None else vector_text(vector), words=words,
        ontologies=_ids(ontologies), depth=depth, limit=limit, ef=EF_SEARCH,
    )  # fmt: skip


def get_concept(id: int, model: str | None, ontologies: Ontologies) -> Verb[Row | None]:
    return verb("get_concept", _first, id=id, model=model, ontologies=_ids(ontologies))


def moved_to(id: int) -> Verb[int | None]:
    """The concept that one is part of now, if it was merged."""
    return verb("moved_to", lambda found: found[0][0] if found else None, id=id)


def concept_aliases(id: int, limit: int) -> Verb[list[Row]]:
    return verb("concept_aliases", rows, id=id, limit=limit)


def concept_quotes(id: int, limit: int) -> Verb[list[Row]]:
    return verb("concept_quotes", rows, id=id, limit=limit)


def concept_relations(id: int, limit: int, ontologies: Ontologies) -> Verb[list[Row]]:
    return verb("concept_relations", rows, id=id, limit=limit, ontologies=_ids(ontologies))


def get_nodes(ids: Sequence[int], ontologies: Ontologies = None) -> Verb[list[Row]]:
    return verb("get_nodes", rows, ids=list(ids), ontologies=_ids(ontologies))


def neighbours(
    ids: Sequence[int], *, most: int, ontologies: Ontologies, tier: str | None, types: Sequence[str] | None,
    direction: str = "both", meet: Sequence[int] | None = None,
) -> Verb[list[Row]]:  # fmt: skip
    """(id, relation, other, leads outward, type, tier, direction, confidence, place): of each id and way the strongest `most`.
    `meet`: only those that lead to one of these, and the last place of whoever has so many."""
    return verb(
        "neighbours", rows, ids=list(ids), most=most, ontologies=_ids(ontologies), tier=tier,
        types=None if types is None else list(types), direction=direction, meet=_ids(meet),
    )  # fmt: skip


def relations_between(
    one: int, others: Sequence[int], *, ontologies: Ontologies, tier: str | None, types: Sequence[str] | None
) -> Verb[list[Row]]:
    """The same rows, all of them."""
    return verb(
        "relations_between", rows, one=one, others=list(others), ontologies=_ids(ontologies), tier=tier,
        types=None if types is None else list(types),
    )  # fmt: skip


def relation_quotes(ids: Sequence[int], limit: int) -> Verb[list[Row]]:
    return verb("relation_quotes", rows, ids=list(ids), limit=limit)


def types_without_stance(model: str) -> Verb[list[Row]]:
    """(space, type, its vector as text if it has one there)."""
    return verb("types_without_stance", rows, model=model)


def put_stances(space: int, found: Sequence[tuple[str, float, Vector | None]]) -> Verb[None]:
    return verb(
        "put_stances", nothing, space=space, types=[type for type, _, _ in found], stances=[stance for _, stance, _ in found],
        vectors=[None if vector is None else vector_text(vector) for _, _, vector in found],
    )  # fmt: skip


def export_concepts(ontology: int, after: int, limit: int) -> Verb[list[Row]]:
    return verb("export_concepts", rows, ontology=ontology, after=after, limit=limit)


def export_relations(ontology: int, after: int, limit: int) -> Verb[list[Row]]:
    return verb("export_relations", rows, ontology=ontology, after=after, limit=limit)


def use_space(model: str, dimensions: int) -> Verb[Any]:
    return verb("use_space", lambda found: int(found[0][0]), model=model, dimensions=dimensions)


def question_seeds(model: str | None, vector: Vector, words: str, ontologies: Ontologies, depth: int) -> Verb[list[Row]]:
    """(near | words, passage, score): `depth` of both."""
    return verb(
        "question_seeds", rows, model=model, vector=vector_text(vector), words=words, ontologies=_ids(ontologies), depth=depth,
        ef=EF_SEARCH, most=CANDIDATES,
    )  # fmt: skip


def passage_scores(
    model: str | None, vector: Vector | None, words: str | None, ontologies: Ontologies, depth: int
) -> Verb[list[Row]]:  # fmt: skip
    """(near | words, passage, score): `depth` of both."""
    return verb(
        "passage_scores", rows, model=model, vector=None if vector is None else vector_text(vector), words=words,
        ontologies=_ids(ontologies), depth=depth, ef=EF_SEARCH,
    )  # fmt: skip


class Candidate(NamedTuple):
    """A concept that a phrase may mean. `likeness` is a cosine, `words` what a search by words says; null: it was not found so."""

    id: int
    ontology: str
    label: str
    named: bool
    likeness: float | None
    words: float | None


def resolve_phrase(
    forms: Sequence[str], model: str | None, vector: Vector | None, words: str, ontologies: Ontologies, *, depth: int
) -> Verb[list[Candidate]]:
    return verb(
        "resolve_phrase", lambda found: [Candidate._make(row) for row in found], forms=list(forms), model=model,
        vector=None if vector is None else vector_text(vector), words=words, ontologies=_ids(ontologies), depth=depth, ef=EF_SEARCH,
    )  # fmt: skip


def named_concepts(forms: Sequence[str], ontologies: Ontologies, limit: int) -> Verb[list[Row]]:
    """(form, concept, its type, how often it is named anywhere), the rarest first."""
    return verb("named_concepts", rows, forms=list(forms), ontologies=_ids(ontologies), limit=limit)


def passage_concepts(ids: Sequence[int], limit: int) -> Verb[list[Row]]:
    """(passage, concept, how often it is named there, how often anywhere, after how many characters first)."""
    return verb("passage_concepts", rows, ids=list(ids), limit=limit)


def concept_passages(ids: Sequence[int], most: int, ontologies: Ontologies) -> Verb[list[Row]]:
    """(concept, passage, how often it is named there, how often anywhere, after how many characters first). Of the passages that
    name a concept first, `most`: those in which it stands nearest to the beginning."""
    return verb("concept_passages", rows, ids=list(ids), most=most, look=PLACES * most, ontologies=_ids(ontologies))


def get_passages(ids: Sequence[int]) -> Verb[list[Row]]:
    return verb("get_passages", rows, ids=list(ids))

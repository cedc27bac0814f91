"""Documents and ontologies over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from kg.graph import leaving
from lanework.testing import adrain
from tests.kg.fakes import Parts
from tests.kg.house import House, open_house

TEXT = "Lanes have Slots.\n\nWorkers take Jobs."


@pytest.fixture
def parts() -> Parts:
    return Parts()


@pytest.fixture
def docs(database: str, parts: Parts) -> Iterator[House]:
    with open_house(database, parts=parts, document_limit=20_000) as house, psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table fake_graph (source bigint references kg.sources on delete cascade, word text, start int)")
        yield house


def put(house: House, role: str = "contributor", text: str = TEXT, **more: Any) -> Any:
    return house.ask(role, "POST", "/ingest", json={"text": text, "ontology": "manual", **more})


def limited(house: House, role: str, scope: str, *permissions: str) -> None:
    """A role whose permissions reach this far, and a user who has it."""
    house.act(house.access.set_role(role, None, [(one, scope) for one in permissions], by="test"))
    house.act(house.access.add_user(role, None, [role], by="test"))
    house.tokens[role] = house.act(house.access.create_token(role, "test", by="test")).secret


def test_from_text_to_done(docs: House) -> None:
    taken = put(docs, name="lanes.txt")
    assert taken.status_code == 202, taken.text
    document = taken.json()["document"]
    assert taken.headers["location"] == f"/documents/{document['id']}" and taken.json()["job"] == document["job_id"]
    assert (document["processing_status"], document["name"], document["owner"]) == ("estimating", "lanes.txt", "contributor")
    docs.act(adrain(docs.work))
    shown = docs.ask("read_only", "GET", f"/documents/{document['id']}").json()
    assert (shown["processing_status"], shown["chunks_done"]) == ("completed", 2)
    assert docs.ask("read_only", "GET", f"/documents/{document['id']}/text").text == TEXT
    assert docs.ask("read_only", "GET", f"/documents/{document['id']}/text?start=6&finish=10").text == "have"
    assert docs.ask("read_only", "GET", f"/documents/{document['id']}/text?start=6&finish=5").json()["field"] == "finish"
    again = put(docs)
    assert again.status_code == 200 and again.json()["existing"] and again.json()["document"]["id"] == document["id"]
    assert docs.ask("contributor", "POST", f"/documents/{document['id']}/retry").status_code == 409


def test_a_form_and_bare_bytes(docs: House) -> None:
    form = docs.ask(
        "contributor",
        "POST",
        "/ingest",
        files={"file": ("../../a.md", b"# One\n\ntext")},
        data={"ontology": "manual", "force": "false"},
    )
    assert form.status_code == 202, form.text
    assert (form.json()["document"]["name"], form.json()["document"]["media_type"]) == ("a.md", "text/markdown")
    bare = docs.ask(
        "contributor", "POST", "/ingest?ontology=manual&name=b.html", content=b"<p>Two</p>", headers={"Content-Type": "text/html"}
    )
    assert bare.status_code == 202, bare.text
    assert bare.json()["document"]["media_type"] == "text/html"
    assert [one["name"] for one in docs.ask("read_only", "GET", "/documents").json()["documents"]] == ["b.html", "a.md"]


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        ({"json": {}}, 422, "a text or a url"),
        ({"json": {"text": "a", "url": "http://x.org"}}, 422, "one of the two"),
        ({"json": {"text": "a", "colour": "red"}}, 422, "colour"),
        ({"json": {"text": "a", "ontology": "a/b"}}, 422, "ontology"),
        ({"json": {"text": "a", "name": "a\0"}}, 422, "NUL"),
        ({"json": {"url": "file:///etc/passwd"}}, 422, "http"),
        ({"json": {"url": "not an address"}}, 422, "no spaces"),
        ({"json": {"url": "https://ada:secret@example.org/"}}, 422, "user or password"),
        ({"content": b""}, 422, "no JSON"),
        ({"files": {"other": ("a", b"b")}}, 422, "file"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 422, "no JSON"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 422, "form"),
        ({"json": {"text": "x" * 20_001}}, 413, "20,001 bytes"),
        ({"content": b"x" * 100_000, "headers": {"Content-Type": "text/plain"}}, 413, "larger than"),
    ],
)
def test_what_cannot_be_taken_is_said(docs: House, more: dict[str, Any], status: int, says: str) -> None:
    answer = docs.ask("contributor", "POST", "/ingest", **more)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["detail"] and (status != 413 or answer.json()["code"] == "KG-212")
    assert docs.ask("read_only", "GET", "/documents").json() == {"documents": [], "next": None}


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        ({"json": {"text": ""}}, "KG-211", "is empty"),
        ({"files": {"file": ("../empty.txt", b"")}}, "KG-211", "'empty.txt' is empty"),
        ({"content": b"", "headers": {"Content-Type": "text/plain"}}, "KG-211", "is empty"),
        ({"content": b"\x89PNG\r\n\x1a\n\0\0", "headers": {"Content-Type": "image/png"}}, "KG-210", "image/png"),
        ({"files": {"file": ("../../notes.pdf", b"just text")}}, "KG-210", "'notes.pdf' should be a PDF"),
        ({"json": {"url": "http://127.0.0.1/x"}}, "KG-214", "127.0.0.1"),
        ({"json": {"url": "http://169.254.169.254/latest/meta-data"}}, "KG-214", "169.254.169.254"),
        ({"json": {"url": "http://localhost:5432/"}}, "KG-214", "localhost"),
    ],
)
def test_what_cannot_be_read_is_one_failed_job(docs: House, more: dict[str, Any], code: str, says: str) -> None:
    taken = docs.ask("contributor", "POST", "/ingest", **more)
    assert taken.status_code == 202, taken.text
    docs.act(adrain(docs.work))
    [document] = docs.ask("read_only", "GET", "/documents").json()["documents"]
    assert (document["id"], document["processing_status"]) == (taken.json()["document"]["id"], "failed")
    assert document["error"].startswith(f"{code}: ") and says in document["error"], document["error"]
    [job] = [one for one in docs.ask("operator", "GET", "/jobs").json()["jobs"] if one["status"] == "failed"]
    assert (job["id"], job["type"], job["error_code"]) == (taken.json()["job"], "ingestion", code)
    told = docs.ask("contributor", "POST", "/ingest", **_to_tell(more))  # whoever only asks is told at once
    assert told.status_code in (415, 422) and told.json()["code"] == code


def _to_tell(more: dict[str, Any]) -> dict[str, Any]:
    if "json" in more:
        return {**more, "json": {**more["json"], "estimate": True}}
    return {**more, "data": {"estimate": "true"}} if "files" in more else {**more, "params": {"estimate": "true"}}


def test_an_address(docs: House, parts: Parts) -> None:
    parts.web.has("https://example.org/a", TEXT)
    taken = docs.ask("contributor", "POST", "/ingest", json={"url": "https://example.org/a", "ontology": "manual"})
    assert taken.status_code == 202 and not parts.web.asked, "nobody waits for somebody else's server"
    document = taken.json()["document"]
    assert (document["key"], document["name"], taken.json()["job"]) == ("https://example.org/a", "a", document["job_id"])
    docs.act(adrain(docs.work))
    assert docs.ask("read_only", "GET", f"/documents/{document['id']}").json()["processing_status"] == "completed"
    same = put(docs, text=TEXT, key="file:/elsewhere")
    assert same.status_code == 200 and same.json()["document"]["id"] == document["id"]


def test_an_estimate_only_tells(docs: House) -> None:
    told = put(docs, estimate=True)
    assert told.status_code == 200 and told.json()["estimate"]["items"] == 2
    assert docs.ask("read_only", "GET", "/documents").json()["documents"] == []


def test_the_same_key_gets_the_same_answer(docs: House) -> None:
    def send(text: str) -> Any:
        return docs.ask(
            "contributor", "POST", "/ingest", files={"file": ("a.txt", text.encode())}, data={"force": "true"},
            headers={"Idempotency-Key": "k"},
        )  # fmt: skip

    first, second = send("One."), send("One.")  # with another boundary each
    assert first.status_code == second.status_code == 202 and first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    assert send("Two.").status_code == 409
    assert docs.ask("read_only", "GET", "/documents").json()["documents"][0]["version"] == 1


def test_outside_of_a_scope_nothing_is_found(docs: House) -> None:
    limited(docs, "mine", "own", "documents:read", "documents:write")
    limited(docs, "manual_only", "ontology:manual", "documents:read", "documents:write")
    theirs = put(docs).json()["document"]["id"]
    other = put(docs, text="Other.", ontology="secret").json()["document"]["id"]
    own = put(docs, "mine", "My own.", ontology="shelf").json()["document"]["id"]
    put(docs, text="Given.", ontology="shelf")
    seen = {
        role: [one["id"] for one in docs.ask(role, "GET", "/documents").json()["documents"]] for role in ("mine", "manual_only")
    }
    assert seen == {"mine": [own], "manual_only": [theirs]}
    for role, hidden in (("mine", theirs), ("mine", other), ("manual_only", other)):
        for method, path in (("GET", ""), ("GET", "/text"), ("DELETE", ""), ("POST", "/retry")):
            assert docs.ask(role, method, f"/documents/{hidden}{path}").status_code == 404, (role, method, path)
    assert put(docs, "manual_only", "More.", ontology="secret").status_code == 403
    assert put(docs, "mine", "Given.", ontology="shelf").status_code == 409  # not his, and not told which
    assert [one["name"] for one in docs.ask("mine", "GET", "/ontologies").json()] == ["shelf"]
    assert docs.ask("manual_only", "GET", "/ontologies/secret").status_code == 404
    assert docs.ask("mine", "PATCH", "/ontologies/secret", json={"state": "frozen"}).status_code == 404
    assert docs.ask("read_only", "DELETE", f"/documents/{own}").status_code == 403


def test_ones_own_documents_go_into_ones_own_ontologies(docs: House) -> None:
    # Red with `own` asked of the document alone: whoever may add one adds to everybody's graph.
    limited(docs, "mine", "own", "documents:read", "documents:write")
    put(docs)
    for text in (TEXT, "Not wanted."):  # known there, or not
        refused = put(docs, "mine", text)
        assert (refused.status_code, refused.json()["code"]) == (404, "KG-204") and "may add to" in refused.json()["detail"]
    assert len(docs.ask("admin", "GET", "/documents").json()["documents"]) == 1
    assert docs.ask("mine", "POST", "/ontologies", json={"name": "made"}).status_code == 201
    assert [put(docs, "mine", ontology=name).status_code for name in ("made", "named")] == [202, 202]
    docs.ask("mine", "PATCH", "/ontologies/made", json={"state": "frozen"})
    assert put(docs, "mine", "More.", ontology="made").json()["code"] == "KG-206"
    # with another right beside it, that one reaches
    docs.act(docs.access.set_role("mine", None, [("documents:write", "own"), ("documents:write", "ontology:manual")], by="test"))
    docs.tokens["mine"] = docs.act(docs.access.create_token("mine", "again", by="test")).secret
    assert put(docs, "mine", "Wanted.").status_code == 202


def test_deleting(docs: House) -> None:
    id = put(docs).json()["document"]["id"]
    docs.act(adrain(docs.work))
    assert docs.ask("contributor", "DELETE", f"/documents/{id}").status_code == 204
    assert docs.ask("contributor", "GET", f"/documents/{id}").status_code == 404
    assert docs.ask("contributor", "DELETE", f"/documents/{id}").status_code == 404


def test_ontologies(docs: House) -> None:
    made = docs.ask("contributor", "POST", "/ontologies", json={"name": "manual", "description": "of it"})
    assert made.status_code == 201 and made.json()["state"] == "active"
    assert docs.ask("contributor", "POST", "/ontologies", json={"name": "manual"}).status_code == 409
    put(docs)
    frozen = docs.ask("contributor", "PATCH", "/ontologies/manual", json={"state": "frozen"})
    assert (frozen.json()["state"], frozen.json()["documents"]) == ("frozen", 1)
    refused = put(docs, text="More.")
    assert refused.status_code == 409 and "frozen" in refused.json()["detail"]
    assert docs.ask("contributor", "DELETE", "/ontologies/manual").status_code == 204
    assert docs.ask("read_only", "GET", "/documents").json()["documents"] == []


def test_pages_and_filters(docs: House) -> None:
    ids = [put(docs, text=f"Text {n}.", ontology=f"o{n % 2}").json()["document"]["id"] for n in range(5)]
    page = docs.ask("read_only", "GET", "/documents?limit=2").json()
    assert [one["id"] for one in page["documents"]] == ids[:2:-1]
    page = docs.ask("read_only", "GET", f"/documents?limit=5&before={page['next']}").json()
    assert [one["id"] for one in page["documents"]] == ids[2::-1] and page["next"] is None
    assert len(docs.ask("read_only", "GET", "/documents?ontology=o1").json()["documents"]) == 2
    assert len(docs.ask("read_only", "GET", "/documents?status=completed&status=failed").json()["documents"]) == 0
    assert docs.ask("read_only", "GET", "/documents?status=strange").status_code == 422


def test_an_ontology_that_is_not_there_is_not_an_empty_one(docs: House) -> None:
    # Red with an empty list for every name.
    limited(docs, "owner", "own", "documents:read", "documents:write")
    assert docs.ask("owner", "POST", "/ontologies", json={"name": "mine"}).status_code == 201
    put(docs, ontology="theirs")
    assert docs.ask("owner", "GET", "/documents?ontology=mine").json() == {"documents": [], "next": None}
    assert [one["name"] for one in docs.ask("owner", "GET", "/ontologies").json()] == ["mine"]
    for role, name in (("owner", "theirs"), ("owner", "nope"), ("read_only", "nope")):
        answer = docs.ask(role, "GET", f"/documents?ontology={name}")
        assert (answer.status_code, answer.json()["code"]) == (404, "KG-204")
    assert docs.ask("admin", "GET", "/admin/tokens?user=nobody").status_code == 404


def test_submits_have_a_limit(database: str) -> None:
    with open_house(database, parts=Parts(), submits_per_minute=10) as house:
        answers = [put(house, text=f"Text {n}.").status_code for n in range(5)]
    assert 429 in answers and answers[0] == 202


@pytest.mark.parametrize("role", ["contributor", "admin", "platform_admin"])
def test_no_job_goes_around_the_documents(docs: House, role: str) -> None:
    """Whoever could name a document in a job would not be asked what he may do with it."""
    document = put(docs).json()["document"]
    own, task = {"document": document["id"], "version": 1}, {"task": "documents", "fence": 1}
    for type, arguments in (
        ("ingestion", own),
        ("ingestion:estimate", own),
        ("documents:maintenance", task),
    ):
        refused = docs.ask(role, "POST", "/jobs", json={"type": type, "args": arguments})
        assert (refused.status_code, refused.json()["code"]) == (422, "LW-300"), refused.text
    edited = docs.ask("platform_admin", "PATCH", f"/jobs/{document['job_id']}", json={"args": {"document": 2, "version": 1}})
    assert (edited.status_code, edited.json()["code"]) == (422, "LW-300"), edited.text


def test_a_document_of_which_the_graph_still_has_something_is_gone_with_202(
    docs: House, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [put(docs, text=f"{TEXT} {name}").json()["document"]["id"] for name in ("small", "large")]
    docs.act(adrain(docs.work))
    small = docs.ask("contributor", "DELETE", f"/documents/{ids[0]}")
    assert (small.status_code, small.content) == (204, b"")

    async def mark(conn: Any, ontology: int, sources: Sequence[int], vectors: Any, space: int) -> None:
        await leaving.leave(conn, ontology, sources)

    monkeypatch.setattr(parts.graph, "drop", mark)
    large = docs.ask("contributor", "DELETE", f"/documents/{ids[1]}")
    assert (large.status_code, large.json()) == (202, {"leaving": True})
    assert docs.ask("contributor", "GET", f"/documents/{ids[1]}").status_code == 404
    assert docs.ask("contributor", "DELETE", f"/documents/{ids[1]}").status_code == 404

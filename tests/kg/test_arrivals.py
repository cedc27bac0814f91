"""Documents from addresses: fetched by their job, which fails alone where nothing comes."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from kg.documents.document import New, Options
from kg.errors import AddressRefused, FetchFailed, TooLarge
from lanework.testing import Clock, adrain
from tests.kg.fakes import TEXT, Bench, FakePage, ask, graph, new, on

URL = "https://example.org/papers/lanes"


def at(url: str = URL, **more: object) -> New:
    return new("", **{"name": "", "url": url, **more})


def failed_jobs(database: str) -> int:
    return int(ask(database, "select count(*) from lanework.jobs_failed"))


def test_an_address_is_a_document_at_once_and_fetched_by_its_job(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.has(URL, FakePage(TEXT.encode(), "text/plain", "Lanes.txt", "https://www.example.org/lanes"))
        taken = await bench.documents.accept(at())
        first = taken.document
        assert not taken.existing and not bench.web.asked
        assert (first.key, first.name, first.size, first.processing_status, first.job_id is not None) == (
            URL, "lanes", 0, "estimating", True,
        )  # fmt: skip
        await adrain(bench.work)
        done = await bench.documents.show(first.id)
        assert (done.processing_status, done.name, done.media_type, done.size, done.chunks_done, done.version) == (
            "completed", "Lanes.txt", "text/plain", len(TEXT), 3, 1,
        )  # fmt: skip
        assert done.provenance == {"url": "https://www.example.org/lanes"} and done.job_id == first.job_id
        assert await bench.documents.text(first.id) == TEXT
        assert bench.web.asked == {URL: 1}  # by the estimate; the run has what came

    on(database, main)
    assert len(graph(database)) == 5 and failed_jobs(database) == 0


def test_its_stage_is_told_while_it_is_fetched(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.gate = asyncio.Event()
        bench.web.has(URL, TEXT)
        id = (await bench.documents.accept(at(name="mine.txt"))).document.id
        async with bench.work.worker():
            await bench.web.reached.wait()
            shown = await bench.documents.show(id)
            assert (shown.processing_status, shown.stage) == ("estimating", "fetch")
            bench.web.gate.set()
            await bench.work._await(shown.job_id or 0, 20)
        assert (await bench.documents.show(id)).name == "mine.txt"  # what a user calls it stays

    on(database, main)


@pytest.mark.parametrize(
    ("page", "code", "error_class", "says"),
    [
        (AddressRefused("'10.0.0.1' is not public"), "KG-214", "invalid_input", "not public"),
        (FetchFailed("it answered 404", error_class="permanent"), "KG-215", "permanent", "404"),
        (TooLarge("it has 1,073,741,824 bytes"), "KG-212", "invalid_input", "1,073,741,824"),
        (b"unreadable", "KG-201", "invalid_input", "no text"),
    ],
    ids=["private", "404", "too large", "unreadable"],
)
def test_what_does_not_come_is_one_failed_job_and_nothing_else(
    database: str, page: Exception | bytes, code: str, error_class: str, says: str
) -> None:
    async def main(bench: Bench) -> None:
        await bench.documents.accept(new("Lanes are Rows."))
        bench.web.has(URL, page)
        id = (await bench.documents.accept(at(options=Options(ask=True)))).document.id  # there is nothing to approve
        await adrain(bench.work)
        failed = await bench.documents.show(id)
        assert (
            failed.processing_status == "failed" and (failed.error or "").startswith(f"{code}: ") and says in (failed.error or "")
        )
        job = await bench.work.aget(failed.job_id or 0)
        assert (job.status, job.error_code, job.error_class, job.attempt) == ("failed", code, error_class, 1)
        assert bench.web.asked == {URL: 1}
        assert [one.processing_status for one in await bench.documents.find()] == ["failed", "completed"]

    on(database, main)
    assert [word for word, _ in graph(database)] == ["Lanes", "Rows"]
    assert failed_jobs(database) == 1


def test_what_may_pass_is_tried_again(database: str) -> None:
    async def main(bench: Bench) -> None:
        clock = Clock(bench.work)
        busy = FetchFailed("it answered 429", error_class="throttled", retry_after=3000)
        bench.web.has(URL, FetchFailed("it answered 503"), busy, FetchFailed("no answer", error_class="timeout"), TEXT)
        id = (await bench.documents.accept(at())).document.id
        for asked, hours in ((1, 0.5), (2, 0.5), (2, 0.5), (3, 0.5)):  # a 429 waits as long as its server says
            await adrain(bench.work)
            assert bench.web.asked[URL] == asked
            assert (await bench.documents.show(id)).processing_status == "estimating"
            await clock.aadvance(hours=hours)
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed"

    on(database, main)


def test_what_does_not_pass_has_failed_and_can_be_asked_again(database: str) -> None:
    async def main(bench: Bench) -> None:
        clock = Clock(bench.work)
        bench.web.has(URL, FetchFailed("took more than 60 s", error_class="timeout"))
        id = (await bench.documents.accept(at())).document.id
        for _ in range(3):
            await adrain(bench.work)
            await clock.aadvance(hours=1)
        await adrain(bench.work)
        failed = await bench.documents.show(id)
        assert (failed.processing_status, failed.error) == ("failed", "KG-215: took more than 60 s")
        assert bench.web.asked[URL] == 3
        bench.web.has(URL, TEXT)
        assert (await bench.documents.retry(id, by="ada")).processing_status == "estimating"
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed"

    on(database, main)
    assert failed_jobs(database) == 1


def test_a_redriven_job_asks_the_address_again(database: str) -> None:
    # Red with what was stored told again: a redrive of an address that is well by now fails as before.
    async def main(bench: Bench) -> None:
        gone = FetchFailed("it answered 404", error_class="permanent")
        bench.web.has(URL, gone)
        id = (await bench.documents.accept(at())).document.id
        await adrain(bench.work)
        job = (await bench.documents.show(id)).job_id or 0
        for asked in (1, 2):
            failed = await bench.work.aget(job)
            assert (failed.status, failed.error_code, bench.web.asked[URL]) == ("failed", "KG-215", asked)
            if asked == 2:
                bench.web.has(URL, TEXT)
            await bench.work.aretry(job, by="ada")
            await adrain(bench.work)
        done = await bench.documents.show(id)
        assert (done.processing_status, done.job_id, done.chunks_done) == ("completed", job, 3)

    on(database, main)
    assert len(graph(database)) == 5 and failed_jobs(database) == 0


@pytest.mark.parametrize("how", ["redrive", "retry"])
def test_what_could_not_be_read_is_read_again(database: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Red with what was stored told again, although the limit was raised.
    async def main(bench: Bench) -> None:
        id = (await bench.documents.accept(new("unreadable"))).document.id
        await adrain(bench.work)
        failed = await bench.documents.show(id)
        assert failed.processing_status == "failed"
        monkeypatch.setattr("tests.kg.fakes.UNREADABLE", "something else")
        if how == "redrive":
            await bench.work.aretry(failed.job_id or 0, by="ada")
        else:
            await bench.documents.retry(id, by="ada")
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed"

    on(database, main)


def test_the_same_address_again_pays_for_what_changed(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.has(URL, TEXT)
        id = (await bench.documents.accept(at())).document.id
        await adrain(bench.work)
        paid = Counter(bench.extractor.calls), Counter(bench.embed.texts)
        again = await bench.documents.accept(at())
        assert not again.existing and (again.document.id, again.document.version) == (id, 2)
        await adrain(bench.work)
        assert (bench.extractor.calls, bench.embed.texts) == paid
        assert (await bench.documents.show(id)).processing_status == "completed"
        edited = TEXT.replace("take Jobs", "take many Jobs")
        bench.web.has(URL, edited)
        await bench.documents.accept(at())
        await adrain(bench.work)
        assert bench.extractor.calls - paid[0] == {"Workers take many Jobs.\n\n": 1}
        assert await bench.documents.text(id) == edited
        assert (await bench.documents.show(id)).version == 3

    on(database, main)
    assert [word for word, _ in graph(database)] == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]


def test_an_address_that_is_gone_leaves_what_was_there(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.has(URL, TEXT)
        id = (await bench.documents.accept(at())).document.id
        await adrain(bench.work)
        bench.web.has(URL, FetchFailed("it answered 410", error_class="permanent"))
        await bench.documents.accept(at())
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "failed"
        assert await bench.documents.text(id) == TEXT
        # its bytes under the same key come after all
        taken = await bench.documents.accept(new(TEXT, key=URL))
        assert not taken.existing and taken.document.id == id
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed"
        assert set(bench.extractor.calls.values()) == {1}

    on(database, main)
    assert len(graph(database)) == 5


def test_while_it_is_under_way_an_address_is_not_fetched_again(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.has(URL, TEXT)
        taken = await asyncio.gather(*(bench.documents.accept(at()) for _ in range(10)))
        assert len({(one.document.id, one.document.job_id) for one in taken}) == 1
        assert sorted(one.existing for one in taken) == [False] + [True] * 9
        forced = await bench.documents.accept(at(force=True))
        assert not forced.existing and forced.document.version == 2
        await adrain(bench.work)
        assert bench.web.asked[URL] == 1 and set(bench.extractor.calls.values()) == {1}
        statuses = [job.status for job in await bench.work.alist(type="ingestion")]
        assert sorted(statuses) == ["cancelled", "completed"]

    on(database, main)


def test_its_cost_is_told_before_it_is_paid(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.extractor.price = 0.5
        bench.web.has(URL, TEXT)
        id = (await bench.documents.accept(at())).document.id
        await adrain(bench.work)
        waiting = await bench.documents.show(id)
        assert (waiting.processing_status, waiting.size) == ("awaiting_approval", len(TEXT)) and not bench.extractor.calls
        estimate = (await bench.work.aget(waiting.job_id or 0)).estimate
        assert estimate is not None and (estimate.high, estimate.items) == (1.5, 3)
        await bench.work.aapprove(waiting.job_id or 0, by="grace")
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed" and bench.web.asked[URL] == 1

    on(database, main)


def test_only_to_tell_it_is_fetched_and_nothing_is_stored(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.has(URL, TEXT)
        assert (await bench.documents.estimate(at())).items == 3
        assert await bench.documents.find() == []

    on(database, main)
    assert ask(database, "select count(*) from kg.blobs") == 0


def test_deleting_while_it_is_fetched(database: str) -> None:
    async def main(bench: Bench) -> None:
        bench.web.gate = asyncio.Event()
        bench.web.has(URL, TEXT)
        first = (await bench.documents.accept(at())).document
        async with bench.work.worker():
            await bench.web.reached.wait()
            await bench.documents.delete(first.id, by="ada")
            bench.web.gate.set()
            assert (await bench.work._await(first.job_id or 0, 20)).status == "cancelled"
        assert await bench.documents.find() == []

    on(database, main)
    assert graph(database) == []

"""How an application tests its jobs, with pytest; without LANEWORK_DSN the last one uses an embedded server."""

from datetime import timedelta

from lanework import Context, Lanework, Snooze, testing

app = Lanework()


@app.job(lane="interactive")
async def digest(ctx: Context, text: str, words: int = 3) -> str:
    ctx.progress(0.5, "reading")
    return " ".join(text.split()[:words])


@app.job()
def wait_for(ctx: Context, ready: bool) -> str | Snooze:
    return "done" if ready else Snooze(60)


fetched: list[str] = []


def fetch(url: str) -> str:
    fetched.append(url)
    return f"page of {url}"


@app.job()
def shout(ctx: Context, url: str) -> str:
    return ctx.step("fetch", fetch, url).upper()


def upload(text: str) -> None:
    digest.options(run_at=timedelta(hours=1)).submit(text, words=2)


def test_a_handler_alone() -> None:
    ctx = testing.RecordingContext.make()
    assert testing.run(digest, "one two three four", ctx=ctx) == "one two three"
    assert ctx.progress_reports == [(0.5, "reading")]
    assert testing.run(wait_for, ready=False) == Snooze(60)


def test_a_crash() -> None:
    ctx = testing.RecordingContext.make().crash_at("after_step:fetch")
    assert testing.work(shout, "a.example", ctx=ctx) == "PAGE OF A.EXAMPLE"
    assert fetched == ["a.example"]  # the second attempt has found it stored
    assert ctx.steps == {"fetch": "page of a.example"}


def test_what_is_submitted() -> None:
    with testing.stub(app) as stub:
        upload("one two three")
        submitted = stub.assert_submitted(digest, "one two three", words=2)
        assert submitted.options.run_at == timedelta(hours=1)


def test_for_real() -> None:
    job = digest.submit("one two three four")
    testing.drain(app, "interactive")
    assert job.result(timeout=0) == "one two three"

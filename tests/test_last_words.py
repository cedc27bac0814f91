"""How a job ends does not depend on whether its last words could be written."""

from __future__ import annotations

import pytest

from lanework import Context, Lanework
from lanework._services.recorder import Recorder
from lanework.errors import DatabaseUnavailable
from lanework.testing import drain


@pytest.mark.parametrize(("ends", "status"), [("well", "completed"), ("badly", "failed")])
def test_a_job_ends_though_the_database_was_away_for_its_last_words(
    app: Lanework, monkeypatch: pytest.MonkeyPatch, ends: str, status: str
) -> None:
    """Red while the run ended with the writer's error: the job was `running` for as long as its worker lived, and had its slot."""

    async def away(recorder: Recorder, held: object) -> None:
        raise DatabaseUnavailable("PostgreSQL is not answering")

    monkeypatch.setattr(Recorder, "drain", away)

    @app.job("talk", max_tries=1)
    async def talk(ctx: Context) -> int:
        ctx.progress(0.5, "half")
        if ends == "badly":
            raise ValueError("no")
        return 3

    job = talk.submit()
    drain(app, timeout=20)
    assert job.info().status == status
    assert (job.info().result, job.info().error) == ((3, None) if ends == "well" else (None, "ValueError: no"))

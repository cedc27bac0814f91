"""Settings of models, and keys, which are told nobody."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kg.config import KgSettings
from kg.errors import ModelDenied
from kg.models.models import Models
from kg.parts import Usage
from lanework import Context, Lanework
from lanework.errors import ConfigError
from tests.kg.models.bench import KEY, Bench, ask


def test_the_key_is_nowhere(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The provider says it aloud."""
    bench.provider.set(key="another")

    async def todo(ctx: Context) -> None:
        await ask(bench)

    with caplog.at_level(logging.DEBUG):
        job = bench.job(todo)
    assert job.error_code == "KG-222"
    assert "Incorrect API key provided" in str(job.error)
    traces = str([one.traceback for one in bench.work.attempts(job.id)])
    assert "•••" in str(job.error)
    for told in (str(job), repr(job), traces, repr(KgSettings.load({}, openai_key=KEY, anthropic_key=KEY))):
        assert KEY not in told
    with pytest.raises(ModelDenied) as caught:
        bench.run(ask(bench))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(("given", "words"), [
    ({"chat": "gpt-4o"}, "KG_CHAT: expected local or openai:MODEL or anthropic:MODEL, got 'gpt-4o'"),
    ({"chat": "openai:"}, "KG_CHAT"), ({"embed": "anthropic:m"}, "KG_EMBED: expected local or local:FOLDER or"),
    ({"chat": "local:x"}, "KG_CHAT"), ({"openai_url": "", "openai_key": ""}, "KG_OPENAI_KEY"),
    ({"chat": "anthropic:m"}, "KG_ANTHROPIC_KEY"), ({"prices": "nowhere.json"}, "KG_PRICES"),
])  # fmt: skip
def test_settings_that_are_wrong(tmp_path: Path, given: dict[str, str], words: str) -> None:
    settings = {"chat": "openai:m", "embed": "openai:e", "openai_key": KEY, **given}
    with pytest.raises(ConfigError) as caught:
        Models.from_settings(KgSettings.load({}, **settings), Lanework("postgresql://nowhere/none"))
    assert words in str(caught.value)


def test_estimates_at_todays_limits(bench: Bench) -> None:
    models = bench.make(model_concurrency=4, model_requests=60, model_tokens=1000, chat="openai:unheard")
    assert models.seconds(8, Usage(10, 10)) == 10.0
    assert models.seconds(100, Usage(10, 10), per_call=0.1) == 100.0
    assert models.seconds(1, Usage(9000, 1000), per_call=0.1) == 600.0
    assert models.warnings == ["the price of unheard is not known: it counts as 0 (KG_PRICES names a file with prices)"]

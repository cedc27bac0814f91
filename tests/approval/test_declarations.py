"""Approvals and estimators as they are declared, and estimated inline."""

from __future__ import annotations

from typing import Any

import pytest

from lanework import Above, Context, Estimate, Lanework, testing
from lanework.errors import ConfigError, InvalidResult
from lanework.job import Job

# -- declarations -------------------------------------------------------------------------------------------------------


def declared() -> Job[..., Any]:
    app = Lanework("postgresql://nowhere")

    @app.job
    def work(ctx: Context, url: str, words: int = 3) -> None: ...

    return work


def test_an_estimator_takes_the_same_arguments() -> None:
    def other(ctx: Context, adress: str) -> Estimate:
        return Estimate()

    def wants_more(ctx: Context, url: str, words: int, colour: str) -> Estimate:
        return Estimate()

    for wrong in (other, wants_more):
        with pytest.raises(ConfigError, match=r"takes the same arguments \(url, words\)"):
            declared().estimator(wrong)

    def anything(ctx: Context, **arguments: Any) -> Estimate:
        return Estimate()

    work = declared()
    work.estimator(anything)
    with pytest.raises(ConfigError, match="two estimators"):
        work.estimator(anything)


@pytest.mark.parametrize("options", [{"approval": "sometimes"}, {"approval": 5.0}, {"four_eyes": 1}, {"approval_expiry": 0}])
def test_declarations_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        Lanework("postgresql://nowhere").job(**options)(lambda ctx: None)


@pytest.mark.parametrize("wrong", [{"low": -1}, {"high": float("nan")}, {"tokens": True}, {"low": 3, "high": 2}, {"seconds": 1e13}])
def test_estimates_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidResult):
        Estimate(**wrong)
    with pytest.raises(ConfigError):
        Above(-1)


# -- testing ------------------------------------------------------------------------------------------------------------


def test_an_estimate_inline() -> None:
    app = Lanework("postgresql://nowhere")
    paid: list[str] = []

    def fetch(url: str) -> str:
        paid.append(url)
        return "page"

    @app.job
    def work(ctx: Context, url: str) -> str:
        ctx.spent(2.0, key="call")
        ctx.spent(2.0, key="call")
        return ctx.step("fetch", fetch, url)

    with pytest.raises(ConfigError, match="no estimator"):
        testing.estimate(work, "a")

    @work.estimator
    def cost(ctx: Context, url: str) -> Estimate:
        ctx.step("fetch", fetch, url)
        return Estimate(high=3)

    ctx = testing.RecordingContext.make()
    assert testing.estimate(work, "a", ctx=ctx) == Estimate(high=3)
    ctx = ctx.next_attempt()
    assert testing.run(work, "a", ctx=ctx) == "page"
    assert paid == ["a"] and ctx.cost == 2.0

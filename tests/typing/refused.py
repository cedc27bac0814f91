"""Calls that a type checker must refuse. Both checkers report an ignore that hides nothing, so each line is a test."""

from __future__ import annotations

from lanework.context import Context
from lanework.estimates import Estimate
from lanework.job import Declares


def refuse(app: Declares) -> None:
    @app.job
    async def digest(ctx: Context, url: str, words: int = 200) -> dict[str, int]:
        return {}

    @app.job("named")
    def named(ctx: Context, *, n: int) -> str:
        return ""

    digest.submit(1)  # type: ignore[arg-type]
    digest.submit()  # type: ignore[call-arg]
    digest.submit("x", words="many")  # type: ignore[arg-type]
    digest.submit("x", wordz=3)  # type: ignore[call-arg]
    digest.submit("x", 1, 2)  # type: ignore[call-arg]
    named.submit(1)  # type: ignore[call-arg]
    named.options(owner="o").submit(n="1")  # type: ignore[arg-type]
    digest.options(prio=1)  # type: ignore[call-arg]
    digest.options(priority="high")  # type: ignore[arg-type]
    digest.options(run_at="tomorrow")  # type: ignore[arg-type]
    digest.submit_many(["https://a"])  # type: ignore[list-item]
    text: str = digest.submit("x").result()  # type: ignore[assignment]
    text.upper()
    app.job(lain="night")  # type: ignore[call-overload]

    @app.job  # type: ignore[arg-type]
    def no_context(url: str) -> int:
        return 1

    @digest.estimator  # type: ignore[arg-type]
    def other_arguments(ctx: Context, adress: int) -> Estimate:
        return Estimate()

    @digest.estimator  # type: ignore[type-var]
    def no_estimate(ctx: Context, url: str, words: int = 200) -> int:
        return 1

    app.job(approval="sometimes")  # type: ignore[call-overload]

    async def twins() -> None:
        await digest.asubmit(1)  # type: ignore[arg-type]

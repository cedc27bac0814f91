"""An application with a job that costs money."""

from __future__ import annotations

from typing import Any

from lanework import Above, Context, Estimate, Lanework


class Shop:
    """An application with an expensive job; what its bodies did is in `did`."""

    def __init__(self, dsn: str, **settings: Any) -> None:
        self.app = app = Lanework(dsn, allow_unsafe=True, **settings)
        self.did: list[str] = []

        def fetch(url: str) -> str:
            self.did.append(f"fetch {url}")
            return f"page of {url}"

        @app.job(approval=Above(5.0))
        def digest(ctx: Context, url: str, words: int = 2) -> str:
            page = ctx.step("fetch", fetch, url)
            self.did.append(f"run {url}")
            ctx.spent(words * 0.5, tokens=100 * words, items=1)
            return page

        @digest.estimator
        def digest_cost(ctx: Context, url: str, words: int = 2) -> Estimate:
            ctx.step("fetch", fetch, url)
            ctx.spent(0.25)
            return Estimate(low=1, high=words, tokens=100 * words, seconds=3, warnings=["long"] if words > 9 else [])

        self.digest = digest

"""What an error means decides whether a job runs again. A classifier says it for exceptions of your own."""

import asyncio

from lanework import Context, JobFailed, Lanework, Retryable
from lanework.retries import ErrorClass

app = Lanework()


class ModelError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@app.classifier
def model_errors(error: BaseException) -> ErrorClass | None:
    """None lets the next classifier say. Look at types and codes; words in a message change."""
    if not isinstance(error, ModelError):
        return None
    return "transient" if error.reason == "overloaded" else "invalid_input"


@app.job(max_tries=5, backoff_base=0.05)
async def extract(ctx: Context, text: str) -> str:
    if not text:
        raise ModelError("empty prompt")  # invalid_input: failed at once
    if ctx.tries_used == 0:
        raise ModelError("overloaded")  # transient: again after 0.05 s × 2ⁿ, uses a try
    if ctx.attempt == 2:
        raise Retryable("slow down", error_class="throttled", retry_after=0.1)  # again when told, uses no try
    return text.upper()


async def main() -> None:
    async with app, app.worker():
        good, bad = await extract.asubmit("graph"), await extract.asubmit("")
        print(await good.aresult(timeout=60))
        for attempt in await app.aattempts(good.id):
            print(f"attempt {attempt.attempt}: {attempt.error_class}: {attempt.error}")
        try:
            await bad.aresult(timeout=60)
        except JobFailed as error:
            print(f"{error.code} {error.error_class}: {error}")


if __name__ == "__main__":
    asyncio.run(main())

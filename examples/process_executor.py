"""Jobs in child processes: real parallelism, and code that can be stopped whatever it does.

Children load this file again, so everything that starts something is under `if __name__ == "__main__":`.
"""

import asyncio
import os

from lanework import Context, JobFailed, Lanework

app = Lanework()
primes: list[int] = []


@app.hooks.on_child_start
def load() -> None:
    """Once per child, before its first job: load a model, open a client."""
    primes.extend([2, 3, 5, 7])


@app.job(executor="process", memory_limit=512 * 1024 * 1024)
def largest_prime(ctx: Context, below: int) -> dict[str, int]:
    found = primes[-1]
    for number in range(found, below):
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            found = number
    return {"prime": found, "pid": os.getpid()}


@app.job(executor="process", timeout=1, max_tries=1)
def runaway(ctx: Context) -> None:
    while True:  # never looks at ctx.cancelled: its process is ended
        pass


async def main() -> None:
    async with app, app.worker():
        answer = await (await largest_prime.asubmit(20_000)).aresult(timeout=60)
        print(answer["prime"], "computed in a child:", answer["pid"] != os.getpid())
        try:
            await (await runaway.asubmit()).aresult(timeout=60)
        except JobFailed as error:
            print(error.error_class, "-", error)


if __name__ == "__main__":
    asyncio.run(main())

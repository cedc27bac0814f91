"""A handler whose arguments have changed takes the payloads that older code has stored."""

import asyncio
from typing import Any

from lanework import Context, Lanework

old_code, app = Lanework(), Lanework()


@old_code.job("mail")
async def mail_v1(ctx: Context, to: str) -> str:
    return to


@app.job("mail", version=2)
async def mail(ctx: Context, recipients: list[str]) -> str:
    return " and ".join(recipients)


@mail.upgrade(from_version=1)
def one_to_many(payload: dict[str, Any]) -> dict[str, Any]:
    return {"recipients": [payload["to"]]}


async def main() -> None:
    async with old_code, app, app.worker():
        stored_by_old_code = await mail_v1.asubmit("Ada")
        stored_by_new_code = await mail.asubmit(["Grace", "Edsger"])
        print(await stored_by_old_code.aresult(timeout=60))
        print(await stored_by_new_code.aresult(timeout=60))


if __name__ == "__main__":
    asyncio.run(main())

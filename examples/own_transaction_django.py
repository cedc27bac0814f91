"""Submit inside Django's `transaction.atomic()`: the job exists if and only if the block commits."""

import asyncio
import os

import django
from django.conf import settings
from django.db import connection, transaction
from psycopg.conninfo import conninfo_to_dict

from lanework import Context, Handle, JobNotFound, Lanework, embedded

DSN = os.environ.get("LANEWORK_DSN") or embedded.acquire().dsn
app = Lanework(DSN)


def configure() -> None:
    """What a project has in its settings.py."""
    options = conninfo_to_dict(DSN)
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": options.pop("dbname"), "OPTIONS": options}
    settings.configure(DATABASES={"default": database})
    django.setup()


@app.job()
def welcome(ctx: Context, user: str) -> str:
    return f"welcome, {user}"


def sign_up(user: str) -> Handle[str]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("create table if not exists users (name text)")
            cursor.execute("insert into users values (%s)", [user])
        return welcome.options(connection=connection).submit(user)


def sign_up_and_fail(user: str) -> Handle[str]:
    with transaction.atomic():
        job = welcome.options(connection=connection).submit(user)
        transaction.set_rollback(True)
        return job


def main() -> None:
    configure()
    with app:
        greeted, nobody = sign_up("Ada"), sign_up_and_fail("Bob")
        asyncio.run(work_until_done(greeted))
        print(greeted.result())
        try:
            nobody.info()
        except JobNotFound as error:
            print(f"{error.code}: rolled back, so there never was a job")


async def work_until_done(job: Handle[str]) -> None:
    async with app, app.worker():
        await job.await_(timeout=60)


if __name__ == "__main__":
    main()

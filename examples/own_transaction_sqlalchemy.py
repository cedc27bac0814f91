"""Submit inside a SQLAlchemy session, sync and async: the job exists if and only if the session commits."""

import asyncio
import os

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from lanework import Context, Handle, JobNotFound, Lanework, embedded

DSN = os.environ.get("LANEWORK_DSN") or embedded.acquire().dsn
app = Lanework(DSN)
engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(DSN))


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "shop_orders"
    id: Mapped[int] = mapped_column(primary_key=True)


@app.job()
def ship(ctx: Context, order: int) -> str:
    return f"order {order} shipped"


def place_order(order: int) -> Handle[str]:
    with Session(engine) as session, session.begin():
        session.add(Order(id=order))
        return ship.options(connection=session).submit(order)


def change_my_mind(order: int) -> Handle[str]:
    with Session(engine) as session:
        session.add(Order(id=order))
        job = ship.options(connection=session).submit(order)
        session.rollback()
        return job


async def place_order_async(order: int) -> Handle[str]:
    async_engine = create_async_engine("postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(DSN))
    async with AsyncSession(async_engine) as session, session.begin():
        session.add(Order(id=order))
        job = await ship.options(connection=session).asubmit(order)
    await async_engine.dispose()
    return job


async def main() -> None:
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    async with app, app.worker():
        jobs = [await asyncio.to_thread(place_order, 1), await place_order_async(2)]
        print([await job.aresult(timeout=60) for job in jobs])
        try:
            await (await asyncio.to_thread(change_my_mind, 3)).ainfo()
        except JobNotFound as error:
            print(f"{error.code}: rolled back, so there never was a job")
    engine.dispose()


if __name__ == "__main__":
    asyncio.run(main())

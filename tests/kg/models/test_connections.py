"""What a connection that fails means: whether the call may have been paid for, and what the ledger calls it."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from kg.errors import ModelAway
from kg.models.clients import AnthropicClient, Client, OpenAIClient
from kg.models.failing import meaning
from kg.models.turns import Turn, turn_here

HALF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
SAID = {"half": HALF, "garbage": b"good evening\r\n\r\n"}


@contextmanager
def listening(how: str) -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as door:

        def serve() -> None:
            while True:
                try:
                    guest, _ = door.accept()
                except OSError:
                    return
                with guest:
                    guest.recv(65536)
                    if how == "reset":
                        guest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    elif how == "silence":
                        guest.recv(65536)  # until the client has had enough
                    guest.sendall(SAID.get(how, b""))

        threading.Thread(target=serve, daemon=True).start()
        yield door.getsockname()[1]
        door.shutdown(socket.SHUT_RDWR)


class Free(Turn):
    """Without permits."""

    def __init__(self) -> None:
        self.problem = None

    async def send(self, client: Any, request: Any, options: dict[str, Any]) -> Any:
        return await client(request, **options)


async def _error(kind: type[Client], url: str) -> Exception:
    client = kind(url, "key", 1.0)
    await client.load()
    turn_here.set(Free())
    try:
        await client.get().post("/v1/anything", body={"question": "?"}, cast_to=dict)
    except Exception as error:
        return error
    finally:
        await client.close()
    raise AssertionError("it went well")


def _meaning(kind: type[Client], url: str) -> ModelAway:
    found = meaning(asyncio.run(_error(kind, url)), "somebody", str)
    assert isinstance(found, ModelAway)
    return found


@pytest.mark.parametrize("kind", [OpenAIClient, AnthropicClient])
@pytest.mark.parametrize(
    ("how", "outcome"), [("close", "away"), ("reset", "away"), ("half", "away"), ("garbage", "away"), ("silence", "timeout")]
)
def test_who_has_heard_the_question_may_want_money(kind: type[Client], how: str, outcome: str) -> None:
    with listening(how) as port:
        found = _meaning(kind, f"http://127.0.0.1:{port}")
    assert (found.billed, found.outcome, found.again) == (None, outcome, True)
    assert ("hung up" in str(found)) == (outcome == "away")


@pytest.mark.parametrize("kind", [OpenAIClient, AnthropicClient])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_whoever_was_not_reached_has_not_been_asked(kind: type[Client], scheme: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as door:
        port = door.getsockname()[1]
    found = _meaning(kind, f"{scheme}://127.0.0.1:{port}")
    assert (found.billed, found.outcome) == (False, "away")
    assert "cannot be reached" in str(found)


def test_a_name_that_nobody_has() -> None:
    found = _meaning(OpenAIClient, "http://nobody.invalid")
    assert (found.billed, found.outcome) == (False, "away")
    assert "nobody.invalid" in str(found)

"""Reads a document in a process of its own that has limits, and ends with it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Any

from kg.config import KgSettings
from kg.documents import parsers
from kg.documents.limits import ParseLimits
from kg.documents.names import safe_name
from kg.errors import ParserKilled, TooLarge, Unreadable, Unsupported
from kg.parts import Parsed, Parser
from lanework.errors import ConfigError

#: The first line of an answer: title, meta, warnings.
_HEAD = 1_048_576
_KILLED = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


async def parse(data: bytes, media_type: str, name: str, *, limits: ParseLimits | None = None) -> Parsed:
    """The text of a document; `media_type` is one that `sniff` gives. `Unreadable` says in words what is wrong with it, a crash or
    a limit of the process included. A cancel of the caller kills the process."""
    limits = limits or ParseLimits.from_settings(KgSettings.load())
    called = safe_name(name)
    if not data:
        raise Unreadable(f"{called!r} is empty", reason="empty")
    if len(data) > limits.size:
        raise TooLarge(f"{called!r} has {len(data):,} bytes; {limits.size:,} are allowed")
    kind, _, more = media_type.partition(";")
    charset = more.partition("charset=")[2].strip()
    order = {"name": called, "characters": limits.characters, "charset": charset, **_sent(kind, called)}
    head, text = await _ask(json.dumps(order).encode() + b"\n", data, called, limits)
    return _parsed(head, text, called, kind)


def _sent(media_type: str, called: str) -> dict[str, Any]:
    """How the child comes to its parser: by name for ours, else pickled."""
    if (own := parsers.own_path(media_type)) is not None:
        return {"own": own}
    parser = parsers.find(media_type)
    if parser is None:
        raise Unsupported(f"{called!r}: there is no parser for {media_type!r}; read are {', '.join(parsers.media_types())}")
    return {"pickle": _pickled(parser), "path": sys.path, "main": _main_of(parser)}


def _pickled(parser: Parser) -> str:
    try:
        return base64.b64encode(pickle.dumps(parser)).decode()
    except Exception as error:
        raise ConfigError(f"the parser {parser!r} cannot be sent to another process: {error}") from error


def _main_of(parser: Parser) -> str:
    """A parser that stands in the script that was started: the child runs it too, under another name."""
    return getattr(sys.modules["__main__"], "__file__", "") or "" if type(parser).__module__ == "__main__" else ""


async def _ask(order: bytes, data: bytes, called: str, limits: ParseLimits) -> tuple[dict[str, Any], str]:
    child = await _start(limits)
    try:
        async with asyncio.timeout(limits.wall):
            sending = asyncio.create_task(_send(child, order, data))
            try:
                head, body = await _receive(child, called, limits)
            finally:
                sending.cancel()
            await child.wait()
    except TimeoutError:
        raise Unreadable(f"{called!r}: reading it took more than {limits.wall:g} s", reason="time") from None
    finally:
        await _end(child)
    if not head:
        raise _death(child.returncode or 0, called, limits)
    try:
        said, text = json.loads(head), body.decode()
    except ValueError:
        raise Unreadable(f"{called!r}: its parser gave an answer that is none", reason="crash") from None
    if not isinstance(said, dict) or len(text) > limits.characters:
        raise Unreadable(f"{called!r}: its parser gave an answer that it should not have", reason="crash")
    return said, text


async def _start(limits: ParseLimits) -> Process:
    # no variables of ours: a parser has no business with passwords
    environment = {
        name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "HOME")
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "kg.documents._child", str(os.getpid()), str(limits.cpu), str(limits.memory),
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, start_new_session=True, limit=_HEAD,
    )  # fmt: skip


async def _send(child: Process, order: bytes, data: bytes) -> None:
    assert child.stdin is not None
    with suppress(ConnectionError):  # it has ended: its exit code says more
        child.stdin.write(order)
        child.stdin.write(data)
        await child.stdin.drain()
        child.stdin.close()


async def _receive(child: Process, called: str, limits: ParseLimits) -> tuple[bytes, bytes]:
    """Never more than the text may have, whatever the child says."""
    assert child.stdout is not None
    try:
        head = await child.stdout.readline()
    except ValueError:
        raise Unreadable(f"{called!r}: what its parser says about it is too long", reason="crash") from None
    body = bytearray()
    while piece := await child.stdout.read(1 << 20):
        body += piece
        if len(body) > limits.characters * 4:
            raise TooLarge(f"{called!r}: its text has more than {limits.characters:,} characters")
    return (head, bytes(body)) if head.endswith(b"\n") else (b"", b"")


async def _end(child: Process) -> None:
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # and what it has started
        await asyncio.shield(child.wait())


def _death(code: int, called: str, limits: ParseLimits) -> Exception:
    megabytes = limits.memory // (1024 * 1024)
    if -code == signal.SIGXCPU:
        return Unreadable(f"{called!r}: reading it took more than {limits.cpu} s of processor time", reason="cpu")
    if -code in _KILLED:
        return ParserKilled(f"{called!r}: the process that read it was ended from outside ({signal.Signals(-code).name})")
    if code < 0:
        how = f"signal {-code} ({signal.Signals(-code).name})" if -code in set(signal.Signals) else f"signal {-code}"
        return Unreadable(
            f"{called!r}: its parser crashed with {how}: it is damaged, or needs more than {megabytes} MiB", reason="crash"
        )
    return Unreadable(f"{called!r}: its parser ended without an answer (exit code {code})", reason="crash")


def _parsed(head: dict[str, Any], text: str, called: str, media_type: str) -> Parsed:
    if "broken" in head:
        raise ConfigError(f"the parser of {media_type} cannot be started: {head['broken']}")
    if "error" in head:
        kind = TooLarge if head.get("reason") == "too_large" else Unreadable
        raise kind(f"{called!r}: {head['error']}", reason=str(head.get("reason")))
    if "\0" in text:
        raise Unreadable(f"{called!r}: there are NUL characters in its text", reason="binary")
    meta = head.get("meta")
    warnings = tuple(str(one) for one in head.get("warnings", ()))
    return Parsed(text, str(head.get("title", "")), meta if isinstance(meta, dict) else {}, warnings)

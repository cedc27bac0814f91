"""The process that reads one document: `python -P -m kg.documents._child <parent's pid> <cpu s> <memory bytes>`.

Limits itself before it sees a byte of the document. Takes an order on stdin (a line of JSON, then the document), answers on
stdout (a line of JSON, then the text), ends. Imports what its parser needs and nothing else. The answer is data and never
unpickled: whoever takes over this process has gained a process that can lie about one document.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from kg.parts import Parsed

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_FILES = 64
_NETWORK = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg", "socket.bind"}
)


def main() -> None:
    parent, cpu, memory = map(int, sys.argv[1:4])
    _limit(parent, cpu, memory)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints is no part of the answer
    order = json.loads(sys.stdin.buffer.readline())
    said, text = _answer(order, sys.stdin.buffer)
    answers.write(json.dumps(said).encode() + b"\n" + text)
    answers.flush()
    os._exit(0)  # no finalizers of libraries: they have crashed after good work before


def _limit(parent: int, cpu: int, memory: int) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:  # it died before we could ask for the signal
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a stop of the whole service is the parent's to carry out: it kills us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
    if sys.platform == "linux":  # elsewhere it is no limit, or none that a process can live with
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        _go_first()
    sys.addaudithook(_no_network)


def _go_first() -> None:
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib is an import more
        file.write("1000")


def _no_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        raise PermissionError("a parser has no network")


def _answer(order: dict[str, Any], stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    try:
        try:
            parser = _parser(order)
        except Exception as error:
            return {"broken": f"{type(error).__name__}: {error}"[:2000]}, b""
        if order["charset"]:
            from kg.documents.decoding import DECLARED  # noqa: PLC0415

            DECLARED.set(order["charset"])
        parsed = parser.parse(stream.read(), order["name"])
        return _checked(parsed, order["characters"])
    except MemoryError:
        return {"error": "it needs more memory than it may have", "reason": "memory"}, b""
    except RecursionError:
        return {"error": "it is nested too deeply", "reason": "too_deep"}, b""
    except Exception as error:
        from kg.errors import Unreadable  # noqa: PLC0415 - an import that most answers do not need

        if isinstance(error, Unreadable):
            return {"error": str(error)[:2000], "reason": error.reason}, b""
        told = f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace").decode()
        return {"error": f"it cannot be read: {told[:1000]}", "reason": "damaged"}, b""


def _parser(order: dict[str, Any]) -> Any:
    from importlib import import_module  # noqa: PLC0415

    if "own" in order:
        module, _, name = order["own"].partition(":")
        return getattr(import_module(module), name)()
    import base64  # noqa: PLC0415
    import pickle  # noqa: PLC0415

    sys.path[:] = order["path"]
    if order["main"]:
        import runpy  # noqa: PLC0415
        import types  # noqa: PLC0415

        main = types.ModuleType("__main__")
        main.__dict__.update(runpy.run_path(order["main"], run_name="__kg_main__"))
        sys.modules["__main__"] = main
    return pickle.loads(base64.b64decode(order["pickle"]))  # noqa: S301 - from our parent


def _checked(parsed: Parsed, most: int) -> tuple[dict[str, Any], bytes]:
    from kg.documents.decoding import clean  # noqa: PLC0415

    if len(parsed.text) > most:
        return {"error": f"its text has {len(parsed.text):,} characters; {most:,} are allowed", "reason": "too_large"}, b""
    text = clean(parsed.text)
    if not text.strip():
        return {"error": "there is no text in it", "reason": "no_text"}, b""
    title = " ".join(clean(parsed.title[:2000]).split())[:500]
    warnings = [clean(str(one)[:500]) for one in parsed.warnings[:50]]
    return {"title": title, "meta": parsed.meta, "warnings": warnings}, text.encode()


if __name__ == "__main__":
    main()

"""All settings of the platform. The engine's own are in `lanework.config`."""

from __future__ import annotations

from dataclasses import dataclass

from lanework.config import Loaded, setting


@dataclass(frozen=True)
class KgSettings(Loaded):
    """Given in code, else from the environment, else the default."""

    dsn: str | None = setting(None, "KG_DSN", "the PostgreSQL to use; none: LANEWORK_DSN, else an embedded one")
    host: str = setting("127.0.0.1", "KG_HOST", "the address that `kg serve` and `kg up` listen on")
    port: int = setting(8000, "KG_PORT", "their port", low=0, high=65_535)
    processes: int = setting(2, "KG_PROCESSES", "HTTP processes", low=1, high=64)
    session_hours: float = setting(12.0, "KG_SESSION_HOURS", "how long a login lasts", unit="h", low=0.1, high=8760)
    secure_cookies: bool = setting(False, "KG_SECURE_COOKIES", "on: the login cookie is sent over https alone")
    logins_per_minute: int = setting(10, "KG_LOGINS_PER_MINUTE", "login attempts per name and per address", low=1)
    submits_per_minute: int = setting(600, "KG_SUBMITS_PER_MINUTE", "submits per user and process", low=1)
    body_limit: int = setting(1_048_576, "KG_BODY_LIMIT", "largest body of a request that is no upload", unit="bytes", low=1024)
    imports: str = setting("", "KG_IMPORTS", "modules that declare jobs on `kg.app.work`, with commas between them")
    cors: str = setting("", "KG_CORS", "origins that may call from a browser, with commas between them; none: nobody")
    eval: str | None = setting(
        None, "KG_EVAL", "folder of the data that `kg eval` measures with; none: shared/eval beside the checkout"
    )
    local_model: str | None = setting(
        None,
        "KG_LOCAL_MODEL",
        "folder with a model.onnx and a tokenizer.json to embed with; none: all-MiniLM-L6-v2 of the extra `local`",
    )
    local_threads: int = setting(
        1, "KG_LOCAL_THREADS", "threads of the local embedding model; more processes scale better", low=1, high=64
    )

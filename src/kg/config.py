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

    # documents
    chunk_overlap: int = setting(200, "KG_CHUNK_OVERLAP", "words that a chunk shares with the one before", low=0, high=10_000)
    chunk_words: int = setting(1000, "KG_CHUNK_WORDS", "words of a chunk; 0.8 to 1.5 of it", low=20, high=100_000)
    document_limit: int = setting(50_000_000, "KG_DOCUMENT_LIMIT", "largest document", unit="bytes", low=1)
    fetch_allow: str = setting(
        "",
        "KG_FETCH_ALLOW",
        "hosts that may be fetched although they are not public, `host` or `host:port`, with commas between them",
    )
    fetch_timeout: float = setting(60.0, "KG_FETCH_TIMEOUT", "limit of fetching one address, redirects included", unit="s", low=0.1)
    parse_cpu: int = setting(60, "KG_PARSE_CPU", "processor time that reading a document may take", unit="s", low=1)
    parse_memory: int = setting(512, "KG_PARSE_MEMORY", "address space that reading a document may take", unit="MiB", low=64)
    parse_wall: float = setting(120.0, "KG_PARSE_WALL", "time that reading a document may take by the clock", unit="s", low=0.1)
    text_limit: int = setting(20_000_000, "KG_TEXT_LIMIT", "longest text of a document", unit="characters", low=1)

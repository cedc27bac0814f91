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
    auto_approve: float = setting(1.0, "KG_AUTO_APPROVE", "a document that may cost more waits for an approval", unit="USD", low=0)
    chunks_at_once: int = setting(
        16, "KG_CHUNKS_AT_ONCE", "chunks of one document that are read at a time, and that wait to be stored", low=1, high=1000
    )
    imports: str = setting("", "KG_IMPORTS", "modules that declare jobs on `kg.app.work`, with commas between them")
    topics: str = setting("", "KG_TOPICS", "topics of events of one's own that `/events` follows, with commas between them")
    cors: str = setting("", "KG_CORS", "origins that may call from a browser, with commas between them; none: nobody")

    # documents
    chunk_overlap: int = setting(200, "KG_CHUNK_OVERLAP", "words that a chunk shares with the one before", low=0, high=10_000)
    chunk_words: int = setting(1000, "KG_CHUNK_WORDS", "words of a chunk; 0.8 to 1.5 of it", low=20, high=100_000)
    phrase_likeness: float = setting(
        0.5,
        "KG_PHRASE_LIKENESS",
        "cosine from which a phrase is taken for a concept that is not called so; 0.5 was measured for the local model",
        low=0,
        high=1,
    )
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
    anthropic_key: str = setting("", "KG_ANTHROPIC_KEY", "the key for Anthropic", secret=True)
    anthropic_url: str = setting("", "KG_ANTHROPIC_URL", "where Anthropic is; none: its own address")
    calls_days: float = setting(
        365.0, "KG_CALLS_DAYS", "how long the ledger of model calls is kept", unit="days", low=1, high=36_500
    )
    chat: str = setting(
        "local", "KG_CHAT", "the model that reads documents: `openai:MODEL`, `anthropic:MODEL`; `local`: none, by rules"
    )
    embed: str = setting("local", "KG_EMBED", "the model that embeds: `local`, `local:FOLDER` (of one's own) or `openai:MODEL`")
    embed_dimensions: int = setting(
        0, "KG_EMBED_DIMENSIONS", "numbers in its vectors, asked for; 0: as many as it gives", low=0, high=4000
    )
    model_concurrency: int = setting(
        8, "KG_MODEL_CONCURRENCY", "calls of one provider at a time, over all processes", low=1, high=10_000
    )
    model_requests: int = setting(
        0, "KG_MODEL_REQUESTS", "calls of one provider per minute, over all processes; 0: any number", low=0
    )
    model_retries: int = setting(
        5, "KG_MODEL_RETRIES", "how often a call that failed is made again; waiting after a 429 counts not", low=0, high=50
    )
    model_timeout: float = setting(120.0, "KG_MODEL_TIMEOUT", "limit of one call", unit="s", low=0.1, high=3600)
    model_tokens: int = setting(0, "KG_MODEL_TOKENS", "tokens of one provider per minute, over all processes; 0: any number", low=0)
    openai_key: str = setting("", "KG_OPENAI_KEY", "the key for OpenAI, or for the server at KG_OPENAI_URL", secret=True)
    openai_url: str = setting(
        "", "KG_OPENAI_URL", "a server that speaks OpenAI's protocol (vLLM, Ollama, llama.cpp); none: OpenAI itself"
    )
    prices: str = setting("", "KG_PRICES", "a JSON file of prices that come before the built-in ones")
    eval: str | None = setting(
        None, "KG_EVAL", "folder of the data that `kg eval` measures with; none: shared/eval beside the checkout"
    )
    local_threads: int = setting(
        1, "KG_LOCAL_THREADS", "threads of the local embedding model; more processes scale better", low=1, high=64
    )

    @property
    def local_folder(self) -> str | None:
        """Of a local model of one's own."""
        provider, _, folder = self.embed.partition(":")
        return folder if provider == "local" and folder else None

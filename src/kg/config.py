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

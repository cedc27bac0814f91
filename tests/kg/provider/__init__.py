"""A model provider that answers as OpenAI's and Anthropic's do, with no model in it, and with every fault that a real one has.

    python -m tests.kg.provider --port 0        prints `provider: http://127.0.0.1:PORT` when it is ready

    POST /v1/chat/completions, /v1/embeddings, /v1/messages (streams too), GET /v1/models
    GET /control                what was counted
    POST /control/set           {"latency": 0.2, "allowed": 8, …}, see `Knobs`
    POST /control/faults        a list of `Fault`; the first that fits a call and has times left is done to it
    POST /control/wait          {"calls": 5, "now": 2}: answers when the counts are at least these
    POST /control/reset         as at the start; hanging calls are let go

Answers depend on the request alone: names with capital letters are concepts, names in one sentence are related, texts with the same
words have near vectors. Tests use it by `started()`, which gives a `Provider`.
"""

from __future__ import annotations

from tests.kg.provider.answers import document_of, extraction, spoil
from tests.kg.provider.client import Provider, started
from tests.kg.provider.orders import Counts, Fault

__all__ = ["Counts", "Fault", "Provider", "document_of", "extraction", "spoil", "started"]

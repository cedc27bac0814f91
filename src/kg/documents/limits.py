"""What reading one document may cost."""

from __future__ import annotations

from dataclasses import dataclass

from kg.config import KgSettings


@dataclass(frozen=True)
class ParseLimits:
    """Processor and wall time in seconds, address space and document in bytes, text in characters."""

    cpu: int = 60
    wall: float = 120.0
    memory: int = 512 * 1024 * 1024
    size: int = 50_000_000
    characters: int = 20_000_000

    @classmethod
    def from_settings(cls, settings: KgSettings) -> ParseLimits:
        return cls(
            cpu=settings.parse_cpu,
            wall=settings.parse_wall,
            memory=settings.parse_memory * 1024 * 1024,
            size=settings.document_limit,
            characters=settings.text_limit,
        )

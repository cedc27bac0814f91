"""What is in the table of jobs."""

from __future__ import annotations

from typing import Any

import psycopg


def count(db: psycopg.Connection[Any]) -> int:
    row = db.execute("select count(*) from lanework.all_jobs").fetchone()
    return int(row[0]) if row else -1

"""The same instrumented database as the tests of the SQL."""

from tests.sql.conftest import _kept, _wiped, another, engine, shared_database

__all__ = ["_kept", "_wiped", "another", "engine", "shared_database"]

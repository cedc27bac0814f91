"""The server's configuration. It is rewritten at every start; `alter system` wins over it and is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lanework._embedded.home import Home

_HEAD = "# Written by lanework at every start of the server. To change a setting use: alter system set …\n"

_TUNING = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "autovacuum_naptime": "10s",  # a queue's tables die young; the default minute lets them bloat
    "jit": "off",  # the engine's statements are shorter than their compilation
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

# One file per weekday, begun anew each week: the log cannot grow for ever.
_LOG = {
    "logging_collector": "on",
    "log_filename": "server-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_checkpoints": "off",
    "log_startup_progress_interval": "2s",  # recovery must be seen to move, see Patience
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


# A server whose data may vanish keeps little of its log: several of them fit into memory.
_TRANSIENT = {"max_wal_size": "128MB", "min_wal_size": "32MB", "wal_init_zero": "off"}


@dataclass(frozen=True, slots=True)
class Settings:
    tcp_port: int | None = None  # None: the unix socket only
    durable: bool = True  # False is for tests whose data may vanish with the machine

    @property
    def port(self) -> int:
        return self.tcp_port or 5432

    def configuration(self, home: Home) -> str:
        safety = "on" if self.durable else "off"
        values = {
            "listen_addresses": "127.0.0.1" if self.tcp_port else "",
            "port": str(self.port),
            "unix_socket_directories": str(home.sockets),
            "unix_socket_permissions": "0700",
            "hba_file": str(home.root / "pg_hba.conf"),
            "log_directory": str(home.log),
            "fsync": safety,
            "full_page_writes": safety,
            "synchronous_commit": safety,
        }
        more = {} if self.durable else _TRANSIENT
        return _HEAD + "".join(f"{name} = {_quoted(value)}\n" for name, value in (values | _TUNING | _LOG | more).items())

    @staticmethod
    def authentication() -> str:
        local = "local all all scram-sha-256\n"
        return _HEAD + local + "host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n"


def running_port(data: Path) -> int:
    """The port of the server that runs in this folder, as it wrote it down itself."""
    try:
        return int((data / "postmaster.pid").read_text().splitlines()[3])
    except (OSError, IndexError, ValueError):
        return Settings().port


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"

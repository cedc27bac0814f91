"""Every file in `examples/` is run as a user would run it: a process of its own, here against a throw-away database."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT_S = 120
ROLLED_BACK = r"LW-310: rolled back, so there never was a job"

#: What each prints, as a pattern over its whole output.
OUTPUT = {
    "approval.py": r"short: 2 chapters, nobody had to be asked\n"
    r"long: awaiting_approval, up to 4\.8 USD is over 2\.0 USD\napproved by grace, up to 5\.00\n"
    r"estimate 2\.40 to 4\.80, 8000 tokens\nactual   3\.60, 7200 tokens, 8 chapters\n",
    "budget.py": r"completed None\nblocked budget:owner:alice\nspent 0\.3\nwords 1\n",
    "checkpoint.py": r"\{'done': 10, .*'last_attempt': 2.*\}\n"
    r"attempt 1 ended by signal 9 \(SIGKILL\)\nattempt 1 starts at row 0\nattempt 2 starts at row 6\n",
    "continue_job.py": r"first: failed\nsame steps: text of example.org, in 5 words\n"
    r"again from summary: text of example.org, in 50 words\n"
    r"\['fetched example.org', 'summarised in 5 words'\]\n\[\]\n\['summarised in 50 words'\]\n",
    "events.py": r"submitted\nstarted\n(?:line: page [12]\n|progress: (?:0\.5|1)\n){2,4}completed\n"
    r"hook: completed in \d+\.\d s\nafter the first: started .*completed\n1 submitted, 1 completed\n",
    "dead_letters.py": r"5 dead letters: unknown: LookupError: page <n>: there is no model <text>\ntold of each once: True\n"
    r"page 4 by large\nredrive done: 5 of 5, 0 groups left\n",
    "exactly_once.py": r"500 cents after 2 attempts\nbookings \[\('ada', 500\)\]\nreceipts \[\('ada', 500\)\]\n"
    r"notes \[\('attempt 1 was here',\), \('attempt 2 was here',\)\]\n",
    "fan_out.py": r"\{'pages': 3, 'words': 6\}\n\{'pages': 2, 'words': 3\}\nLW-312 \w+ - .*1 of its children did not complete.*\n"
    r"page\[0\] completed 2\npage\[1\] failed None\npage\[2\] completed 1\n",
    "fair_lane.py": r"no_worker: no worker is alive → lanework worker module:app\nada was number [12] of 21\nlane: \w+\n",
    "fenced_service.py": r"version 1, 1 write in 2 attempts\n409: a lower fence is refused; the document is still 'first text'\n",
    "http_app.py": r"\{'you': 'ada'\}\n202 ada\nHello, Ada!\n404 401\n.*workers:view.*\n\{'max_slots': \{'old': 1, 'new': 3\}\}\n",
    "in_process.py": r"Hello, Ada!\n",
    "lanes_at_runtime.py": r"waiting: 20\nchanged: \(1, 5\)\nsum: 190\n"
    r"LW-320 max_slots: expected 0 to 10000 or none, got 10001\n",
    "operating.py": r"would be cancelled: 1500\ncancelled: 1500 of 1500\npriority was 0\n"
    r"in this order: wednesday, monday, tuesday\n"
    r"during the backup: approved\nada everything.drain everything\nada operation.start operation\nada job.priority job\n"
    r"ada everything.resume everything\n",
    "own_parser.py": r"people \{'rows': 2\}\n0-63: name: Ada Lovelace; born: 1815; known for: the first program\.\n"
    r"63-125: name: Grace Hopper; .*\nKG-211 'empty\.csv': there are no rows in it\n",
    "own_executor.py": r"hill\.png\nlake\.png\n",
    "own_transaction_django.py": rf"welcome, Ada\n{ROLLED_BACK}\n",
    "own_transaction_psycopg.py": rf"\['invoice for order 1', 'invoice for order 2'\]\n{ROLLED_BACK}\n",
    "own_transaction_sqlalchemy.py": rf"\['order 1 shipped', 'order 2 shipped'\]\n{ROLLED_BACK}\n",
    "paid_pipeline.py": r".*: 10 chapters\n10 workers were killed, \d+ attempts made\n"
    r"12 steps, 12 payments; the provider was called \d+ times\n",
    "plain_sql.py": r"document 1 indexed\n1 job in all\n",
    "process_executor.py": r"19997 computed in a child: True\ntimeout - job \d+ \(runaway\) failed as timeout: .*\n",
    "progress_and_log.py": r"(?s).*running .*page \d+ of 10\n.*result \{'pages': 10\}\n"
    r"stdout +printed lines .*\nwarning +pages: and so is logging\ninfo +and what it says itself\n",
    "provider_limit.py": r"answers: 45\nat once: 2\n",
    "retriever.py": r"0\.8\d claims\.md: A claim that nobody renews .*\n0\.\d\d \w+\.md: .*\n",
    "retries.py": r"GRAPH\nattempt 1: transient: .*ModelError: overloaded\nattempt 2: throttled: .*Retryable: slow down\n"
    r"LW-312 invalid_input: job \d+ \(extract\) failed as invalid_input: .*\n",
    "schedules.py": r"completed read a\.pdf\ncompleted read b\.pdf\nskipped condition said no\n"
    r"next: \['02:30 CES?T', '0[23]:[03]0 CES?T'\]\nforget \{'removed': 3\}\n",
    "session_lock.py": r"409: permit 'chat-7' is not free\nthe fence has risen: True\n",
    "sessions.py": r"\{'ada': \['one', 'two', 'four'\], 'bob': \['one', 'two', 'four'\]\}\n6 completed, 2 failed\n",
    "throttled.py": r"status 200\nattempts 2 tries 0\n",
    "versions.py": r"Ada\nGrace and Edsger\n",
}

pytestmark = [pytest.mark.processes, pytest.mark.pg(18)]


@pytest.mark.parametrize("name", sorted(OUTPUT))
def test_prints_what_it_should(name: str, database: str) -> None:
    done = _run(name, database)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(OUTPUT[name], done.stdout), done.stdout
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_first_job_with_a_worker_of_the_command_line(database: str) -> None:
    with _worker("first_job.py", database) as worker:
        done = _run("first_job.py", database)
        assert (done.returncode, done.stdout) == (0, "Hello, Ada!\n"), done.stderr
    assert worker.returncode == 0


def test_the_tests_of_an_application(database: str) -> None:
    done = _run("test_digest.py", database, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_first_job_is_ten_lines() -> None:
    lines = [line for line in (EXAMPLES / "first_job.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 10


def test_all_are_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*OUTPUT, "first_job.py", "test_digest.py"}


def _run(name: str, database: str, *how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(how or ["-X", "dev"]), str(EXAMPLES / name)]
    return subprocess.run(command, env=_environment(database), capture_output=True, text=True, timeout=LIMIT_S, check=False)


@contextmanager
def _worker(name: str, database: str) -> Iterator[subprocess.Popen[bytes]]:
    """Ended with SIGTERM, as an init system would."""
    command = [str(Path(sys.executable).with_name("lanework")), "worker", str(EXAMPLES / name)]
    with subprocess.Popen(command, env=_environment(database), stderr=subprocess.DEVNULL) as process:
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT_S)
        finally:
            process.kill()


def _environment(database: str) -> dict[str, str]:
    return {**os.environ, "LANEWORK_DSN": database, "PYTHONUNBUFFERED": "1"}

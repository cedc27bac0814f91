"""The words of the command line, and help about them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap

import pytest

from lanework import errors
from lanework.cli import main
from lanework.cli.parser import COMMANDS, GROUPS
from lanework.config import Settings


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert all(re.search(rf"^ +{name} ", out, re.M) for name in COMMANDS)
    codes = {kind.exit_code for kind in errors.BY_CODE.values()} | {0, 130}
    assert codes <= {int(found) for found in re.findall(r"(?<!\S)(\d+)  \w", out)}
    assert all(len(line) <= 80 for line in out.splitlines())


WORDS = [[name] for name in COMMANDS] + [[group, name] for group, names in GROUPS.items() for name in names]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    assert f"lanework {' '.join(words)}" in capsys.readouterr().out


def test_help_imports_nothing_that_it_does_not_need() -> None:
    """What `import lanework` itself brings is not the command line's."""
    script = """
        import sys, lanework
        before = set(sys.modules)
        from lanework.cli import main
        try:
            main(["--help"])
        except SystemExit:
            pass
        new = {name for name in set(sys.modules) - before if name.startswith("lanework")}
        sys.stderr.write(" ".join(sorted(new)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], text=True, capture_output=True, timeout=60, check=False)
    assert done.stderr.split() == ["lanework.cli", "lanework.cli.parser", "lanework.cli.text", "lanework.errors"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert re.fullmatch(r"lanework \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_wrong_words_are_exit_code_2_and_show_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["status", "--dns", "postgresql://me:geheim@host/db"])
    err = capsys.readouterr().err
    assert left.value.code == 2
    assert "geheim" not in err and "postgresql://me:***@host/db" in err


def test_the_benchmark_gets_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanework.bench import command

    seen: list[list[str]] = []

    def measure(words: list[str]) -> int:
        seen.append(words)
        return 0

    monkeypatch.setattr(command, "main", measure)
    assert main(["--dsn", "x", "bench", "--quick", "-o", "json"]) == 0
    assert main(["bench", "--dsn", "y"]) == 0
    assert seen == [["--quick", "-o", "json", "--dsn", "x"], ["--dsn", "y"]]


def test_config_shows_where_from_and_no_password(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LANEWORK_GRACE", "12")
    assert main(["config", "--dsn", "postgresql://me:geheim@host/db", "-o", "json"]) == 0
    out = capsys.readouterr().out
    rows = {row["name"]: row for row in json.loads(out)}
    assert "geheim" not in out and "password=***" in rows["dsn"]["value"]
    assert (rows["grace"]["value"], rows["grace"]["origin"], rows["grace"]["unit"]) == (12.0, "LANEWORK_GRACE", "s")
    assert rows["expiry"]["origin"] == "default"
    assert set(rows) == {item["name"] for item in Settings.describe()}

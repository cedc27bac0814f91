"""Settings: where a value comes from, and what is refused. No database."""

from __future__ import annotations

from dataclasses import fields

import pytest

from lanework.config import Settings
from lanework.errors import ConfigError


def test_code_wins_over_the_environment_over_the_default_and_the_origin_tells() -> None:
    environ = {"LANEWORK_EXPIRY": "30", "LANEWORK_FENCE_AFTER": "25", "LANEWORK_NOTIFY": "off", "LANEWORK_DSN": ""}
    settings = Settings.load(environ, fence_after=15.0, beat=None)
    assert (settings.expiry, settings.fence_after, settings.notify, settings.beat, settings.dsn) == (30.0, 15.0, False, 1.0, None)
    origin = settings.origin
    assert (origin["expiry"], origin["fence_after"], origin["beat"]) == ("LANEWORK_EXPIRY", "code", "default")
    assert origin["dsn"] == "default"  # an empty variable is none


def test_values_are_of_the_declared_kind() -> None:
    environ = {item.metadata["env"]: "7" for item in fields(Settings) if item.type == "int"}
    settings = Settings.load(environ)
    assert {getattr(settings, item.name) for item in fields(Settings) if item.type == "int"} == {7}
    for word, meaning in {"1": True, "TRUE": True, "yes": True, "on": True, "0": False, "No": False, "off": False}.items():
        assert Settings.load({"LANEWORK_WORKER": word}).worker is meaning


@pytest.mark.parametrize(
    ("environ", "given", "words"),
    [
        ({"LANEWORK_MAX_JOBS": "many"}, {}, ["LANEWORK_MAX_JOBS", "int", "'many'"]),
        ({"LANEWORK_NOTIFY": "maybe"}, {}, ["LANEWORK_NOTIFY", "on or off", "'maybe'"]),
        ({"LANEWORK_BEAT": "nan"}, {}, ["beat"]),
        ({}, {"max_jobs": 0}, ["max_jobs", "1 to 100000", "0"]),
        ({}, {"grace": -1}, ["grace", "0 to 86400 s", "-1"]),
        ({}, {"child_jobs": 0}, ["child_jobs", "at least 1"]),
        ({}, {"max_jobs": "12"}, ["max_jobs", "'12'"]),
        ({}, {"migrate": "yes"}, ["migrate", "'auto' or 'check'", "'yes'"]),
        ({}, {"expiry": 10, "fence_after": 10}, ["fence_after (10 s) must be below expiry (10 s)"]),
        ({}, {"pol_interval": 3}, ["pol_interval", "no such setting"]),
    ],
)
def test_what_is_wrong_is_said_with_the_name_and_the_value(
    environ: dict[str, str], given: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load(environ, **given)
    for word in words:
        assert word in str(caught.value)


def test_every_setting_is_described_with_unit_default_and_a_name_of_its_own() -> None:
    rows = Settings.describe()
    assert {row["name"] for row in rows} == {item.name for item in fields(Settings)} - {"origin"}
    assert len({row["env"] for row in rows}) == len(rows)
    for row in rows:
        assert row["env"] == f"LANEWORK_{row['name'].upper()}"
        assert len(row["help"]) > 10
        # durations say that they are seconds
        assert (row["unit"] == "s") == (type(row["default"]) is float), row["name"]

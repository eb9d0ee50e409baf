import re
from pathlib import Path

import pytest

from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.limits import Limits
from vardy_worker.settings import Settings, load_settings

TEXT = (Path(__file__).parents[3] / "docs" / "settings.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = {name: (default, what) for name, default, what in ROW.findall(TEXT)}
FIELDS = {**Settings.model_fields, **Limits.model_fields}


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_is_documented_as_it_is(name: str) -> None:
    default, what = ROWS[f"VARDY_{name.upper()}"]
    field = FIELDS[name]
    expected = field.default
    if isinstance(expected, tuple):
        expected = ",".join(expected)
    if isinstance(expected, bool):
        expected = str(expected).lower()
    assert default == (f"`{expected}`" if expected != "" else "–")
    assert what == field.description


def test_no_setting_is_documented_that_does_not_exist() -> None:
    assert set(ROWS) == {f"VARDY_{name.upper()}" for name in FIELDS}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("VARDY_API_PORT", "eighty"),
        ("VARDY_NAMESPACE", "No Spaces"),
        ("VARDY_WORKER_QUEUES", "run,walk"),
        ("VARDY_CALLS_MAX", "many"),
        ("VARDY_GUEST_MEMORY_MIB_MAX", "0"),
        ("VARDY_LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=variable) as caught:
        load_settings()
    assert caught.value.details == {"setting": variable}
    assert "\n" not in caught.value.message


def test_the_audit_trail_is_kept_at_least_as_long_as_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_JOB_RETENTION_SECONDS", str(500 * 86_400))
    with pytest.raises(SettingsError, match="VARDY_AUDIT_RETENTION_SECONDS is wrong: it must be at least as long as"):
        load_settings()
    monkeypatch.setenv("VARDY_AUDIT_RETENTION_SECONDS", str(500 * 86_400))
    assert load_settings().audit_retention_seconds == 500 * 86_400


def test_a_missing_setting_is_named_with_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VARDY_REDIS_URL", raising=False)
    with pytest.raises(SettingsError, match=r"VARDY_REDIS_URL is not set \(Redis or Valkey"):
        load_settings().need("redis_url")


def test_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_MODEL_FALLBACKS", "openai/a, anthropic/b ,")
    assert load_settings().model_fallbacks == ("openai/a", "anthropic/b")

"""docs/security.md names modules, tests, settings and limits that exist, and deploy/ keeps to its advice."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from vardy_api.http import framing, json_body, middleware, server
from vardy_api.operations import audit, rule_tests
from vardy_api.shapes import MODEL_TEXT_MAX, WAIT_SECONDS_MAX
from vardy_worker.contracts.errors import PROBLEMS
from vardy_worker.contracts.limits import Limits
from vardy_worker.settings import Settings

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
THREATS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.partition("## Threats")[2].partition("## What is not defended")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| threat")
]
TESTS = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?(?:def )?(test_\w+)(?:\(| = )", file.read_text(encoding="utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("row", THREATS, ids=[row[0][:60] for row in THREATS])
def test_each_threat_has_a_place_in_the_code_and_a_test_that_exist(row: list[str]) -> None:
    threat, stopped_by, where, shown = row
    assert threat
    assert stopped_by
    modules, tests = re.findall(r"`(\S+)`", where), re.findall(r"`(\w+)`", shown)
    assert modules
    assert tests
    assert [module for module in modules if not (ROOT / module).is_file()] == []
    assert [test for test in tests if test not in TESTS] == []


def test_there_are_threats_of_each_kind() -> None:
    assert len(THREATS) > 30


def test_every_setting_and_code_that_is_named_exists() -> None:
    known = {f"VARDY_{name.upper()}" for name in (*Settings.model_fields, *Limits.model_fields)}
    assert set(re.findall(r"VARDY_[A-Z_]+", TEXT)) <= known
    for status, code in re.findall(r"`(\d{3})` `([a-z_]+\.[a-z_]+)`", TEXT):
        assert PROBLEMS[code][0] == int(status)


LIMITS = dict(
    re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", TEXT.partition("## Limits of requests")[2], re.MULTILINE)
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("headers and request line together", f"{framing.HEAD_BYTES_MAX // 1024} KiB"),
        ("request line", f"{framing.REQUEST_LINE_BYTES_MAX // 1024} KiB"),
        ("headers", f"{framing.HEADERS_MAX}"),
        ("body", f"({Settings.model_fields['request_bytes_max'].default // 2**20} MiB)"),
        ("chunks of a body", f"{framing.CHUNKS_MAX:,}"),
        (
            "levels, and objects and arrays, of a body",
            f"{json_body.JSON_DEPTH_MAX}, and {json_body.JSON_BRACKETS_MAX:,}",
        ),
        ("text that is searched for a program", f"{MODEL_TEXT_MAX:,} characters"),
        ("time until the headers are complete", f"{server.HEAD_SECONDS_MAX:g} s"),
        ("time from there until the body is complete", f"{middleware.BODY_SECONDS_MAX:g} s"),
        (
            "time that a client may leave an answer lying",
            f"{server.STALL_SECONDS_MAX:g} s for each {server.STALL_BYTES_MIN // 1024} KiB",
        ),
        ("time that an idle connection stays open", f"{server.KEEP_ALIVE_SECONDS} s"),
        ("time that a request may be held back to wait", f"{WAIT_SECONDS_MAX} s"),
        ("time of one page of rules tried over plans", f"{rule_tests.SECONDS_MAX:g} s"),
        ("entries of the audit trail checked for one page", f"{audit.CHECK_ENTRIES_MAX:,}"),
        ("connections to one process", f"({Settings.model_fields['connections_max'].default:,})"),
        ("time that Redis may take", f"({Settings.model_fields['redis_timeout_seconds'].default:g})"),
    ],
)
def test_each_limit_is_told_as_it_is(name: str, said: str) -> None:
    assert said in LIMITS[name]


def test_every_header_of_every_answer_is_named() -> None:
    assert [name for name in middleware.SECURITY_HEADERS if f"`{name}" not in TEXT] == []
    assert f"Content-Security-Policy: {middleware.SECURITY_HEADERS['Content-Security-Policy']}" in TEXT


# --- the proxy -------------------------------------------------------------------------------------------


def block(language: str) -> str:
    """The one code block of a language in the section about proxies."""
    section = OPERATIONS.partition("## Behind a proxy")[2].partition("\n## ")[0]
    [found] = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    text: str = found
    return text


def seconds(text: str, directive: str) -> int:
    found = re.search(rf"{directive} (\d+)s;", text)
    assert found, directive
    return int(found[1])


def test_the_nginx_of_the_documentation_lets_waiting_and_streaming_through_and_forges_nothing() -> None:
    nginx = block("nginx")
    assert seconds(nginx, "proxy_read_timeout") > WAIT_SECONDS_MAX
    assert seconds(nginx, "keepalive_timeout") < server.KEEP_ALIVE_SECONDS, "or nginx sends into what is being closed"
    assert "proxy_buffering off;" in nginx
    assert "proxy_http_version 1.1;" in nginx
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx, "what clients write themselves is dropped"
    assert 'proxy_set_header Connection "";' in nginx
    assert f"client_max_body_size {Settings.model_fields['request_bytes_max'].default // 2**20}m;" in nginx
    assert re.search(r"location = /metrics \{\s+deny all;", nginx)
    assert "ssl_certificate " in nginx
    assert nginx.count("{") == nginx.count("}")


def test_the_caddy_of_the_documentation_does_the_same() -> None:
    caddy = block("caddyfile")
    assert "flush_interval -1" in caddy
    assert "header_up X-Forwarded-For {remote_host}" in caddy
    assert re.search(r"keepalive (\d+)s", caddy)
    assert int(re.findall(r"keepalive (\d+)s", caddy)[0]) < server.KEEP_ALIVE_SECONDS
    assert "respond /metrics 404" in caddy
    assert caddy.count("{") == caddy.count("}")


# --- what is deployed ------------------------------------------------------------------------------------


def test_the_composed_deployment_has_no_default_secret_and_opens_nothing_but_the_api_on_this_machine() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8000:8000"]}
    command = services["redis"]["command"]
    assert re.fullmatch(r"\$\{REDIS_PASSWORD:\?.+\}", command[command.index("--requirepass") + 1])
    assert compose["x-vardy"]["environment"]["VARDY_REDIS_URL"] == "redis://:${REDIS_PASSWORD}@redis:6379/0"


def test_the_image_runs_as_a_user_of_its_own_from_hashed_packages() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER vardy$", dockerfile, re.MULTILINE)
    assert "--require-hashes -r requirements.lock" in dockerfile
    assert not re.search(r"(?i)(password|secret|api_key)\s*=", dockerfile)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_the_lock_files_have_hashes_and_no_release_that_is_known_to_be_malware(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    for bad in ("1.82.7", "1.82.8"):
        assert f"litellm=={bad} " not in text


def test_no_release_that_is_known_to_be_malware_can_be_chosen() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(text) for text in project["project"]["dependencies"]]
    [litellm] = [requirement for requirement in wanted if requirement.name == "litellm"]
    assert not any(litellm.specifier.contains(bad) for bad in ("1.82.7", "1.82.8"))

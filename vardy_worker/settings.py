"""Settings from the environment, prefix `VARDY_`: frozen, and validated at start.

A wrong or missing setting stops the start with one sentence that names it
(`SettingsError`). Limits of `contracts.limits` are settings too, by their own names.
"""

from __future__ import annotations

import os
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from vardy_worker.contracts.errors import SettingsError
from vardy_worker.contracts.job import QueueName
from vardy_worker.contracts.limits import Limits
from vardy_worker.contracts.quota import Count, Dollars, Quota, QuotaOf, Quotas, Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "VARDY_"


class Settings(BaseSettings):
    """Everything that can be set. Field names in capitals, with the prefix, are the variables."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", case_sensitive=False)

    redis_url: str = Field("", description="Redis or Valkey: `redis://`, `rediss://`, `unix://`, `redis+sentinel://`")
    redis_timeout_seconds: float = Field(5, ge=1, le=60, description="how long Redis may take to answer")
    namespace: str = Field("vardy", pattern=r"^[a-z][a-z0-9_-]{0,39}$", description="prefix of every key")
    functions: str = Field("", description="the company's functions, as `module:attribute`")
    rules: str = Field("", description="a rules file that the API applies at its start if it differs")

    model: str = Field("", description="the main model, by its litellm name")
    model_fallbacks: Annotated[tuple[str, ...], NoDecode] = Field((), description="tried in order, comma-separated")
    judge_model: str = Field("", description="the model behind `classify` and `ai`, by its litellm name")
    judge_cache_seconds: int = Field(
        90 * 86_400, ge=0, description="how long an answer of the judge is kept for the same text; 0: not at all"
    )
    model_timeout_seconds: float = Field(60, gt=0, description="one model call")
    model_retries: int = Field(2, ge=0, le=10, description="retries on rate limits, timeouts and server errors")

    approval_ttl_seconds: int = Field(86_400, ge=1, description="how long a plan waits for people")
    four_eyes: bool = Field(
        True,  # noqa: FBT003 - pydantic takes the default first
        description="the requester never approves, nor reviews the recipe whose envelope counts",
    )
    job_retention_seconds: int = Field(30 * 86_400, ge=60, description="how long a settled job is kept")
    audit_retention_seconds: int = Field(
        400 * 86_400, ge=60, description="how long an entry of the audit trail is kept, at least as long as a job"
    )

    worker_concurrency: int = Field(256, ge=1, le=1000, description="jobs in hand in one worker process")
    worker_queues: Annotated[tuple[QueueName, ...], NoDecode] = Field(
        ("run", "commit"), description="queues one worker serves, comma-separated"
    )
    sandbox_children: int = Field(2, ge=1, le=64, description="warm child processes kept ready")
    sandbox_children_max: int = Field(16, ge=1, le=256, description="child processes at the most")
    function_threads: int = Field(32, ge=1, le=1000, description="threads for functions that are not async")
    execute_lease_seconds: float = Field(5, gt=0, description="lease while a program runs or a plan commits")
    generate_lease_seconds: float = Field(15, gt=0, description="lease while waiting for a model")
    reconcile_seconds: float = Field(1, gt=0, description="pause between looks for lost jobs")
    delivery_attempts_max: int = Field(3, ge=1, le=100, description="workers a job may lose before it is given up")
    journal_fsync: bool = Field(True, description="the commit journal waits for the append-only file")  # noqa: FBT003 - pydantic takes the default first
    journal_replicas: int = Field(0, ge=0, le=10, description="replicas that must have a write before it counts")

    log_format: Literal["console", "json"] = Field("console", description="how log lines look")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="the least level logged")

    api_host: str = Field("127.0.0.1", description="address `vardy api` listens on")
    api_port: int = Field(8000, ge=1, le=65_535, description="port `vardy api` listens on")
    request_bytes_max: int = Field(1024 * 1024, ge=1024, description="body of one request")
    connections_max: int = Field(5000, ge=1, le=1_000_000, description="connections to one API process at once")
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="proxies whose `X-Forwarded-For` is believed: addresses and networks, comma-separated"
    )
    metrics_key_needed: bool = Field(
        False,  # noqa: FBT003 - pydantic takes the default first
        description="`/metrics` needs a key with `operate` or `admin`",
    )

    key_requests_per_minute: Rate = Field(6000, description="requests with one API key")
    key_jobs_max: Count = Field(0, description="unsettled jobs of one API key at once")
    key_tokens_per_day: Count = Field(0, description="tokens of all model calls for one API key")
    key_cost_usd_per_day: Dollars = Field(0, description="cost of all model calls for one API key, in US dollars")
    user_requests_per_minute: Rate = Field(600, description="jobs submitted for one person")
    user_jobs_max: Count = Field(0, description="unsettled jobs for one person at once")
    user_tokens_per_day: Count = Field(0, description="tokens of all model calls for one person")
    user_cost_usd_per_day: Dollars = Field(0, description="cost of all model calls for one person, in US dollars")

    @field_validator("model_fallbacks", "worker_queues", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Names could be made to resolve to somebody else."""
        for text in value:
            try:
                network = ip_network(text)
            except ValueError as error:
                msg = f"{text!r} is no IP address, nor a network such as 10.0.0.0/24 ({error})"
                raise ValueError(msg) from error
            if not network.prefixlen:
                msg = f"{text} is everybody, so that any client could choose its address"
                raise ValueError(msg)
        return value

    @field_validator("audit_retention_seconds")
    @classmethod
    def _outlives_jobs(cls, value: int, info: ValidationInfo) -> int:
        """Who did what to a job is known as long as the job itself."""
        if value < info.data.get("job_retention_seconds", value):
            msg = "it must be at least as long as VARDY_JOB_RETENTION_SECONDS"
            raise ValueError(msg)
        return value

    @cached_property
    def limits(self) -> Limits:
        """The limits, from the same environment."""
        return _limits(os.environ)

    @property
    def quotas(self) -> Quotas:
        """The ceilings of keys that have none of their own, and of people."""
        key, user = ({name: getattr(self, f"{of}_{name}") for name in Quota.model_fields} for of in QuotaOf)
        return Quotas(key=Quota(**key), user=Quota(**user))

    def need(self, *names: str) -> None:
        """Raises `SettingsError` for the first of the named settings that is empty."""
        for name in names:
            if not getattr(self, name):
                variable = PREFIX + name.upper()
                description = type(self).model_fields[name].description
                msg = f"{variable} is not set ({description})."
                raise SettingsError(msg, details={"setting": variable})


def _limits(environ: Mapping[str, str]) -> Limits:
    values = {name: environ[PREFIX + name.upper()] for name in Limits.model_fields if PREFIX + name.upper() in environ}
    try:
        return Limits.model_validate(values)
    except ValidationError as error:
        raise _settings_error(error) from error


def _settings_error(error: ValidationError) -> SettingsError:
    first = error.errors()[0]
    variable = PREFIX + str(first["loc"][0]).upper()
    return SettingsError(
        f"{variable} is wrong: {first['msg'].removeprefix('Value error, ')}.", details={"setting": variable}
    )


def load_settings(**overrides: object) -> Settings:
    """The settings of this process. Raises `SettingsError` with one sentence."""
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type] # fields by name, which pydantic validates
    except ValidationError as error:
        raise _settings_error(error) from error
    _ = settings.limits
    return settings

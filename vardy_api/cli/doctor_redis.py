"""What `vardy doctor` says of the Redis server: whether it is there, and what would lose data."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis.exceptions import ResponseError

from vardy_api.cli.checkup import Check, failed, passed, warned
from vardy_api.cli.text import counted
from vardy_worker.store.connection import translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis import Redis

    from vardy_worker.settings import Settings

WAITAOF_VERSION = (7, 2)
"""From here on a client can wait until a write is in the append-only file."""
SKEW_SECONDS_WARN = 2.0
SKEW_SECONDS_FAIL = 60.0
MEMORY_SHARE_WARN = 0.85
LAG_SECONDS_MAX = 10
"""A replica that was silent for longer counts as lost, as the server itself counts it by default."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server says of itself. `config` lacks what the server does not let us read."""

    info: Mapping[str, Any]
    config: Mapping[str, str] = field(default_factory=dict)
    journal_replicas: int = 0
    """`VARDY_JOURNAL_REPLICAS`."""
    sentinels: bool = False
    """Whether it was found through Sentinels, so that somebody counts on a failover."""
    skew_seconds: float = 0.0
    answer_ms: float = 0.0


def read_server(redis: Redis, settings: Settings, *, sentinels: bool) -> ServerFacts:
    """Asks the server. Raises `StoreUnavailable`."""
    with translated():
        began = time.monotonic()
        seconds, micros = redis.time()
        answer_ms = (time.monotonic() - began) * 1000
        skew = seconds + micros / 1e6 - (time.time() - answer_ms / 2000)
        info: dict[str, Any] = dict(redis.info())
        return ServerFacts(
            info=info,
            config=_config(redis),
            journal_replicas=settings.journal_replicas,
            sentinels=sentinels,
            skew_seconds=skew,
            answer_ms=answer_ms,
        )


def _config(redis: Redis) -> dict[str, str]:
    try:
        found = redis.config_get("appendfsync", "min-replicas-to-write")
    except ResponseError:
        # Managed servers forbid CONFIG.
        return {}
    return {_text(name): _text(value) for name, value in dict(found).items()}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def server_checks(facts: ServerFacts) -> list[Check]:
    """All that can be said of a server that answers."""
    return [
        _reached(facts),
        _role(facts.info),
        *_replicas(facts),
        _persistence(facts),
        _eviction(facts.info),
        _memory(facts.info),
        _clock(facts),
    ]


def _version(info: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", str(info.get("redis_version", "0")))[:2]))


def _reached(facts: ServerFacts) -> Check:
    info = facts.info
    server = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info.get('redis_version')}"
    message = f"{server} answers in {facts.answer_ms:.1f} ms."
    if _version(info) < WAITAOF_VERSION:
        return warned(
            "redis",
            f"{message} It cannot say when a write is on disk (WAITAOF).",
            "Use Redis 7.2 or newer, or Valkey, so that the commit journal survives a crash of the server.",
        )
    return passed("redis", message)


def _role(info: Mapping[str, Any]) -> Check:
    if int(info.get("cluster_enabled", 0)):
        return failed("redis role", "The server is a Redis Cluster.", "Use a single primary.")
    if info.get("role", "master") != "master":
        return failed(
            "redis role", "The server is a replica, which cannot be written.", "Point VARDY_REDIS_URL at the primary."
        )
    return passed("redis role", "The server is a primary.")


def _replicas(facts: ServerFacts) -> list[Check]:
    """What a failover would lose. Nothing for a single server that nobody expects to fail over."""
    name, needed = "redis replicas", facts.journal_replicas
    following = sum(
        isinstance(seen, dict) and seen.get("state") == "online" and int(seen.get("lag", 0)) <= LAG_SECONDS_MAX
        for key, seen in facts.info.items()
        if re.fullmatch(r"slave\d+", key)
    )
    asked_for = int(facts.config.get("min-replicas-to-write", 0))
    message = f"{counted(following, 'replica')} follow{'s' if following == 1 else ''}"
    if following < max(needed, asked_for):
        setting = "VARDY_JOURNAL_REPLICAS" if needed > following else "min-replicas-to-write"
        return [
            failed(
                name,
                f"{message}, and {setting} asks for {max(needed, asked_for)}: every write is refused.",
                f"Start the replicas, or lower {setting}.",
            )
        ]
    if not following:
        lone = warned(name, "No replica follows, so nothing can take over.", "Start one, or name the server itself.")
        return [lone] if facts.sentinels else []
    if not needed:
        return [
            warned(
                name,
                f"{message}; a failover can lose the newest writes, the start of an effect among them.",
                "Set VARDY_JOURNAL_REPLICAS to 1, or at least min-replicas-to-write in the server's configuration.",
            )
        ]
    if following == needed:
        return [
            warned(
                name,
                f"{message}, and VARDY_JOURNAL_REPLICAS asks for as many: the loss of one stops every write.",
                "Start another replica.",
            )
        ]
    return [passed(name, f"{message}; writes wait for {needed}.")]


def _persistence(facts: ServerFacts) -> Check:
    info, fsync = facts.info, facts.config.get("appendfsync", "")
    name = "redis persistence"
    if int(info.get("loading", 0)):
        return warned(name, "The server is still loading its data.", "Wait until it has, and look again.")
    if not int(info.get("aof_enabled", 0)):
        return failed(
            name,
            "The append-only file is off: a restart of the server loses jobs, plans and journals.",
            "Set `appendonly yes` and `appendfsync always` in its configuration.",
        )
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        return failed(
            name,
            "The server could not save its last snapshot, and may refuse writes for it (MISCONF).",
            'Look at its log and its disk; `save ""` turns snapshots off: the append-only file is enough.',
        )
    if info.get("aof_last_write_status", "ok") != "ok":
        return failed(name, "The server cannot write its append-only file.", "Look at its log and its disk.")
    if fsync == "no":
        return failed(
            name,
            "The append-only file is left to the operating system (`appendfsync no`).",
            "Set `appendfsync always`.",
        )
    if fsync == "everysec":
        return warned(
            name,
            "The append-only file is synced every second: a power cut loses up to a second of jobs and decisions.",
            "Set `appendfsync always`, unless you can bear that; commits are faster with it, too.",
        )
    if not fsync:
        return warned(
            name,
            "The append-only file is on; the server does not say how often it is synced.",
            "Make sure that appendfsync is `always`.",
        )
    return passed(name, f"The append-only file is on, appendfsync {fsync}.")


def _eviction(info: Mapping[str, Any]) -> Check:
    policy = str(info.get("maxmemory_policy", "unknown"))
    if policy == "noeviction":
        return passed("redis eviction", "Nothing is evicted.")
    return failed(
        "redis eviction",
        f"The server may delete jobs and plans when its memory is full (maxmemory-policy {policy}).",
        "Set `maxmemory-policy noeviction`.",
    )


def _memory(info: Mapping[str, Any]) -> Check:
    used, limit = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    used_text = f"{used / 2**20:.0f} MiB used"
    if not limit:
        return passed("redis memory", f"{used_text}, no limit set.")
    share = used / limit
    message = f"{used_text} of {limit / 2**20:.0f} MiB."
    if share < MEMORY_SHARE_WARN:
        return passed("redis memory", message)
    return warned(
        "redis memory",
        f"{message} When it is full, no job is accepted.",
        "Raise maxmemory, or lower VARDY_JOB_RETENTION_SECONDS.",
    )


def _clock(facts: ServerFacts) -> Check:
    skew = abs(facts.skew_seconds)
    message = f"This machine and the server differ by {skew:.1f} s."
    action = "Synchronise the clocks (NTP); approvals expire by them."
    if skew >= SKEW_SECONDS_FAIL:
        return failed("clocks", message, action)
    if skew >= SKEW_SECONDS_WARN:
        return warned("clocks", message, action)
    return passed("clocks", message)

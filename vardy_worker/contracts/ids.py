"""Identifiers. All sort by creation time and carry 80 random bits, so none can be guessed."""

from __future__ import annotations

import hashlib
import re
import secrets

from ulid import ULID

JOB_ID = re.compile(r"^job_[0-9A-HJKMNP-TV-Z]{26}$")


def new_job_id() -> str:
    """A fresh job id, for example `job_01JDXM8J9F6Q4T5V7W8X9Y0Z1A`."""
    return f"job_{ULID()}"


def new_id(prefix: str) -> str:
    """A fresh id with another prefix: `evt`, `key`, `err` (a correlation id)."""
    return f"{prefix}_{ULID()}"


def new_token() -> str:
    """A secret of 256 random bits, safe in URLs and headers."""
    return secrets.token_urlsafe(32)


def idempotency_key(job_id: str, digest: str, seq: int) -> str:
    """The key of one effect: equal over attempts, requeues and restarts.

    A function of job, plan digest and position alone, so that neither model text nor
    the attempt can change it, and no two effects share it.
    """
    return "vdy_" + hashlib.sha256(f"{job_id}\n{digest}\n{seq}".encode()).hexdigest()[:40]

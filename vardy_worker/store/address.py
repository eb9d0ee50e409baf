"""Addresses of Redis that name Sentinels instead of a server.

    redis+sentinel://[user:password@]host[:26379][,host…]/SERVICE[/DB][?option=value…]

User and password are those of primary and replicas. The Sentinels' own, where they have
any, are the options `sentinel_username` and `sentinel_password`. `rediss+sentinel://` uses TLS
to Sentinels and primary alike; its options are redis-py's: `ssl_ca_certs`, `ssl_certfile`,
`ssl_keyfile`, `ssl_cert_reqs`, `ssl_check_hostname`. Everything is percent-decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

SENTINEL_PORT: Final = 26_379
SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")
FORM: Final = "redis+sentinel://[user:password@]host:26379,host:26379/SERVICE[/DB]"

_PORT_MAX: Final = 65_535
_SENTINEL_OPTIONS: Final = ("sentinel_username", "sentinel_password")
_TLS_OPTIONS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
_CERT_REQS: Final = ("required", "optional", "none")


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """Where the Sentinels are, and what they call the primary. Secrets are not in its `repr`."""

    sentinels: tuple[tuple[str, int], ...]
    service: str
    db: int = 0
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """`username` and `password` of primary and replicas, as far as given."""
    sentinel_credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: Mapping[str, Any] | None = None
    """None without TLS; otherwise redis-py's `ssl_…` options, the check of certificates among them."""


def sentinel_address(url: str) -> SentinelAddress | None:
    """The parts of an address of Sentinels; None for another kind of address.

    Raises `ValueError` with a sentence that repeats no secret.
    """
    scheme, separator, rest = url.partition("://")
    if scheme not in SCHEMES or not separator:
        return None
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    sentinels = tuple(map(_node, hosts.split(",")))
    service, db = _service_and_db(path)
    options = _options(query, tls=scheme.startswith("rediss"))
    sentinel_credentials = {
        name.removeprefix("sentinel_"): options.pop(name) for name in _SENTINEL_OPTIONS if name in options
    }
    return SentinelAddress(
        sentinels=sentinels,
        service=service,
        db=db,
        credentials=_credentials(credentials),
        sentinel_credentials=sentinel_credentials,
        tls=_tls(options) if scheme.startswith("rediss") else None,
    )


@dataclass(frozen=True, slots=True)
class RedisAccess:
    """How Redis is reached: where it is (empty for a socket of this machine), and what guards it. No secrets."""

    hosts: tuple[str, ...]
    password: bool
    tls: bool


def redis_access(url: str) -> RedisAccess:
    """What the address says. Raises `ValueError` for one that Redis cannot have."""
    sentinels = sentinel_address(url)
    if sentinels is not None:
        hosts = tuple(host for host, _ in sentinels.sentinels)
        return RedisAccess(hosts, password="password" in sentinels.credentials, tls=sentinels.tls is not None)
    parts = urlsplit(url)
    # redis-py takes it from either place.
    password = bool(parts.password) or "password" in parse_qs(parts.query)
    if parts.scheme == "unix":
        return RedisAccess((), password=password, tls=False)
    return RedisAccess((parts.hostname or "localhost",), password=password, tls=parts.scheme == "rediss")


def _credentials(text: str) -> dict[str, str]:
    user, _, password = text.partition(":")
    given = {"username": unquote(user), "password": unquote(password)}
    return {name: value for name, value in given.items() if value}


def _node(text: str) -> tuple[str, int]:
    """Host and port. An IPv6 address stands in brackets."""
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise ValueError(f"a Sentinel's IPv6 address has no closing bracket; the form is {FORM}")
        port = port.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not host:
        raise ValueError(f"a Sentinel has no host name; the form is {FORM}")
    if not port:
        return host, SENTINEL_PORT
    if not port.isascii() or not port.isdigit() or not 0 < int(port) <= _PORT_MAX:
        raise ValueError(f"a Sentinel's port is no number from 1 to {_PORT_MAX}; the form is {FORM}")
    return host, int(port)


def _service_and_db(path: str) -> tuple[str, int]:
    service, _, db = path.partition("/")
    if not service:
        raise ValueError(f"the name under which the Sentinels know the primary is missing; the form is {FORM}")
    if db and not (db.isascii() and db.isdigit()):
        raise ValueError(f"the database is no number; the form is {FORM}")
    return unquote(service), int(db or 0)


def _options(query: str, *, tls: bool) -> dict[str, str]:
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    known = (*_SENTINEL_OPTIONS, *(_TLS_OPTIONS if tls else ()))
    for name in options:
        if name not in known:
            raise ValueError(f"there is no option {name[:40]!r}; there are {', '.join(known)}")
    return options


def _tls(options: Mapping[str, str]) -> dict[str, Any]:
    """The options with their types. Certificates are checked unless they say otherwise."""
    given: dict[str, Any] = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true", **options}
    if given["ssl_cert_reqs"] not in _CERT_REQS:
        raise ValueError(f"ssl_cert_reqs is one of {', '.join(_CERT_REQS)}")
    given["ssl_check_hostname"] = given["ssl_check_hostname"].lower() != "false"
    return given

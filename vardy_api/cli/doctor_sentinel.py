"""What `vardy doctor` says of the Sentinels that VARDY_REDIS_URL names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from vardy_api.cli.checkup import Check, failed, passed, warned
from vardy_api.cli.text import counted
from vardy_worker.store.sentinel import sentinel_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.store.address import SentinelAddress

SENTINELS_MIN = 3
"""With fewer, the loss of one leaves no majority that could name another primary."""
NAME = "redis sentinels"


@dataclass(frozen=True, slots=True)
class SentinelFacts:
    """What one Sentinel says. `state` is empty for one that cannot be asked or does not know the primary."""

    place: str
    state: Mapping[str, Any] = field(default_factory=dict)
    no_quorum: str = ""
    """Why it could not bring about a failover now; empty when it could."""


def read_sentinels(address: SentinelAddress) -> list[SentinelFacts]:
    """Asks each Sentinel of the address. Raises nothing for one that does not answer."""
    return [_read(address, host, port) for host, port in address.sentinels]


def _read(address: SentinelAddress, host: str, port: int) -> SentinelFacts:
    place = f"{host}:{port}"
    with Redis(host, port, retry=Retry(NoBackoff(), 0), **sentinel_options(address)) as client:
        try:
            states: Any = client.sentinel_masters()
            if address.service not in states:
                return SentinelFacts(place)
            state = states[address.service]
            try:
                client.execute_command("SENTINEL", "CKQUORUM", address.service)
            except ResponseError as error:
                return SentinelFacts(place, state, str(error))
        except RedisError:
            return SentinelFacts(place)
    return SentinelFacts(place, state)


def sentinel_checks(facts: Sequence[SentinelFacts]) -> list[Check]:
    """All that can be said of them: one check, of what is worst."""
    known = [seen for seen in facts if seen.state]
    silent = [seen.place for seen in facts if not seen.state]
    if not known:
        return [failed(NAME, "No Sentinel names a primary.", "Start them, and mend VARDY_REDIS_URL.")]
    primaries = {(seen.state["ip"], seen.state["port"]) for seen in known}
    if len(primaries) > 1:
        return [failed(NAME, "The Sentinels name different primaries.", "Look at the network between them, and wait.")]
    unable = [seen for seen in known if seen.no_quorum]
    if unable:
        return [
            failed(
                NAME,
                f"A failover is not possible now, says {unable[0].place}: {unable[0].no_quorum}",
                "Start the Sentinels that are down.",
            )
        ]
    total = max(int(seen.state["num-other-sentinels"]) for seen in known) + 1
    message = (
        f"{counted(total, 'Sentinel')} with quorum {known[0].state['quorum']}, {len(known)} of {len(facts)} asked."
    )
    if silent:
        return [warned(NAME, f"{message} No answer from {', '.join(silent)}.", "Start them, or mend VARDY_REDIS_URL.")]
    if total < SENTINELS_MIN:
        return [warned(NAME, message, "Run three on different machines: with fewer, the loss of one stops failovers.")]
    return [passed(NAME, message)]

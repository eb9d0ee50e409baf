"""How often a key or a person may come: counted for all processes together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vardy_worker.contracts.quota import QuotaOf, RateExceeded
    from vardy_worker.ports.documents import Document


@dataclass(frozen=True, slots=True)
class Outdated:
    """Nothing was taken: what is known of the key may not be what holds. Read it."""


class Rates(Protocol):
    """A bucket for each key and person: full after a minute of rest, and filled evenly.

    So the requests of a whole minute may come at once. The buckets go by the store's clock,
    and are full again where the store lost them. `JobStore.submit` takes from the same ones.
    """

    def take(self, of: QuotaOf, name: str, per_minute: int) -> RateExceeded | None:
        """Takes one request from the bucket, unless it has none; `per_minute` is at least 1.

        A refused request takes nothing. Where the store cannot count, as it refuses to write,
        the request may go on: what is written for it will be refused by the store itself.
        Raises `StoreUnavailable` when the store cannot be reached.
        """

    def take_of_key(self, known: Document, per_minute: int) -> RateExceeded | Outdated | None:
        """As `take` for the key of this document, if its newest version still says the same; in one step.

        So whoever judged the document before needs no other look at it. `Outdated` also where
        the key is gone, and where the store cannot count.
        """

"""The parameters of a query: those that a route has, each once.

One that is not known is refused: a filter with a slip in its name, if passed over, would list everything.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args, get_origin

from vardy_worker.contracts.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.dependencies.models import Dependant
    from starlette.datastructures import QueryParams

NAME_SHOWN_MAX = 60
PROBLEMS_SHOWN_MAX = 10


class KnownQuery:
    """The parameters of one route."""

    def __init__(self, dependant: Dependant) -> None:
        self._several = dict(_parameters(dependant))

    def check(self, query: QueryParams) -> None:
        """Raises `RequestError` `request.invalid` for a parameter that the route does not have, or has once only."""
        problems = list(self._problems(query))[:PROBLEMS_SHOWN_MAX]
        if problems:
            raise RequestError(problems[0]["message"], details={"problems": problems})

    def _problems(self, query: QueryParams) -> Iterator[dict[str, str]]:
        for name in query:
            if name not in self._several:
                yield {"at": f"query:{name[:NAME_SHOWN_MAX]}", "message": self._unknown(name[:NAME_SHOWN_MAX])}
            elif not self._several[name] and len(query.getlist(name)) > 1:
                yield {"at": f"query:{name}", "message": f"The parameter `{name}` is given more than once."}

    def _unknown(self, name: str) -> str:
        close = get_close_matches(name, self._several, n=1)
        if close:
            return f"There is no parameter {name!r} here; do you mean `{close[0]}`?"
        known = ", ".join(f"`{each}`" for each in self._several)
        return f"There is no parameter {name!r} here; there are: {known or 'none'}."


def _parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Name of each parameter, and whether it may be given several times."""
    for field in dependant.query_params:
        yield field.alias, _takes_several(field.field_info.annotation)
    for inner in dependant.dependencies:
        yield from _parameters(inner)


def _takes_several(annotation: Any) -> bool:
    return any(get_origin(part) is list for part in (annotation, *get_args(annotation)))

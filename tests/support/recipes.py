"""Recipes of the payments API of `tests.support.api`, as bodies of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

SOURCE = "async function run(params) {\n  return await list_payments();\n}\n"
REFUNDING = """\
async function run(params) {
  const known = await list_payments();
  for (const each of params.payments) await refund_payment({payment_id: each});
  return known.length;
}
"""


def envelope(effects_max: int = 5, function: str = "refund_payment", **arguments: Any) -> dict[str, Any]:
    """An envelope of one function, with the bounds of its arguments."""
    return {"functions": {function: {"effects_max": effects_max, "arguments": arguments}}}


def problems(answer: httpx.Response) -> list[tuple[str, str]]:
    """Place and message of each problem of a recipe that was refused."""
    assert (answer.status_code, answer.json()["code"]) == (422, "recipe.invalid"), answer.text
    return [(each["at"], each["message"]) for each in answer.json()["details"]["problems"]]

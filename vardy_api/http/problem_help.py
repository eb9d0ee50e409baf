"""What helps at each problem: a sentence for the pages behind the `type` of a problem document."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HELP: Mapping[str, str] = MappingProxyType(
    {
        "request.malformed": "Send valid JSON in UTF-8: no duplicate keys, no NaN, at most 64 levels.",
        "request.invalid": "Mend what `details.problems` points to: a place in the body, or a parameter.",
        "request.too_large": "Send less at once; `details` has the limit.",
        "request.head_too_large": "Send shorter headers, or a shorter address.",
        "request.framing": "Send what can be read in one way only; look at the proxy between, if there is one.",
        "request.timeout": "Send the whole request sooner.",
        "request.media_type": "Send the body with `Content-Type: application/json`, in UTF-8, not compressed.",
        "request.not_found": "Compare the address with /docs; no address has a slash at its end.",
        "request.method": "Use one of the methods that the header `Allow` names.",
        "auth.missing": "Send `Authorization: Bearer` with an API key.",
        "auth.invalid": "Use another key: this one is not known, has expired, or was revoked or rotated.",
        "auth.scope": "Use a key with one of the scopes in `details.scopes`.",
        "auth.person": "Leave `user` out, or use a key that may name other people.",
        "job.not_found": "Check the id, and whether the key may see the job: a foreign job looks like none.",
        "job.conflict": "Read the job again: its status is another one by now.",
        "plan.none": "Read the job: it makes no plan, or has not yet.",
        "plan.erased": "Nothing helps: of the plan only its digest is left.",
        "recipe.not_found": "Look at the list of recipes.",
        "recipe.conflict": "Read the recipe again, and save against the version that it has now.",
        "recipe.invalid": "Mend what `details.problems` points to.",
        "function.not_found": "Look at the list of functions.",
        "audit.not_found": "Use the id of a job, or `settings`.",
        "key.not_found": "Look at the list of keys.",
        "key.conflict": "Read the key: one that has ended, or whose token was chosen, needs another; else try again.",
        "rules.invalid": "Mend the line that `details` names; the rules that were active stay.",
        "rules.conflict": "Read the active rules again, and apply against the version that they have now.",
        "digest.missing": "Send the digest of the plan that was looked at: `If-Match` with the digest in quotes.",
        "digest.mismatch": "Look at the plan again: it is another one by now. Nothing was done.",
        "approval.requester": "Ask somebody else: nobody approves what they asked for.",
        "approval.role": "Ask somebody with one of the roles in the plan's `approvals`.",
        "approval.reason": "Say why, in `reason`.",
        "approval.expired": "Submit the job again: the time for deciding is over.",
        "commit.unresolved": "Find out at the target what became of the effect, and resolve it.",
        "commit.blocked": "Submit the job again, so that its plan fits the rules that are active now.",
        "effect.not_found": "Look at the plan: `seq` counts its effects from 0.",
        "effect.not_unknown": "Read the job again: the effect's outcome is known.",
        "effect.result": "Send the result as the function would have returned it; later effects refer to it.",
        "idempotency.mismatch": "Use a new key for another request.",
        "idempotency.in_flight": "Send the same request again after `Retry-After`.",
        "cursor.invalid": "Use `next` of the page before, unchanged, or begin without a cursor.",
        "rate.limited": "Wait for `Retry-After`.",
        "quota.exceeded": "Wait for `Retry-After`, or have the ceiling raised; `details` says which it is.",
        "service.unavailable": "Send it again after `Retry-After`, a submission with the same `Idempotency-Key`.",
        "service.busy": "Send the request again after `Retry-After`.",
        "internal": "Give the operator the id in `details.correlation_id`: the reason is in the log under it.",
    }
)
"""By code."""

"""Examples for OpenAPI; tests send the requests and check the answers against the schemas."""

from __future__ import annotations

from typing import Any, Final

USER: dict[str, Any] = {"id": "ana", "roles": ["support"]}

RUN: dict[str, Any] = {
    "request": {
        "summary": "In plain words",
        "value": {"request": "cancel order 17 and tell the customer", "user": USER, "metadata": {"ticket": "4711"}},
    },
    "recipe": {
        "summary": "A saved recipe, as a plan",
        "value": {"recipe": "overdue-reminder", "params": {"days": 30}, "user": USER, "mode": "plan"},
    },
}

EXPLORE: dict[str, Any] = {
    "question": {
        "summary": "A question",
        "value": {"question": "who deserves attention this week?", "user": USER},
    },
    "bounded": {
        "summary": "At most two programs, of one function",
        "value": {
            "question": "which customers pay late, and since when?",
            "params": {"city": "Faro"},
            "user": USER,
            "functions": ["list_payments"],
            "rounds_max": 2,
            "metadata": {"ticket": "4711"},
        },
    },
}

DECISION: dict[str, Any] = {
    "approve": {
        "summary": "Approve",
        "value": {"decision": "approve", "user": {"id": "lea", "roles": ["support_lead"]}},
    },
    "deny": {
        "summary": "Deny",
        "value": {
            "decision": "deny",
            "user": {"id": "lea", "roles": ["support_lead"]},
            "reason": "The customer withdrew the claim.",
        },
    },
}

PERSON: dict[str, Any] = {
    "bound": {"summary": "The person of the key", "value": {}},
    "named": {"summary": "A person that the key may name", "value": {"user": USER}},
}

REASON: dict[str, Any] = {
    "reason": {"summary": "With the reason", "value": {"reason": "The orders are closed.", "user": {"id": "olga"}}},
}

RESOLVE: dict[str, Any] = {
    "done": {
        "summary": "It was applied",
        "value": {"done": True, "result": {"id": 91}, "reason": "Found ticket 91 in the desk.", "user": {"id": "lea"}},
    },
    "not-done": {
        "summary": "It was not applied",
        "value": {"done": False, "reason": "The mail server has no trace of it.", "user": {"id": "lea"}},
    },
}

RECIPE: dict[str, Any] = {
    "source": {
        "summary": "From source",
        "value": {
            "source": "async function run(params) {\n  return params.days;\n}\n",
            "description": "The days that were asked for.",
            "params_schema": {
                "type": "object",
                "properties": {"days": {"type": "integer", "minimum": 1}},
                "required": ["days"],
            },
        },
    },
}

RECIPE_REVIEW: dict[str, Any] = {
    "again": {"summary": "The same program, as it is", "value": {"reviewed_by": "lea", "expect_version": 1}},
    "envelope": {
        "summary": "With another envelope",
        "value": {
            "envelope": {
                "effects_max": 20,
                "functions": {
                    "refund_payment": {
                        "effects_max": 20,
                        "arguments": {"amount_cents": {"min": 1, "max": 5000, "sum_max": 20000}},
                    }
                },
            }
        },
    },
}

PROGRAM: dict[str, Any] = {
    "source": {
        "summary": "A program as it would run",
        "value": {"source": "async function run(params) {\n  return params.days;\n}\n", "user": USER},
    },
    "text": {
        "summary": "The answer of a model",
        "value": {"text": "Here it is:\n\n```js\nasync function run(params) {\n  return eval(params.days);\n}\n```\n"},
    },
}

RULES: dict[str, Any] = {
    "approve": {"summary": "Every write needs an approval", "value": {"text": "default: approve\n", "user": USER}},
}

RULES_TEST: dict[str, Any] = {
    "last": {"summary": "Over the newest jobs of one person", "value": {"text": "default: approve\n", "user": "ana"}},
}

PROMPT: dict[str, Any] = {
    "request": {"summary": "A request", "value": {"request": "how much does customer 3 owe?", "user": USER}},
    "question": {
        "summary": "A question",
        "value": {"request": "who deserves attention this week?", "kind": "explore", "user": USER},
    },
}

KEY: dict[str, Any] = {
    "service": {"summary": "A service that names its users", "value": {"name": "shop", "scopes": ["submit"]}},
    "approver": {
        "summary": "One person's key",
        "value": {"person": {"id": "lea", "roles": ["support_lead"]}, "scopes": ["read", "decide"]},
    },
}
KEY_CHANGE: dict[str, Any] = {
    "higher": {
        "summary": "More requests, and a ceiling of money",
        "value": {"quota": {"requests_per_minute": 12000, "cost_usd_per_day": 50}},
    },
    "deployment": {"summary": "The deployment's rate again", "value": {"quota": {"requests_per_minute": None}}},
}
KEY_ROTATION: dict[str, Any] = {
    "at once": {"summary": "The secret before ends now", "value": {}},
    "overlapping": {"summary": "Both work for an hour", "value": {"keep_seconds": 3600}},
}

BODIES: Final = (
    RUN,
    EXPLORE,
    DECISION,
    PERSON,
    REASON,
    RESOLVE,
    RECIPE,
    RECIPE_REVIEW,
    PROGRAM,
    RULES,
    RULES_TEST,
    PROMPT,
    KEY,
    KEY_CHANGE,
    KEY_ROTATION,
)

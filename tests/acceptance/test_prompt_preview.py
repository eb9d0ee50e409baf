"""`vardy prompts show` prints exactly what would be sent."""

import json

from tests.support.deployment import Deployment
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User

ANA = User(id="ana", roles=("support",))


def test_the_preview_is_what_the_model_then_receives(deployment: Deployment, vardy: Vardy) -> None:
    request, params = "How much does this customer owe?", {"customer_id": 3}
    shown = deployment.cli(
        *("prompts", "show", request, "--user", "ana", "--role", "support", "--params", json.dumps(params), "--json")
    )
    deployment.model.forget()
    job = vardy.run(request, params=params, user=ANA, timeout_seconds=60)
    assert job.status is Status.SUCCESS
    [received] = deployment.model.requests
    assert received.json["messages"] == json.loads(shown.stdout)["messages"]

"""The real processes of the Procfile, on an embedded server and a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.deployment import KEY, PROVIDER_KEY, ROOT, Deployment, running
from tests.support.secrecy import leaks_in
from vardy_api.embedded import EmbeddedServer, free_port
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.client import Vardy

ERRORS_OF_DEV = "errors"
"""Where the tests of `vardy dev` keep its standard error; its standard output shows the key, as it should."""


@pytest.fixture(scope="session", autouse=True)
def _no_secret_in_any_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever process a test started, and the server itself: no key and no password is in what it logged.

    `running` searches a deployment's own logs for the contents of its jobs, too.
    """
    yield
    logs = [
        path
        for path in sorted(tmp_path_factory.getbasetemp().rglob("*"))
        if path.suffix == ".log" or path.name == ERRORS_OF_DEV
    ]
    leaks = leaks_in(logs, secrets=[KEY, PROVIDER_KEY], contents=())
    assert not leaks, "\n".join(map(str, leaks))


@pytest.fixture(scope="session")
def acceptance_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The server of the acceptance tests; deployments beside the shared one take a namespace of their own."""
    with EmbeddedServer(tmp_path_factory.mktemp("acceptance-redis")) as server:
        yield server


@pytest.fixture(scope="session")
def deployment(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """API and worker as the Procfile starts them, with the demo shop, for all acceptance tests of a run."""
    folder = tmp_path_factory.mktemp("deployment")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(ROOT / "vardy_worker" / "demo" / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
    }
    # At one address for good: a test stops it and starts it again.
    with ScriptedModel(free_port()) as model:
        made = Deployment(redis=acceptance_server, model=model, folder=folder, settings=settings)
        with running(made, "api", "worker"):
            yield made


@pytest.fixture
def vardy(deployment: Deployment) -> Iterator[Vardy]:
    with deployment.client() as client:
        yield client

import pytest
from pydantic import ValidationError

from vardy_worker.contracts.limits import Limits


def test_a_request_may_lower_limits_and_the_rest_stays() -> None:
    limits = Limits(execute_seconds_max=10, calls_max=100)
    lowered = limits.lowered({"calls_max": 5.0})
    assert lowered == Limits(execute_seconds_max=10, calls_max=5)
    assert isinstance(lowered.calls_max, int)


def test_a_request_never_raises_the_limits_of_the_worker_that_runs_it() -> None:
    limits = Limits(execute_seconds_max=10, calls_max=100)
    assert limits.lowered({"execute_seconds_max": 25, "calls_max": 256}) == limits


@pytest.mark.parametrize("wanted", [{"calls_max": -1}, {"calls_max": 1.5}, {"no_such_limit": 1}])
def test_a_limit_that_there_is_not_is_refused(wanted: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Limits().lowered(wanted)

"""What is said of stored plans before other rules are tried over them."""

from tests.support.rules import CATALOGUE, body, call, refund
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.rules.replay import gone

PLAN = body((refund(), call("fly", to="Rio"), call("fly", to="Lima")))


def test_functions_that_the_catalogue_lacks_are_named_once() -> None:
    assert gone(PLAN, CATALOGUE) == ("fly",)


def test_while_no_worker_has_published_a_catalogue_no_function_is_taken_for_gone() -> None:
    assert gone(PLAN, Catalogue()) == ()

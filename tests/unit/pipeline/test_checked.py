"""Findings of recipes' programs that are kept: never those of another text, of other functions, or without a judge."""

from collections.abc import Callable

import pytest

from vardy_worker.contracts.functions import Catalogue
from vardy_worker.functions import Functions, build_catalogue
from vardy_worker.pipeline import checked
from vardy_worker.pipeline.checked import CheckedPrograms
from vardy_worker.programs import check

READS = "async function run(params) {\n  return await count_orders({ city: 'Porto' });\n}"
ASKS = "async function run(params) {\n  return await ai('Name the city.', params.text, { type: 'string' });\n}"


def by_name() -> Catalogue:
    functions = Functions()

    @functions.read
    def count_orders(city: str) -> int:
        return len(city)

    return build_catalogue(functions)


def by_number() -> Catalogue:
    functions = Functions()

    @functions.read
    def count_orders(city: int) -> int:
        return city

    return build_catalogue(functions)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were really checked."""
    looked_at: list[str] = []
    really: Callable[..., object] = check

    def counting(source: str, catalogue: Catalogue, *, judge: bool) -> object:
        looked_at.append(source)
        return really(source, catalogue, judge=judge)

    monkeypatch.setattr(checked, "check", counting)
    return looked_at


def test_a_program_is_checked_once_for_the_same_functions(texts: list[str]) -> None:
    programs, catalogue = CheckedPrograms(), by_name()
    narrowed = catalogue.for_user(roles=())
    found = [programs.check(READS, each, judge=False) for each in (catalogue, narrowed, catalogue)]
    assert found == [(), (), ()]
    assert texts == [READS]


def test_other_functions_of_the_same_names_have_findings_of_their_own(texts: list[str]) -> None:
    programs = CheckedPrograms()
    assert programs.check(READS, by_name(), judge=False) == ()
    assert [each.severity for each in programs.check(READS, by_number(), judge=False)] == ["error"]
    assert [each.severity for each in programs.check(READS, Catalogue(), judge=False)] == ["error"]
    assert len(texts) == 3


def test_a_program_that_asks_is_right_with_a_judge_alone(texts: list[str]) -> None:
    programs, catalogue = CheckedPrograms(), by_name()
    assert programs.check(ASKS, catalogue, judge=True) == ()
    assert [each.severity for each in programs.check(ASKS, catalogue, judge=False)] == ["error"]
    assert len(texts) == 2


def test_only_the_programs_used_last_are_kept(texts: list[str]) -> None:
    programs, catalogue = CheckedPrograms(kept=2), by_name()
    first, second, third = (f"{READS}\n// {number}" for number in range(3))
    for source in (first, second, first, third, first, second):
        programs.check(source, catalogue, judge=False)
    assert texts == [first, second, third, second]

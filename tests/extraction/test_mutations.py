"""What a model puts around a program, and how it spells it, does not change what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extraction.mutations import (
    ALONE,
    AROUND,
    BODIES,
    CALLS,
    CONTAINERS,
    ENDINGS,
    INDENT_IS_DATA,
    INDENTS,
    NESTS,
    PARAMS,
    SHAPES,
    is_intact,
)
from vardy_worker.contracts.program import Extracted
from vardy_worker.programs import check, extract

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_worker.contracts.functions import Catalogue

LIMIT = 65_536


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, Any]:
    """A model's answer, and what its program returns."""
    name = draw(st.sampled_from(sorted(BODIES)))
    body, output = BODIES[name]
    shape = draw(st.sampled_from(sorted(SHAPES)))
    if not is_intact(name, shape):
        shape = "function"
    container = draw(st.sampled_from(sorted(CONTAINERS)))
    code = SHAPES[shape](body)
    if name not in INDENT_IS_DATA:
        code = draw(st.sampled_from([lambda text: text, *INDENTS.values()]))(code)
    text = CONTAINERS[container](code)
    if container not in ALONE and container != "open fence":
        for nest in draw(st.lists(st.sampled_from(sorted(NESTS)), max_size=2)):
            text = NESTS[nest](text)
        for around in draw(st.lists(st.sampled_from(sorted(AROUND)), max_size=2)):
            text = AROUND[around](text)
    elif container != "bare":
        text = AROUND[draw(st.sampled_from(["thinking", "blank lines"]))](text)
    for ending in draw(st.lists(st.sampled_from(sorted(ENDINGS)), max_size=1)):
        text = ENDINGS[ending](text)
    return text, output


@settings(
    max_examples=400,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(answer=answers())
def test_what_stands_around_a_program_does_not_change_what_runs(
    answer: tuple[str, Any],
    catalogue: Catalogue,
    run_program: Callable[[str, dict[str, Any]], Any],
) -> None:
    text, output = answer

    result = extract(text, program_bytes_max=LIMIT)

    assert isinstance(result, Extracted), result
    errors = [f for f in check(result.source, catalogue, line_map=result.line_map) if f.severity == "error"]
    assert errors == []
    ran = run_program(result.source, PARAMS)
    assert (ran.ended, ran.output, ran.calls) == ("returned", output, CALLS)


@settings(
    max_examples=200, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(answer=answers())
def test_an_error_in_a_program_points_to_the_line_that_the_model_wrote(
    answer: tuple[str, Any], catalogue: Catalogue
) -> None:
    text, _ = answer
    broken = text.replace("await list_invoices(", "await missing_function(", 1) if "</think>" not in text else ""
    if not broken or '"code"' in text or '"program"' in text or '"javascript"' in text:
        return
    expected = next(n for n, line in enumerate(broken.splitlines(), start=1) if "missing_function" in line)

    result = extract(broken, program_bytes_max=LIMIT)

    assert isinstance(result, Extracted), result
    found = check(result.source, catalogue, line_map=result.line_map)
    unknown = [finding for finding in found if finding.code == "program.unknown_function"]
    assert [finding.line for finding in unknown] == [expected]
    column = broken.splitlines()[expected - 1].removeprefix("\ufeff").index("missing_function") + 1
    assert unknown[0].column == column


@settings(max_examples=300, derandomize=True, deadline=None)
@given(answer=answers(), data=st.data())
def test_a_text_cut_off_anywhere_is_read_without_failing(answer: tuple[str, Any], data: st.DataObject) -> None:
    text, _ = answer
    end = data.draw(st.integers(0, len(text)))

    result = extract(text[:end], finish_reason=data.draw(st.sampled_from(["stop", "length"])), program_bytes_max=LIMIT)

    if isinstance(result, Extracted):
        assert len(result.line_map) == result.source.count("\n") + 1


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from("`~<>{}()[]/*'\"\\$ \n\r\t;=.,aé🙂\ud800\0run params await=>"), max_size=400)
)
def test_no_text_makes_extraction_fail(text: str) -> None:
    extract(text, program_bytes_max=LIMIT)

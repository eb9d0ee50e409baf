"""The benchmarks run, and the one whose figure is no time meets its target."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support.logs import configure_test_logs
from vardy_api.bench import BENCHMARKS, commits, memory, parked, queued, run_bench, runner, waiting
from vardy_api.bench.measuring import Measurement
from vardy_worker.contracts.errors import RequestError

TEXT = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")


def test_the_model_is_sent_the_same_bytes_however_much_data_there_is() -> None:
    command = [sys.executable, "-m", "vardy_api.cli", "bench", "tokens", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    [measured] = json.loads(done.stdout)
    assert measured["name"] == "tokens"
    assert measured["value"] == measured["floor"] > 1000
    assert measured["met"] is True
    details = measured["details"]
    assert details["explore_counts_ratio"] == pytest.approx(1, abs=0.005)
    # As much as is allowed is shown, of far more that was returned.
    assert 8_000 < details["explore_summary_bytes"] <= 8_192
    assert details["explore_rows_bytes"] < 50_000


def test_a_thousand_texts_take_eight_calls_of_the_judge_and_the_same_again_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_test_logs("warning")
    assert run_bench(("classify",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    assert (measured["value"], measured["details"]["calls_again"]) == (8, 0)
    assert measured["met"] is True


def test_a_sandbox_start_is_measured_against_its_floor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(("sandbox_start",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    assert measured["ratio"] == pytest.approx(measured["value"] / measured["floor"], rel=0.05)


def test_a_call_costs_far_less_than_in_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(("sandbox_calls",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    assert measured["ratio"] == pytest.approx(measured["value"] / measured["floor"], rel=0.05)
    # The target is 0.25; a machine that is busy with other tests may be less exact.
    assert measured["ratio"] < 0.5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_children_is_measured_idle_busy_and_holding_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(("sandbox_memory",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    details = measured["details"]
    assert measured["met"] is True
    assert 0 < details["idle_pss_mib"] < measured["value"] < measured["floor"]
    assert details["busy_rss_mib"] > details["busy_pss_mib"]
    assert 40 < details["holding_48_mib_rss_mib"] - measured["value"] < 64


def test_a_large_plan_is_judged_in_time_that_grows_with_effects_and_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(("rules",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    # Processor time, but a busy machine's caches are shared too; the target is 150 ms, and 2.4 for twice as much.
    assert 0 < measured["value"] < 300
    assert 1 < measured["details"]["twice_the_effects"] < 3
    assert 1 < measured["details"]["twice_the_rules"] < 3


def test_a_commit_is_measured_against_script_calls_on_the_same_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "EFFECTS", 20)
    monkeypatch.setattr(commits, "ROUNDS", 3)
    configure_test_logs("warning")
    assert run_bench(("commit",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    assert measured["ratio"] == pytest.approx(measured["value"] / measured["floor"], rel=0.05)
    assert measured["ratio"] > 0.1


def test_many_jobs_are_measured_against_few_and_parked_plans_are_weighed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parked, "JOBS", 900)
    monkeypatch.setattr(parked, "ROUNDS", 2)
    monkeypatch.setattr(parked, "WEIGHED", {1: 400, 10: 200, 200: 10})
    configure_test_logs("warning")
    assert run_bench(("parked",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    details = measured["details"]
    ratios = {name: value for name, value in details.items() if name.endswith("_ratio")}
    assert len(ratios) > 20
    # Processor time, but a busy machine's caches are shared too; the targets are 2 and 20 ms.
    assert measured["ratio"] == pytest.approx(max(ratios.values()), abs=0.01)
    assert measured["ratio"] < 3
    assert 0 < details["slowest_scripts_mean_ms"] < 50
    small, middle, large = (details[f"bytes_of_a_plan_of_{effects}"] for effects in (1, 10, 200))
    assert 2_000 < small < middle < 20_000 < large < 200_000


def test_jobs_that_wait_for_a_model_are_measured_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "JOBS", 100)
    configure_test_logs("warning")
    assert run_bench(("waiting",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    # One after another would take 200 s. The target is 4; how soon a hundred are submitted is the machine's.
    assert 2 < measured["value"] < 60
    assert measured["details"]["mib_for_each"] < 1


def test_a_worker_is_measured_before_and_after_many_jobs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "SOME", 120)
    monkeypatch.setattr(memory, "MANY", 360)
    monkeypatch.setattr(memory, "AT_ONCE", 60)
    configure_test_logs("warning")
    assert run_bench(("memory",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    assert measured["ratio"] == pytest.approx(measured["value"] / measured["floor"], rel=0.01)
    # Of so few jobs a page more or less counts; the target is 1.05 after thirty times as many.
    assert measured["ratio"] < 1.1


def test_a_long_queue_is_measured_against_a_short_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"JOBS": 900, "FEW": 300, "ROUNDS": 3, "CALLS": 4, "LOOKS": 2, "TAKEN": 100, "STARTS": 1}
    for name, size in sizes.items():
        monkeypatch.setattr(queued, name, size)
    monkeypatch.setattr(queued, "QUIET_SECONDS", 0.1)
    configure_test_logs("warning")
    assert run_bench(("queued",), as_json=True) == 0
    [measured] = json.loads(capsys.readouterr().out)
    details = measured["details"]
    ratios = {name: value for name, value in details.items() if name.endswith("_ratio")}
    assert len(ratios) == 7
    # Processor time, but a busy machine's caches are shared too; the target is 2 for fifty times as many.
    assert measured["ratio"] == pytest.approx(max(ratios.values()), abs=0.01)
    assert 0.3 < measured["ratio"] < 4
    assert 0 < details["look_median_ms"] <= details["look_longest_ms"]


def test_without_names_the_long_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def noted(name: str) -> Measurement:
        ran.append(name)
        return Measurement(name=name, what="", value=1, unit="", target="", met=True)

    monkeypatch.setattr(runner, "BENCHMARKS", {name: partial(noted, name) for name in BENCHMARKS})
    assert run_bench() == 0
    assert sorted({*BENCHMARKS} - {*ran}) == ["memory", "parked", "queued"]


def test_the_table_names_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bench(("sandbox_start",)) == 0
    assert "quickjs-rs" in capsys.readouterr().out


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(RequestError, match="there are sandbox_start, sandbox_calls, sandbox_memory, start"):
        run_bench(("speed",))


def test_every_benchmark_is_documented_with_its_figure() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| [^|]*\d[^|]* \|", TEXT, re.MULTILINE)
    assert sorted(rows) == sorted(BENCHMARKS)

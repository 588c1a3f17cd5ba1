"""The package as a researcher uses it, with short runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import goodqueue as gq


@pytest.fixture(scope="module")
def results() -> gq.Results:
    return gq.compare(rate="10mbit", up="1mbit", qdiscs=["pfifo", "fq_codel"], time="4s", seeds=2)


def test_each_run_has_a_row_with_metrics_in_si_units(results: gq.Results) -> None:
    frame = results.to_pandas()
    assert list(frame["qdisc"]) == ["pfifo", "pfifo", "fq_codel", "fq_codel"]
    assert list(frame["seed"]) == [1, 2, 1, 2]
    means = frame.groupby("qdisc")["induced_latency_s.mean"].mean()
    assert 0 < means["fq_codel"] < means["pfifo"] < 10, "seconds"
    assert (frame["goodput.down"] > 1e5).all(), "bits per second"


def test_polars_and_arrow_have_the_columns_of_pandas(results: gq.Results) -> None:
    names = list(results.to_pandas().columns)
    assert results.to_polars().columns == names
    assert results.to_arrow().column_names == names


def test_a_swept_key_is_a_column_of_numbers() -> None:
    swept = gq.sweep(None, {"link.rtt": ["10ms", "0.1s"]}, seeds=1)
    frame = swept.to_pandas()
    assert sorted(set(frame["link.rtt"])) == [0.01, 0.1]


def test_printing_shows_the_tables_of_the_command(results: gq.Results) -> None:
    lines = str(results).splitlines()
    assert lines[0].startswith("10mbit down, 1mbit up, base RTT 50ms")
    assert any(line.startswith(" fq_codel ") for line in lines)


def test_results_survive_a_file(results: gq.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "r.json")
    assert gq.Results.load(tmp_path / "r.json").runs == results.runs
    results.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert results.export(tmp_path / "r.csv") == [tmp_path / "r.csv"]


def test_a_scenario_is_a_value() -> None:
    scenario = gq.Scenario.load("rrul-10-1")
    changed = scenario.set("link.rtt", "20ms").set("tcp.ecn", True).set("seeds", 3)
    assert json.loads(changed.to_json())["link"]["rtt"] == "20ms"
    assert json.loads(scenario.to_json())["link"]["rtt"] != "20ms"
    assert changed.count() % 3 == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link.rtt": "50mss"}, "50mss"),
        ({"link.rt": "50ms"}, "did you mean `rtt`"),
        ({"qdiscs": ["fq_codle"]}, "did you mean `fq_codel`"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_bad_input_names_the_place_and_the_remedy(change: dict[str, object], message: str) -> None:
    with pytest.raises(gq.Error) as raised:
        gq.compare(set=change, time="2s")
    assert message in str(raised.value)


def test_two_options_for_the_same_key_are_an_error() -> None:
    with pytest.raises(gq.Error, match="set the same key"):
        gq.compare(rate="5mbit", set={"link.down": "10mbit"}, time="2s")


def test_the_upload_has_the_rate_of_the_command() -> None:
    up = [json.loads(gq.compare(time="1s", qdiscs=["pfifo"], **link).to_json())["scenario"]["link"]["up"]
          for link in ({}, {"rate": "5mbit"})]
    command = Path(sys.executable).with_name("goodqueue")
    printed = [
        json.loads(
            subprocess.run(
                [command, "compare", "--time", "1s", "--qdisc", "pfifo", "--json", "-", *link],
                capture_output=True, text=True, check=True,
            ).stdout
        )["scenario"]["link"]["up"]
        for link in ([], ["--rate", "5mbit"])
    ]
    assert up == printed


def test_progress_ends_with_all_runs() -> None:
    told: list[tuple[int, int]] = []
    gq.compare(time="1s", qdiscs=["pfifo"], seeds=3, progress=lambda finished, runs: told.append((finished, runs)))
    assert told[-1] == (3, 3)


def test_values_that_no_scenario_has_are_type_errors() -> None:
    with pytest.raises(TypeError, match="no values of type object"):
        gq.Scenario().set("link.rtt", object())


def test_an_exception_in_progress_stops_the_runs() -> None:
    def stop(finished: int, runs: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gq.compare(time="600s", progress=stop)


def test_the_import_loads_nothing_but_the_package() -> None:
    code = "import sys; before = set(sys.modules); import goodqueue; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "goodqueue._goodqueue" in loaded
    assert [name for name in loaded if not name.startswith("goodqueue")] == ["__future__"]


def test_the_wheel_installs_the_command() -> None:
    command = Path(sys.executable).with_name("goodqueue")
    listed = subprocess.run([command, "list", "qdiscs"], capture_output=True, text=True, check=True).stdout
    assert "fq_codel" in listed
    refused = subprocess.run([command, "compare", "--rate", "x"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2

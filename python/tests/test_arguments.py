"""Arguments of the functions: numbers with and without units, and the errors that name them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import goodqueue as gq


def scenario(**options: Any) -> dict[str, Any]:
    given: dict[str, Any] = gq.compare(time="100ms", qdiscs=["pfifo"], **options).scenario
    return given


def test_rates_are_texts_numbers_of_bits_per_second_or_helpers() -> None:
    for rate in ("10mbit", 10e6, 10_000_000, gq.mbit(10), gq.Rate("10mbit"), np.float64(1e7), np.int64(10**7), Decimal("1e7")):
        assert scenario(rate=rate)["link"]["down"] == "10mbit", repr(rate)
    assert scenario(rate=gq.mbit(2.5), up=gq.kbit(64))["link"]["up"] == "64kbit"


def test_times_are_texts_numbers_of_seconds_timedeltas_or_helpers() -> None:
    fifty: list[Any] = [
        "50ms", 0.05, timedelta(milliseconds=50), gq.ms(50), gq.us(50_000), gq.Time("50ms"), np.float32(0.05),
        np.timedelta64(50, "ms"), pandas.Timedelta("50ms"),
    ]
    for rtt in fifty[:-3]:
        assert scenario(rtt=rtt)["link"]["rtt"] == "50ms", repr(rtt)
    assert gq.Time(fifty[-3]) == pytest.approx(0.05)
    for rtt in fifty[-2:]:
        assert scenario(rtt=rtt)["link"]["rtt"] == "50ms", repr(rtt)


def test_keys_of_a_scenario_and_sweeps_take_numbers_as_well() -> None:
    cbr = {"kind": "cbr", "rate": 64e3, "start": timedelta(seconds=1), "count": np.int64(2)}
    onoff = {"kind": "onoff", "rate": gq.kbit(64), "on": {"uniform": [0.1, gq.ms(200)]}, "off": {"exponential": 0.5}}
    given = gq.Scenario().set("flows", [cbr, onoff]).set("link.down", {"schedule": [[0, 10e6], [5, gq.mbit(5)]]})
    as_text = {
        "flows": [
            {"kind": "cbr", "rate": "64kbit", "start": "1s", "count": 2},
            {"kind": "onoff", "rate": "64kbit", "on": {"uniform": ["100ms", "200ms"]}, "off": {"exponential": "500ms"}},
        ],
        "link.down": {"schedule": [["0s", "10mbit"], ["5s", "5mbit"]]},
    }
    expected = gq.Scenario().set("flows", as_text["flows"]).set("link.down", as_text["link.down"])
    assert given.to_json() == expected.to_json()

    over = {"link.rtt": np.array([0.02, 0.1]), "link.up": [gq.mbit(1), 2e6], "duration": [0.1]}
    swept = gq.sweep(gq.Scenario().set("qdiscs", ["pfifo"]), over, seeds=1).to_pandas()
    assert sorted(set(swept["link.rtt"])) == [0.02, 0.1]
    again = {"link.rtt": list(swept["link.rtt"].unique()), "link.up": swept["link.up"].unique(), "duration": [0.1]}
    assert gq.sweep(gq.Scenario().set("qdiscs", ["pfifo"]), again, seeds=1).to_pandas().equals(swept)


def test_a_rate_is_a_number_and_a_word_of_tc() -> None:
    assert gq.mbit(10) / 4 == 2.5e6
    assert (str(gq.mbit(2)), f"{gq.ms(13)}", repr(gq.gbit(1))) == ("2mbit", "13ms", "Rate('1gbit')")
    assert f"{gq.ms(13):.3f}" == "0.013"
    assert gq.ms(0.3) == gq.Time("300us")
    copied = pickle.loads(pickle.dumps(gq.kbit(0.5)))
    assert (type(copied), copied) == (gq.Rate, 500.0)
    assert "target 13ms" in repr(gq.Qdisc(f"codel target {gq.ms(13)}", rate=gq.mbit(1)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gq.compare(rate=True), TypeError, "`rate` is True of type bool\n  allowed: a rate: text such as"),
        (lambda: gq.compare(rtt=np.True_), TypeError, "`rtt` is .* of type bool"),
        (lambda: gq.compare(rate=float("nan")), gq.Error, "`rate` is NaN bit/s, which is not possible"),
        (lambda: gq.compare(rate=float("inf")), gq.Error, "`rate` is inf bit/s, which is not possible"),
        (lambda: gq.compare(up=-1e6), gq.Error, "`up` is -1000000 bit/s, which is not possible"),
        (lambda: gq.compare(rtt=timedelta(seconds=-1)), gq.Error, "`rtt` is -1 day, 23:59:59, which is not possible"),
        (lambda: gq.compare(time=1e300), gq.Error, "`time` is .* s, which is not possible"),
        (lambda: gq.compare(rate=10), gq.Error, r"means 10 bit/s\n  help: for Mbit/s pass gq.mbit\(10\)"),
        (lambda: gq.compare(rtt=50), gq.Error, r"means 50 s\n  help: for milliseconds pass gq.ms\(50\)"),
        (lambda: gq.compare(rtt=gq.mbit(10)), TypeError, "`rtt` is a rate, 10mbit\n  allowed: a time"),
        (lambda: gq.compare(rate=timedelta(seconds=1)), TypeError, "`rate` is datetime.timedelta.*\n  allowed: a rate"),
        (lambda: gq.compare(rate=[1e6]), TypeError, r"`rate` is \[1000000.0\] of type list"),
        (lambda: gq.compare(set={"link.rtt": float("nan")}), gq.Error, "`link.rtt` is NaN s"),
        (lambda: gq.compare(set={"wifi.error": float("nan")}), gq.Error, "`wifi.error` is NaN, which is not possible"),
        (lambda: gq.compare(set={"link.rtt": object()}), TypeError, "`link.rtt`: a scenario has no values of type object"),
        (lambda: gq.mbit("10"), TypeError, r"mbit\('10'\) has no number"),
        (lambda: gq.ms(-1), gq.Error, r"ms\(-1\) is not possible"),
        (lambda: gq.compare(rate="10"), gq.Error, "rate.*`10`(.|\\n)*write `10mbit`"),
        (lambda: gq.compare(qdisc=["pfifo"]), TypeError, r"compare\(\) has no argument `qdisc`\n.*\n  help: did you mean `qdiscs`\?"),
        (lambda: gq.compare(duration="2s"), TypeError, "did you mean `time`"),
        (lambda: gq.sweep(None, {}, seed=1), TypeError, r"sweep\(\) has no argument `seed`\n.*\n  help: did you mean `seeds`"),
        (lambda: gq.run("rrul-10-1", xyzzy=1), TypeError, r"has no argument `xyzzy`\n  allowed: scenario, jobs"),
        (lambda: gq.replay("x", qdiscs="pie"), TypeError, "did you mean `qdisc`"),
        (lambda: gq.compare(5), TypeError, "`scenario` is 5 of type int\n  allowed: a Scenario"),
        (lambda: gq.compare(qdiscs=5), TypeError, "`qdiscs` is 5 of type int\n  allowed: a list of disciplines"),
        (lambda: gq.compare(set=[1]), TypeError, r"`set` is \[1\] of type list\n  allowed: a dict"),
        (lambda: gq.sweep(None, ["link.rtt"]), TypeError, "`over` is .* of type list\n  allowed: a dict"),
        (lambda: gq.sweep(None, {"link.rtt": 0.05}), TypeError, "`over.'link.rtt'.` is 0.05 of type float\n  allowed: a list"),
        (lambda: gq.compare(seeds=2.0), TypeError, "`seeds` is 2.0 of type float\n  allowed: a whole number"),
        (lambda: gq.compare(seeds=True), TypeError, "`seeds` is True of type bool"),
        (lambda: gq.compare(seed=-1), gq.Error, "`seed` is -1, which is not possible\n  allowed: 0 to"),
        (lambda: gq.compare(jobs=10**9), gq.Error, "`jobs` is 1000000000, which is not possible\n  allowed: 0 to 1024"),
        (lambda: gq.compare(store=5), TypeError, "`store` is 5 of type int\n  allowed: a path"),
        (lambda: gq.compare(progress=5), TypeError, "`progress` is 5 of type int"),
        (lambda: gq.compare(series=True), TypeError, "`series` is True of type bool"),
    ],
)
def test_wrong_values_are_errors_that_name_the_argument(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_errors_name_arguments_and_no_options_of_the_command() -> None:
    for options in ({"rate": "x"}, {"rtt": "x"}, {"time": "x"}, {"rate": "1mbit", "set": {"link.down": "2mbit"}}):
        with pytest.raises(gq.Error) as raised:
            gq.compare(**options)  # type: ignore[arg-type]
        assert "--" not in str(raised.value) and next(iter(options)) in str(raised.value), str(raised.value)


def test_functions_keep_their_signature_and_their_help() -> None:
    import inspect

    assert "qdiscs" in inspect.signature(gq.compare).parameters
    assert (gq.compare.__name__, gq.compare.__module__) == ("compare", "goodqueue._api")
    assert "Compares disciplines" in (gq.compare.__doc__ or "")


def test_one_discipline_and_a_path_need_no_list_and_no_text(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text('duration = "100ms"\n[output]\nseries = "50ms"\n')
    results = gq.compare(file, qdiscs={"label": "mixed", "down": "pie", "up": "codel"})
    assert [run["qdisc"] for run in results.runs] == ["mixed"]
    assert len(results.series.columns()["t_s"]) > 0, "the scenario asks for time series"


@pytest.mark.parametrize("step", ["1ns", 1e-9, 0, timedelta(microseconds=1), "999us"])
def test_a_step_of_time_series_that_would_fill_the_memory_is_refused(step: Any) -> None:
    with pytest.raises(gq.Error, match="would have too many points\n  allowed: steps of 1ms or more"):
        gq.compare(series=step)


def test_a_run_has_at_most_a_million_points() -> None:
    with pytest.raises(gq.Error, match="`series`: a time series in steps of 1ms over 2000s would have too many points"):
        gq.compare(series="1ms", time="2000s")


def test_the_command_refuses_the_same_step() -> None:
    command = Path(sys.executable).with_name("goodqueue")
    told = subprocess.run([command, "compare", "--series", "1ns"], capture_output=True, text=True, check=False)
    assert told.returncode == 2 and "would have too many points" in told.stderr

"""Finished runs are kept, and the same call simulates only what is missing."""

import pickle
from pathlib import Path

import pytest

import goodqueue as gq

SHORT = gq.Scenario().set("duration", "1s").set("qdiscs", ["pfifo", "fq_codel"])


class Told:
    """The progress of a call."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.runs: list[int] = []
        self.stop_after = stop_after

    def __call__(self, finished: int, runs: int) -> None:
        self.runs.append(finished)
        if self.stop_after is not None and finished >= self.stop_after:
            raise KeyboardInterrupt


def test_a_stopped_sweep_resumes_with_the_same_call_and_the_same_bytes(tmp_path: Path) -> None:
    over = {"link.rtt": ["10ms", "20ms", "30ms"]}
    with pytest.raises(KeyboardInterrupt) as stopped:
        gq.sweep(SHORT, over, seeds=4, store=tmp_path, jobs=1, progress=Told(stop_after=3))
    kept = len(stopped.value.results)  # type: ignore[attr-defined]
    assert 3 <= kept < 24
    told = Told()
    resumed = gq.sweep(SHORT, over, seeds=4, store=tmp_path, progress=told)
    assert told.runs[0] >= kept
    assert resumed.to_json() == gq.sweep(SHORT, over, seeds=4).to_json()
    again = Told()
    assert gq.sweep(SHORT, over, seeds=4, store=tmp_path, progress=again).to_json() == resumed.to_json()
    assert again.runs == [], "nothing is simulated again"


def test_a_sweep_that_grows_simulates_only_what_is_new(tmp_path: Path) -> None:
    gq.sweep(SHORT, {"link.rtt": ["10ms", "20ms"]}, seeds=1, store=tmp_path)
    told = Told()
    gq.sweep(SHORT, {"link.rtt": ["10ms", "20ms", "30ms"]}, seeds=1, store=tmp_path, progress=told)
    assert told.runs[0] >= 4 and told.runs[-1] == 6


def test_series_can_be_asked_for_later(tmp_path: Path) -> None:
    assert "series" not in gq.run(SHORT, store=tmp_path).runs[0]
    with_series = gq.run(SHORT, store=tmp_path, series="100ms")
    assert with_series.runs[0]["series"]["step_s"] == 0.1
    assert "series" not in gq.run(SHORT, store=tmp_path).runs[0]


def test_a_store_that_cannot_be_written_is_one_error_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(gq.Error, match="cannot be made") as raised:
        gq.run(SHORT, store=tmp_path / "file")
    assert "choose another `store`" in str(raised.value)


def test_a_store_that_fails_during_a_sweep_is_one_error_with_its_remedy(tmp_path: Path) -> None:
    def damage(finished: int, runs: int) -> None:
        folder = tmp_path / "runs"
        if finished > 0 and folder.is_dir():
            folder.rename(tmp_path / "kept")
            folder.write_text("")

    with pytest.raises(gq.Error, match="runs` cannot be written") as raised:
        gq.sweep(SHORT.set("duration", "20s"), {}, seeds=20, jobs=1, store=tmp_path, progress=damage)
    assert "make space or change its permissions, then repeat the call" in str(raised.value)
    assert list((tmp_path / "kept").glob("*.json")), "finished runs are kept"


def test_a_scenario_survives_its_way_to_another_process(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('qdiscs = ["codel"]\nduration = "5s"\n')
    scenario = gq.Scenario.load(str(file)).set("link.rtt", "20ms").with_options(rate="5mbit", set={"tcp.ecn": True})
    file.unlink()
    assert pickle.loads(pickle.dumps(scenario)).to_json() == scenario.to_json()


def test_a_url_that_is_no_store_is_one_error_with_those_that_are() -> None:
    with pytest.raises(gq.Error, match="the scheme is unknown\n  allowed: a folder, s3://BUCKET/PREFIX"):
        gq.run(SHORT, store="ftp://host/upload")


def test_an_object_store_needs_a_package_that_was_built_with_it() -> None:
    with pytest.raises(gq.Error) as raised:
        gq.run(SHORT, store="az://container/upload")
    if "cannot be used" in str(raised.value):
        pytest.skip("this package was built with the feature `object-store`")
    assert "built without the feature `object-store`" in str(raised.value)
    assert "--config-settings=build-args='--features object-store'" in str(raised.value)

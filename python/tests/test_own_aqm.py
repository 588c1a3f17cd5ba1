"""AQMs written in Python, as disciplines of a run."""

import functools
from pathlib import Path

import pytest

import goodqueue as gq


class Deadline:
    """Drops packets that have waited for too long."""

    def __init__(self, most: float = 0.02) -> None:
        self.most = most

    def on_dequeue(self, seen: gq.Seen) -> str:
        return "drop" if seen.sojourn > self.most else "pass"


class Ramp:
    """Marks with a probability that rises with the sojourn time."""

    limit = 500

    def on_dequeue(self, seen: gq.Seen) -> float:
        return min(seen.sojourn / 0.2, 1.0)


def latency(results: gq.Results) -> dict[str, float]:
    return {run["qdisc"]: run["induced_latency_s"]["mean"] for run in results.runs}


def test_an_aqm_of_ten_lines_keeps_its_promise_and_stands_beside_the_built_in_ones() -> None:
    short = functools.partial(Deadline, most=0.01)
    results = gq.compare(qdiscs=["pfifo", Deadline, short, Ramp], time="4s", seeds=2)
    means = latency(results)
    assert list(means) == ["pfifo", "Deadline", "Deadline most=0.01", "Ramp"]
    assert means["Deadline most=0.01"] < means["Deadline"] < means["pfifo"]
    assert means["Ramp"] < means["pfifo"]


def test_the_same_seed_gives_the_same_bytes() -> None:
    both = [gq.compare(qdiscs=[Ramp], time="2s", seeds=2, jobs=jobs).to_json() for jobs in (1, 2)]
    assert both[0] == both[1]


def test_an_aqm_can_be_swept_and_can_stand_in_one_direction() -> None:
    up_only = {"label": "up only", "down": "fq_codel", "up": Deadline}
    results = gq.sweep(None, {"qdisc": [Deadline, up_only], "link.rtt": ["20ms", "40ms"], "duration": ["1s"]})
    assert [run["qdisc"] for run in results.runs] == ["Deadline", "up only"] * 2


class Divides:
    def on_enqueue(self, seen: gq.Seen) -> float:
        return seen.bytes / seen.packets


class Counts:
    def on_dequeue(self, seen: gq.Seen) -> float:
        return float("nan") if seen.now > 0.5 else 0.0


class Shouts:
    def on_dequeue(self, seen: gq.Seen) -> str:
        return "DROP"


class Needs:
    def __init__(self, target: float) -> None: ...

    def on_dequeue(self, seen: gq.Seen) -> None: ...


class Mute:
    pass


class Endless:
    limit = "many"

    def on_dequeue(self, seen: gq.Seen) -> None: ...


@pytest.mark.parametrize(
    ("aqm", "parts"),
    [
        (Divides, ["`Divides.on_enqueue` raised ZeroDivisionError: ", "run with `Divides`, seed 1", "help: "]),
        (Counts, ["`Counts.on_dequeue` returned nan at 0.5", "allowed: None or "]),
        (Shouts, ["returned 'DROP'", "allowed: None or "]),
        (Needs, ["`Needs()` raised TypeError", "functools.partial"]),
        (Mute, ["`Mute` has neither `on_enqueue` nor `on_dequeue`"]),
        (Endless, ["the `limit` of Endless is no number of packets", "allowed: "]),
    ],
)
def test_a_faulty_aqm_stops_the_run_with_one_error_that_names_the_place(aqm: type, parts: list[str]) -> None:
    with pytest.raises(gq.Error) as raised:
        gq.compare(qdiscs=[aqm], time="2s")
    for part in parts:
        assert part in str(raised.value)


def test_the_cause_is_the_exception_of_the_aqm() -> None:
    with pytest.raises(gq.Error) as raised:
        gq.compare(qdiscs=[Divides], time="2s")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_finished_results_are_kept_when_an_aqm_fails(tmp_path: Path) -> None:
    with pytest.raises(gq.Error) as raised:
        gq.compare(qdiscs=["pfifo", "codel", Counts], time="2s", store=tmp_path)
    assert [run["qdisc"] for run in raised.value.results.runs] == ["pfifo", "codel"]  # type: ignore[attr-defined]
    told: list[tuple[int, int]] = []
    gq.compare(qdiscs=["pfifo", "codel"], time="2s", store=tmp_path, progress=lambda *at: told.append(at))
    assert not told, "nothing is left to simulate"


def test_runs_of_an_aqm_are_simulated_anew_because_its_code_may_have_changed(tmp_path: Path) -> None:
    class Now:
        def on_dequeue(self, seen: gq.Seen) -> None: ...

    before = gq.compare(qdiscs=[Now], time="2s", store=tmp_path)
    Now.on_dequeue = lambda self, seen: "drop" if seen.sojourn > 0.01 else "pass"  # type: ignore
    after = gq.compare(qdiscs=[Now], time="2s", store=tmp_path)
    assert latency(after)["Now"] < latency(before)["Now"]


def test_an_object_is_refused_because_queues_would_share_it() -> None:
    with pytest.raises(TypeError, match="pass the class Deadline"):
        gq.compare(qdiscs=[Deadline()], time="1s")  # type: ignore[list-item]

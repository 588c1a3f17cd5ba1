"""A link as an object, in simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import goodqueue as gq


def events(link: gq.Link) -> Iterator[gq.Event]:
    while (time := link.next_event()) is not None:
        while event := link.poll(time):
            yield event


def burst(link: gq.Link, packets: int, ecn: str = "ect0") -> None:
    for number in range(packets):
        link.send(number * 0.0005, gq.Packet(1250, ecn=ecn, content=number))


def test_a_packet_takes_its_transmission_and_the_delay() -> None:
    link = gq.Link("10mbit delay 20ms")
    link.send(0.5, gq.Packet(1250, content={"any": "thing"}))
    (event,) = events(link)
    assert (event.fate, event.reason) == ("arrived", None)
    assert event.time == pytest.approx(0.521, abs=1e-9)
    assert event.packet.content == {"any": "thing"}
    assert link.next_event() is None


def test_fq_codel_marks_where_a_fifo_fills() -> None:
    waits = {}
    for qdisc in ("bfifo limit 1mb", "fq_codel ecn"):
        link = gq.Link(f"10mbit delay 20ms [{qdisc}]")
        burst(link, 4000)
        marked = [event for event in events(link) if event.packet.ecn == "ce"]
        statistics = link.statistics()
        assert len(marked) == statistics["packets.marked"]
        waits[qdisc] = statistics["sojourn_s.p99"], len(marked)
    assert waits["bfifo limit 1mb"][1] == 0 and waits["fq_codel ecn"][1] > 0


def test_drops_and_losses_have_their_reasons_and_seeds_decide() -> None:
    def fates(seed: int) -> list[tuple[str, str | None, int]]:
        link = gq.Link("10mbit loss 5% [pfifo limit 50]", seed=seed)
        burst(link, 1000)
        return [(event.fate, event.reason, event.packet.content) for event in events(link)]

    assert fates(1) == fates(1) != fates(2)
    assert {fate for fate, _, _ in fates(1)} == {"arrived", "dropped", "lost"}
    assert {reason for fate, reason, _ in fates(1) if fate == "dropped"} == {"overlimit"}


def test_the_rate_changes_and_a_gap_holds_packets() -> None:
    link = gq.Link("10mbit")
    link.set_rate(0.0, gq.mbit(1))
    link.gap(0.0, 0.1)
    link.send(0.05, gq.Packet(1250))
    (event,) = events(link)
    assert event.time == pytest.approx(0.11, abs=1e-9)


def test_a_recording_is_a_recording_of_replay(tmp_path: Path) -> None:
    link = gq.Link("10mbit [codel]", seed=9)
    link.record(tmp_path / "run.jsonl")
    burst(link, 2000, ecn="not_ect")
    assert any(event.fate == "dropped" for event in events(link))
    link.stop_recording()
    (verdict,) = gq.replay(tmp_path / "run.jsonl", compare=True)
    assert (verdict["packets"], verdict["equal"]) == (2000, True)
    assert len(gq.replay(tmp_path / "run.jsonl", qdisc="pie")) == 2000


def test_an_earlier_time_counts_as_that_of_the_last_call() -> None:
    link = gq.Link("10mbit")
    assert link.poll(1.0) is None
    link.send(0.5, gq.Packet(1250))
    (event,) = events(link)
    assert event.time == pytest.approx(1.001, abs=1e-9)


def test_a_link_without_packets_fulfils_no_bound() -> None:
    statistics = gq.Link("10mbit").statistics()
    assert statistics["packets.sent"] == 0
    assert not statistics["sojourn_s.p99"] < 30.0


def test_errors_underline_the_word() -> None:
    with pytest.raises(gq.Error, match="did you mean `fq_codel`"):
        gq.Link("20mbit [fq_codle]")
    with pytest.raises(gq.Error, match="did you mean `cable`"):
        gq.Link("20mbit preset cabel")
    link = gq.Link("20mbit")
    with pytest.raises(ValueError, match="not possible"):
        link.poll(float("nan"))
    with pytest.raises(gq.Error, match="cannot be written"):
        link.record("no/such/folder/run.jsonl")

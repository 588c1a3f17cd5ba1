"""Recordings and papers from Python."""

from pathlib import Path

import pytest

import goodqueue as gq

RECORDINGS = Path(__file__).parent.parent.parent / "crates" / "goodqueue-testkit"
RECORDING = RECORDINGS / "recordings-ns2" / "red_adaptive.jsonl.gz"


def test_a_recording_is_replayed_packet_by_packet() -> None:
    fates = gq.replay(RECORDING)
    assert fates[0] == {
        "recording": str(RECORDING), "fate": "sent", "t_s": 0.355834503, "packet": 0, "bytes": 40, "reason": None,
    }
    with_codel = gq.replay([RECORDING], qdisc="codel", rate="1mbit")
    drops = {fate["reason"] for fate in with_codel if fate["fate"] == "dropped"}
    assert drops and None not in drops


def test_fates_are_compared_with_the_recorded_ones() -> None:
    [equal] = gq.replay(RECORDING, compare=True)
    assert equal["equal"] and equal["packets"] == 1538
    [differs] = gq.replay(RECORDING, qdisc="pfifo limit 5", compare=True)
    assert not differs["equal"] and differs["first_difference"]


PAPER = """
name = "own"
title = "Own"
source = "none"

[[experiments]]
name = "load"
scenario = "load.toml"

[[claims]]
id = "own-1"
kind = "order"
says = "more"
check = "mean(goodput.down)[codel@load] > 1mbit"
"""


def test_the_claims_of_a_paper_are_checked_and_reported(tmp_path: Path) -> None:
    paper = tmp_path / "papers" / "own"
    paper.mkdir(parents=True)
    (paper / "claims.toml").write_text(PAPER)
    (paper / "load.toml").write_text('duration = "2s"\nqdiscs = ["codel", "pfifo"]\nflows = 1\n')
    reproduced = gq.reproduce("own", papers=paper.parent, store=tmp_path / "runs", report=tmp_path / "own.html")
    assert [(claim["id"], claim["verdict"]) for claim in reproduced.claims] == [("own-1", "reproduced")]
    assert len(reproduced.to_pandas()) == 1
    assert "own: 1 of 1 claims reproduced" in str(reproduced)
    assert "own-1" in (tmp_path / "own.html").read_text()
    everything = gq.reproduce(all=True, papers=paper.parent, store=tmp_path / "runs")
    assert everything.claims == reproduced.claims


def test_errors_are_those_of_the_command() -> None:
    with pytest.raises(gq.Error, match="there is no paper and no claim `kj`") as raised:
        gq.reproduce("kj")
    assert "allowed: gbw" in str(raised.value)
    with pytest.raises(gq.Error, match="needs a paper or a claim"):
        gq.reproduce()
    with pytest.raises(gq.Error, match="nowhere.jsonl"):
        gq.replay("nowhere.jsonl")

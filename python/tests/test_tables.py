"""Tables in data frames."""

from pathlib import Path

import pyarrow
import pyarrow.compute
import pytest

import goodqueue as gq


@pytest.fixture(scope="module")
def results() -> gq.Results:
    scenario = gq.Scenario().set("duration", "1s").set("qdiscs", ["pie", "codel"])
    return gq.sweep(scenario, {"link.rtt": ["10ms", "20ms"]}, seeds=2, series="100ms")


def test_arrow_and_polars_read_the_memory_of_the_table(results: gq.Results) -> None:
    arrow, polars, columns = results.to_arrow(), results.to_polars(), results.columns()
    assert arrow.to_pydict() == columns
    assert polars.to_dict(as_series=False) == columns
    assert arrow.schema.field("qdisc").type == pyarrow.string()
    assert arrow.schema.field("seed").type == pyarrow.uint64()
    assert arrow.schema.field("probes.voip.mos").type == pyarrow.float64()
    assert pyarrow.table(results.table).equals(arrow), "the table has the interface itself"


def test_the_series_are_a_table_with_a_row_for_each_sample(results: gq.Results) -> None:
    frame = results.series.to_pandas()
    assert list(frame.columns) == ["run", "qdisc", "link.rtt", "seed", "t_s", "series", "direction", "flow", "value"]
    queue = frame.query("run == 3 and series == 'queue_packets' and direction == 'up'")
    assert list(queue["value"]) == results.runs[3]["series"]["queues"]["up"]["queue_packets"]
    assert len(results.series.to_arrow()) == len(frame)


@pytest.mark.parametrize("name", ["packets.parquet", "packets.csv"])
def test_the_packets_of_all_runs_are_one_table(tmp_path: Path, name: str) -> None:
    scenario = gq.Scenario().set("duration", "1s").set("qdiscs", ["pie", "codel"]).set("sweep.link.rtt", ["20ms"])
    packets = gq.run(scenario, packets=tmp_path / name).packets
    arrow = packets.to_arrow()
    assert arrow.column_names[:5] == ["run", "qdisc", "link.rtt", "seed", "packet"]
    assert len(arrow) > 500
    assert packets.to_polars().to_dict(as_series=False) == arrow.to_pydict()
    frame = packets.to_pandas()
    assert list(frame["sojourn_ns"].isna()) == arrow["sojourn_ns"].is_null().to_pylist()
    assert frame["sojourn_ns"].sum() == pyarrow.compute.sum(arrow["sojourn_ns"]).as_py() > 0
    assert set(frame.groupby("run")["qdisc"].unique().map(tuple)) == {("pie",), ("codel",)}
    assert packets.to_pandas(run=1).equals(frame[frame["run"] == 1].reset_index(drop=True))


def test_packets_without_a_table_and_runs_that_do_not_exist_are_errors(tmp_path: Path) -> None:
    packets = gq.compare(qdiscs=["pie"], time="1s", packets=tmp_path / "packets.pcapng").packets
    with pytest.raises(gq.Error, match="are not a table\n  allowed: files that end with .parquet or .csv"):
        packets.to_arrow()
    with pytest.raises(gq.Error, match="there is no run 1\n  allowed: 0 to 0"):
        packets.to_pandas(run=1)

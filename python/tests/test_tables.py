"""Tables in data frames."""

import pyarrow
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

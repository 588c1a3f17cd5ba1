"""Disciplines as objects, in simulated time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import goodqueue as gq


def test_codel_drops_one_interval_after_the_target_is_exceeded() -> None:
    queue = gq.Qdisc("codel target 5ms interval 100ms noecn")
    for number in range(400):
        queue.enqueue(0.0, gq.Packet(1514, content=number))
    dropped_at = None
    time = 0.0
    while dropped_at is None and len(queue) > 0:
        time += 0.001
        queue.dequeue(time)
        if queue.take_drops():
            dropped_at = time
    assert dropped_at == pytest.approx(0.106, abs=0.002)


def test_a_sparse_flow_overtakes_a_bulk_flow_in_fq_codel_and_not_in_a_fifo() -> None:
    def place(line: str) -> int:
        queue = gq.Qdisc(line)
        for _ in range(20):
            queue.enqueue(0.0, gq.Packet(flow=1))
        queue.dequeue(0.0)
        queue.dequeue(0.0)
        queue.enqueue(0.001, gq.Packet(100, flow=2))
        flows = [packet.flow for _ in range(19) if (packet := queue.dequeue(0.001))]
        return flows.index(2)

    assert place("fq_codel") == 0
    assert place("pfifo") == 18


def test_a_packet_keeps_its_identity_and_its_content() -> None:
    queue = gq.Qdisc("pfifo limit 1")
    first, second = gq.Packet(content={"any": "thing"}), gq.Packet()
    queue.enqueue(0.0, first)
    queue.enqueue(0.0, second)
    (drop,) = queue.take_drops()
    assert drop[0] is second and drop[1] == "overlimit"
    assert queue.dequeue(0.0) is first


def test_a_mark_is_seen_on_the_packet() -> None:
    queue = gq.Qdisc("codel ecn ce_threshold 1ms")
    packet = gq.Packet(ecn="ect0")
    queue.enqueue(0.0, packet)
    queue.dequeue(0.01)
    assert packet.ecn == "ce"


def test_a_shaper_says_when_to_ask_again() -> None:
    queue = gq.Qdisc("tbf rate 1mbit burst 2kb limit 100kb")
    for _ in range(3):
        queue.enqueue(0.0, gq.Packet(1514))
    assert queue.dequeue(0.0) is not None
    assert queue.dequeue(0.0) is None
    later = queue.next_event()
    assert later is not None and queue.dequeue(later) is not None


def test_errors_name_the_parameter_and_time_does_not_go_backwards() -> None:
    with pytest.raises(gq.Error, match="did you mean `target`"):
        gq.Qdisc("codel targt 5ms")
    queue = gq.Qdisc("pfifo")
    queue.dequeue(1.0)
    with pytest.raises(ValueError, match="backwards"):
        queue.dequeue(0.5)
    with pytest.raises(ValueError, match="not possible"):
        queue.dequeue(float("nan"))
    with pytest.raises(gq.Error, match="ECN"):
        gq.Packet(ecn="maybe")


def test_threads_share_a_discipline() -> None:
    queue = gq.Qdisc("fq_codel limit 100000")

    def feed(flow: int) -> int:
        for _ in range(1000):
            queue.enqueue(0.0, gq.Packet(flow=flow))
        return sum(queue.dequeue(0.0) is not None for _ in range(500))

    with ThreadPoolExecutor(8) as threads:
        sent = sum(threads.map(feed, range(8)))
    assert (sent, len(queue), queue.backlog) == (4000, 4000, 4000 * 1514)


def test_an_error_in_another_thread_is_an_exception() -> None:
    queue = gq.Qdisc("pfifo")
    queue.enqueue(1.0, gq.Packet())
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(len, queue).result() == 1
        failure = threads.submit(queue.dequeue, 0.5).exception()
    assert isinstance(failure, ValueError)


def test_a_defect_of_goodqueue_is_an_exception_that_programs_catch() -> None:
    with pytest.raises(RuntimeError, match="goodqueue has a defect: index out of bounds\n  help: report it"):
        gq._goodqueue._panic("index out of bounds")


def test_no_input_raises_a_panic() -> None:
    """A `PanicException` is a `BaseException`: it ends programs that catch `Exception`."""
    lines = ["pfifo limit 0", "bfifo limit 1", "codel target 0ms", "fq_codel flows 1 quantum 1", "sfq divisor 1",
             "cake bandwidth 1bit", "tbf rate 1bit burst 1 limit 1", "red limit 1", "netem delay 1000000s",
             "htb default 1", "dualpi2", "python aqm 7", "", "\0", "x" * 100_000]
    sizes = [0, 1, 1514, 65_536, 2**32 - 1, -1, 2**64, 1.5, "x", None]
    times = [0.0, -1.0, 1e9, 1e308, float("nan"), float("-inf"), 5, "x", None]
    seen: set[type] = set()
    for line in lines:
        for rate in ("10mbit", "1bit", 0, 1e19, None):
            queue = caught(seen, gq.Qdisc, line, rate)
            if queue is None:
                continue
            for size in sizes:
                for time in times:
                    packet = caught(seen, gq.Packet, size, 2**16 - 1, "ect0", 63)
                    caught(seen, queue.enqueue, time, packet)
                    caught(seen, queue.dequeue, time)
            caught(seen, queue.next_event)
            caught(seen, queue.take_drops)
            repr(queue), len(queue), queue.backlog
    assert {ValueError, TypeError} <= {known for failure in seen for known in failure.__mro__}


def caught(seen: set[type], call: Callable[..., Any], *arguments: object) -> Any:
    try:
        return call(*arguments)
    except Exception as failure:
        seen.add(type(failure))
        return None


def test_a_time_without_a_unit_warns_once_of_what_it_means() -> None:
    means = "`target 5` of fq_codel means 5us, as in tc"
    with pytest.warns(UserWarning, match=means) as seen:
        gq.Qdisc("fq_codel target 5")
    assert "line:" in str(seen[0].message)
    with pytest.warns(UserWarning, match=means):
        gq.Scenario.parse("qdiscs = ['fq_codel target 5']")
    with pytest.warns(UserWarning, match=means) as seen:
        gq.compare(qdiscs=["fq_codel target 5"], time="1s", progress=False)
    assert [str(warning.message).count(means) for warning in seen] == [1]
    assert "--qdisc" not in str(seen[0].message)


@pytest.mark.filterwarnings("error")
def test_a_time_with_a_unit_and_a_change_of_another_key_do_not_warn() -> None:
    gq.Qdisc("fq_codel target 5ms")
    with pytest.warns(UserWarning):
        scenario = gq.Scenario.parse("qdiscs = ['fq_codel target 5']")
    assert scenario.set("link.rtt", "10ms").count() == 1
    with pytest.raises(UserWarning, match="means 7us"):
        scenario.set("qdiscs", ["fq_codel target 7"])

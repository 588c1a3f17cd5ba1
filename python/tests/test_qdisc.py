"""Disciplines as objects, in simulated time."""

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

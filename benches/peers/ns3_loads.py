"""Loads on ns-3 (the wheel `ns3` of PyPI), built with its own modules:

    python3 ns3_loads.py fifo FLOWS MBIT SECONDS
    python3 ns3_loads.py transients REPLICATIONS

`fifo`: CUBIC flows through one link with a delay of 25 ms, so the round-trip time is 50 ms, and a
FIFO of 1,000 packets. `transients`: 4+4 flows of Järvinen & Kojo's paper through CoDel.

Prints the packets that left the bottleneck, and the seconds of CPU time within `Simulator::Run`,
so that the time to load ns-3 and its bindings does not count.
"""

import random
import sys
import time

from ns import ns


def path(links, queue):
    """Nodes in a row with these (rate, delay) links, and this queue disc in front of the last link."""
    nodes = ns.NodeContainer()
    nodes.Create(len(links) + 1)
    ns.InternetStackHelper().Install(nodes)
    discs = None
    addresses = ns.Ipv4AddressHelper()
    for number, (rate, delay) in enumerate(links):
        link = ns.PointToPointHelper()
        link.SetDeviceAttribute("DataRate", ns.StringValue(rate))
        link.SetChannelAttribute("Delay", ns.StringValue(delay))
        # The device's own queue holds one packet, so that the queue disc holds the others.
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.QueueSizeValue(ns.QueueSize("1p")))
        devices = link.Install(nodes.Get(number), nodes.Get(number + 1))
        if number + 1 == len(links):
            control = ns.TrafficControlHelper()
            control.SetRootQueueDisc(*queue)
            discs = control.Install(devices)
        addresses.SetBase(ns.Ipv4Address(f"10.0.{number}.0"), ns.Ipv4Mask("255.255.255.0"))
        addresses.Assign(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return nodes, discs.Get(0)


def download(nodes, port, start, stop, size):
    """A transfer from the first node to the last; `size` 0 has no end."""
    client = nodes.Get(nodes.GetN() - 1)
    address = client.GetObject[ns.Ipv4]().GetAddress(1, 0).GetLocal()
    remote = ns.InetSocketAddress(address, port).ConvertTo()
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere).Install(client)
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", remote)
    source.SetAttribute("MaxBytes", ns.UintegerValue(size))
    # Writes of 512 bytes, the default, would become packets of 512 bytes in slow start.
    source.SetAttribute("SendSize", ns.UintegerValue(1460))
    sender = source.Install(nodes.Get(0))
    sink.Start(ns.Seconds(0))
    sender.Start(ns.Seconds(start))
    sender.Stop(ns.Seconds(stop))


def run(disc, seconds):
    """Simulates, and returns the packets that left the queue disc and the CPU time."""
    ns.Simulator.Stop(ns.Seconds(seconds))
    begun = time.process_time()
    ns.Simulator.Run()
    spent = time.process_time() - begun
    packets = disc.GetStats().nTotalSentPackets
    ns.Simulator.Destroy()
    return packets, spent


def fifo(flows, mbit, seconds):
    tcp(controller="ns3::TcpCubic", segment=1448, window=10)
    nodes, disc = path([(f"{mbit}Mbps", "25ms")], ("ns3::FifoQueueDisc", "MaxSize", ns.QueueSizeValue(ns.QueueSize("1000p"))))
    for number in range(flows):
        download(nodes, 5000 + number, 0.001 * number, seconds, 0)
    return run(disc, seconds)


def transients(replications):
    # Timestamps would make packets of 1460 bytes of data longer than 1500 bytes.
    ns.Config.SetDefault("ns3::TcpSocketBase::Timestamp", ns.BooleanValue(False))
    tcp(controller="ns3::TcpLinuxReno", segment=1460, window=3)
    starts = random.Random(1)
    packets, spent = 0, 0.0
    for _ in range(replications):
        links = [("100Mbps", "11ms"), ("2Mbps", "70ms")]
        nodes, disc = path(links, ("ns3::CoDelQueueDisc", "MaxSize", ns.QueueSizeValue(ns.QueueSize("100p"))))
        second = starts.uniform(0, 0.65)
        for number in range(8):
            download(nodes, 5000 + number, second if number >= 4 else 0.0, 12.0, 90_520)
        sent, took = run(disc, 12.0)
        packets, spent = packets + sent, spent + took
    return packets, spent


def tcp(controller, segment, window):
    ns.Config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.TypeIdValue(ns.TypeId.LookupByName(controller)))
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(segment))
    ns.Config.SetDefault("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(window))
    # Larger than any window of these loads.
    for buffer in ["SndBufSize", "RcvBufSize"]:
        ns.Config.SetDefault(f"ns3::TcpSocket::{buffer}", ns.UintegerValue(1 << 24))


if __name__ == "__main__":
    load = {"fifo": fifo, "transients": transients}[sys.argv[1]]
    print(*load(*map(int, sys.argv[2:])))

"""Writes the configuration of CUBIC flows through one FIFO for daytone (PyPI), and prints its path:

    python3 daytone_fifo.py FLOWS MBIT SECONDS FOLDER

The FIFO holds 1,000 packets. Daytone's links have no delay, and its TCP sends segments of 512
bytes. Each application offers more than the link carries. Daytone writes the packets that arrived
into `FOLDER/sinks.csv`.
"""

import pathlib
import sys

HEAD = """\
seed = 1
edges = [[0, 1]]
hosts = [0, 1]
duration = {seconds}.0
num_threads = 1
log_path = "{folder}"

[switch]
port_rate = {rate}
capacity = 1000
weights = [1]
discipline = "FIFO"
drop = "TailDrop"
"""

FLOW = """
[[flow]]
flow_type = "TCP"
graph = [[0, 1]]
[flow.traffic]
initial_delay = 0.0
duration = {seconds}.0
arr_dist = {{ type = "Uniform", low = {between}, high = {between} }}
pkt_size_dist = {{ type = "Uniform", low = 1500, high = 1500 }}
[flow.traffic.tcp]
cc_algorithm = "TCPCubic"
"""


def main(flows, mbit, seconds, folder):
    # Together twice the rate of the link.
    between = flows * 1500 * 8 / (2e6 * mbit)
    text = HEAD.format(seconds=seconds, folder=folder, rate=mbit * 1_000_000)
    text += FLOW.format(seconds=seconds, between=between) * flows
    path = pathlib.Path(folder) / "fifo.toml"
    path.write_text(text)
    print(path)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4])

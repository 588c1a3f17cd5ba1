//! Scenarios: one bottleneck, one traffic mix, several queue disciplines. This module reads them
//! from TOML files and resolves them.
//!
//! # The format
//!
//! A scenario is a TOML file. **Every key is optional. An empty file is the load of `goodqueue
//! compare` without arguments**: the Realtime Response Under Load test on a 10/1 Mbit/s line. An
//! unknown key is an error. Rates, times and sizes are text with a unit, as [`goodqueue_tc::units`]
//! describes: `"10mbit"`, `"50ms"`, `"360kb"`.
//!
//! ```toml
//! name = "rrul"              # for file names; default: the name of the file
//! title = "..."              # free text for people, like the next three keys
//! question = "..."
//! expect = "..."
//! source = "..."
//! duration = "60s"           # simulated time
//! warmup = "0s"              # time at the beginning that is not measured
//! seed = 1                   # seed of the first repetition
//! seeds = 1                  # number of repetitions, with seed, seed + 1, ...
//! qdiscs = [                 # disciplines to compare: lines in tc's grammar, or tables
//!   "bfifo limit 256kb", "red adaptive", "pie", "codel", "sfq", "fq_codel",
//!   "cake / fq_codel",       # towards the clients / towards the servers
//!   { label = "mixed", down = "fq_codel", up = "pfifo limit 50" },    # `up` defaults to `down`
//! ]
//!
//! [line]                     # rates that percentages refer to: "95%" in [link], in [[hops]] and in
//!                            # tc lines (`cake bandwidth 95%`); `--rate` and `--up` then set them
//!                            # instead of those of [link]. Default: none. Percentages in tc lines
//!                            # then refer to the rate of the discipline's link.
//! down = "16mbit"            # towards the clients; required
//! up = "1mbit"               # default: the value of `down`
//!
//! [link]                     # the bottleneck
//! down = "10mbit"            # rate towards the clients, or a table, see below
//! up = "1mbit"               # rate towards the servers; default: the value of `down`, if given
//! rtt = "50ms"               # base round-trip time without queues and serialization, at most 1h.
//!                            # Half of it is added in each direction, behind the last link. The
//!                            # delays of hops and `access` are parts of it.
//! delay_tick = "4ms"         # clock tick of an emulator that adds the delay, as dummynet does:
//!                            # a packet waits whole ticks, counted from the last tick before its
//!                            # arrival; default: exact to the nanosecond
//! mtu = 1500                 # largest IP packet in bytes, 68 to 65535
//! framing = 14               # bytes of link header that queues and links add to each packet
//!
//! [[hops]]                   # further links in series, ordered from the servers to the clients;
//!                            # default: none
//! name = "modem"             # name in results; default: hop 1, hop 2, ...
//! side = "client"            # side of the bottleneck: "client" or "server"
//! down = "20mbit"            # like link.down; default: "unlimited", a link that takes no time
//! up = "2mbit"               # default: the value of `down`
//! delay = "0s"               # propagation delay to the next hop towards the bottleneck, each way.
//!                            # It is part of the flows' rtt. If a hop on the server side has all
//!                            # of it, downloads cross the long path before the bottleneck.
//! qdisc = "pfifo"            # a line, { down = "...", up = "..." }, or "compared" for the
//!                            # discipline under comparison
//!
//! [wifi]                     # an 802.11n channel between the last link and the clients;
//!                            # default: none
//! mac = "fifo"               # queue of the access point: "fifo" is a discipline above a driver,
//!                            # "fq" is the MAC's own fair queueing
//! mac_up = "fifo"            # the same for the clients
//! qdisc = "compared"         # discipline above the drivers, as in [[hops]]
//! driver = 123               # packets in the access point's driver, per access category
//! driver_up = 123            # packets in a client's driver; default: the value of `driver`
//! driver_order = "turns"     # station that the access point's driver serves next: "turns" takes
//!                            # the stations in turn (ath9k), "oldest" takes the station whose
//!                            # first packet has waited longest (ns-3)
//! prepared = 2               # aggregates that the access point forms ahead, per access category,
//!                            # including the one in the air (ath9k); 0: it forms an aggregate at
//!                            # channel access, from all packets that are queued then (ns-3)
//! prepared_up = 2            # the same for a client; default: the value of `prepared`
//! small_queue = "85kb"       # bytes of one TCP transfer that may wait at its client (TCP small
//!                            # queues); default: no limit
//! airtime_fairness = true    # for "fq": share airtime among the stations; false: take turns
//! stations = [{}, { mcs = 0 }]  # clients 1, 2, ...; default: one equal station per client of the
//!                            # flows. The keys below are keys of a station. In [wifi] they apply
//!                            # to all stations.
//! mcs = 15                   # modulation and coding downwards: 0 to 31, 8 per spatial stream
//! mcs_up = 15                # the same upwards; default: the value of `mcs`
//! width = 20                 # channel width in MHz: 20 or 40
//! short_gi = true            # use the short guard interval of 400 ns
//! aggregate = 32             # MPDUs in an aggregate: 1 (no aggregation) to 64
//! aggregate_up = 32          # default: the value of `aggregate`
//! longest = "4ms"            # longest transmission of an aggregate, at most 5484us
//! error = 0.0                # probability that an MPDU is lost
//! error_up = 0.0             # default: the value of `error`
//! attempts = 30              # transmissions of an MPDU before it is dropped
//! attempts_up = 30           # default: the value of `attempts`
//! weight = 256               # weight of the station in the access point's airtime (for "fq")
//!
//! [tcp]                      # defaults for all TCP flows
//! cc = "cubic"               # congestion control
//! iw = 10                    # initial window in segments (RFC 6928)
//! mss = 1460                 # payload of a segment in bytes; default: MTU - 40
//! delayed_ack = "40ms"       # ACK every second segment, or after this time; "off"; or
//!                            # { every = 2, timeout = "40ms" }
//! ecn = false                # negotiate ECN (RFC 3168)
//! l4s = false                # mark ECN-capable packets as L4S (RFC 9331): ECT(1) instead of
//!                            # ECT(0). Needs a scalable congestion control: dctcp
//! sack = true                # selective acknowledgements (RFC 2018, RFC 6675)
//! rwnd = "64kb"              # the receiver's window; default: that of the profile. Only the
//!                            # profile `linux` has a limit (3 MB).
//! min_rto = "200ms"          # smallest retransmission timeout; RFC 6298 has 1s, systems in use
//!                            # have 200ms
//! hystart = "own"            # what ends slow start before a loss: "own" is the method of `cc`,
//!                            # "rfc9406" is HyStart++ (cubic, newreno, reno), "off" is nothing
//! remembers = { rtt = "5s", rttvar = "2s", ssthresh = 200 }  # state from earlier connections to
//!                            # the same host (profile `linux32` only); default: none
//! ledbat = { target = "100ms", gain = 1 }  # parameters of a congestion control, in a table of its
//!                            # name; `goodqueue list tcps` shows them
//! profile = "linux"          # TCP implementation: all behaviour, and the defaults of the keys
//!                            # above except `cc`
//!
//! [[flows]]                  # one table for each set of equal flows; `flows = 4` is short for 4
//!                            # TCP flows in each direction and a ping
//! kind = "tcp"               # kind of traffic, see below
//! direction = "down"         # direction of the data; default for a ping: "up" (its requests)
//! count = 1                  # number of flows
//! start = "0s"               # start time
//! start_jitter = "0s"        # largest random addition to each start: uniform, from the seed
//! together = false           # one random addition for all flows of the table
//! stop = "50s"               # stop time; default: the end of the run
//! rtt = "50ms"               # base round-trip time of these flows; default: link.rtt
//! rtt_step = "0s"            # increase of the round-trip time from each flow to the next
//! client = 1                 # number of the client, for disciplines that isolate hosts
//! server = 1                 # number of the server, at most 255
//! enters = "bottleneck"      # hop at which the server attaches: a name, or "bottleneck". Packets
//!                            # skip the hops in front of it, in both directions. Default: the
//!                            # first hop.
//! access = "0s"              # delay, each way, between a host and the first queue; part of `rtt`
//! access_rate = "100mbit"    # rate of each host's own link, for sending; default: unlimited
//! dscp = "CS0"               # code point of the packets, both ways: a name ("EF", "CS1",
//!                            # "AF41", "LE") or 0 to 63
//! label = "voice"            # name of the flows in results; default: none
//!
//! [sweep]                    # runs every combination; the first key varies slowest
//! "link.up" = ["1mbit", "10mbit"]
//! "flows.0.count" = [1, 4]   # entries of lists have numbers
//! qdiscs = ["codel", "codel target 13ms"]
//!
//! [output]                   # files below the working directory; default: none. Earlier results
//!                            # are replaced, other files never.
//! json = "results.json"
//! report = "report.html"
//! series = "100ms"           # step of the time series; default: no series
//! spikes = [15000, "25kb"]   # measure how long the queues hold more bytes; default: none
//! ```
//!
//! `link.down` and `link.up` take one of
//! - a rate above 0: `"10mbit"` or `{ rate = "10mbit" }`;
//! - a schedule: `{ schedule = [["0s", "100mbit"], ["50s", "0bit"], ["51s", "10mbit"]] }`. A rate
//!   of 0 blocks the link. With `repeat = "60s"` the schedule starts again after each 60 s until
//!   the run ends;
//! - a Mahimahi trace: `{ trace = "lte.down" }`, a path relative to the scenario file
//!   ([`crate::trace`]).
//!
//! Each of these tables may also describe the queue of the device below the discipline: `driver =
//! "256p"` (packets, including the one that is being sent), `driver = "3028b"` (the device takes
//! another packet while it holds fewer bytes than this), `driver = "bql"` (byte queue limits).
//! Without `driver` the device takes a packet when it can send it.
//!
//! `pause = { high = "3028b", low = "1514b", time = 65535 }` in the same table is Ethernet flow
//! control (IEEE 802.3, Annex 31B; `ethtool -A DEVICE tx on`): when the link's queue holds `high`
//! bytes, its device sends PAUSE frames (XOFF), and the link before it stops after the packet in
//! transmission. At `low` bytes (default: half of `high`) the link may resume (XON). Without
//! another frame it resumes after `time` quanta of 512 bit times, 1 to 65535; the device renews
//! a pause when half of it has passed. The queue's limit must leave room above `high` for the
//! packets on their way. All flows through the paused link wait. Hosts are never paused.
//!
//! With `[wifi]` the air is usually slower than `[link]`, which is then the wire behind the access
//! point. `goodqueue_sim::wifi` describes the model and its limits. Flows select their station with
//! `client`.
//!
//! A hop without a rate and with `netem` is a path that loses, delays or reorders packets: `qdisc =
//! "netem loss 1% delay 5ms 2ms"`. With `tbf` or `htb` a hop is a shaper.
//!
//! Each kind of flow has keys of its own. Kinds over TCP also accept all keys of `[tcp]`.
//!
//! ```toml
//! kind = "tcp"               # a connection with data in one direction
//! size = "360kb"             # bytes to transfer; default: unlimited
//! total = "360kb"            # instead of `size`: bytes of all flows of the table together, in
//!                            # equal parts
//! local_congestion = false   # the first queue is on the sender's host, which tells TCP at once
//!                            # about drops (Linux)
//!
//! kind = "ping"              # requests that are answered at once
//! interval = "200ms"         # time between requests
//! packet = 64                # IP bytes of a packet
//! l4s = false                # send packets as ECT(1), as L4S packets are
//!
//! kind = "cbr"               # datagrams at a constant bit rate
//! rate = "64kbit"            # rate of IP bytes; required
//! packet = 1500              # IP bytes of a packet; default: the MTU
//! ecn = false                # send packets as ECN-capable
//!
//! kind = "voip"              # a voice call in one direction, G.711 over RTP, judged by the
//!                            # E-model (ITU-T G.107)
//! interval = "20ms"          # time between packets (RFC 3551)
//! packet = 200               # IP bytes of a packet; default: 64 kbit/s of voice and 40 bytes of
//!                            # headers
//! ecn = false
//! playout = "60ms"           # length of a de-jitter buffer: a packet that arrives later than the
//!                            # fastest packet by more than this is lost. Default: no buffer;
//!                            # every packet that arrives is heard, at the mean delay.
//! concealment = true         # the decoder conceals lost packets (G.711 Appendix I)
//!
//! kind = "onoff"             # datagrams in bursts, with the defaults of ns-2's Exponential source
//! rate = "64kbit"            # rate of IP bytes within a burst; required
//! packet = 210               # IP bytes of a packet
//! on = { exponential = "500ms" }   # length of a burst; may be random
//! off = { exponential = "500ms" }  # length of the silence after a burst; may be random
//! ecn = false
//!
//! kind = "poisson"           # datagrams with exponentially distributed times between them
//! rate = "1mbit"             # mean rate of IP bytes; required
//! packet = 1500              # IP bytes of a packet; default: the MTU; may be random, limited to
//!                            # 28 bytes and the MTU
//! ecn = false
//!
//! kind = "capture"           # datagrams with the lengths and times of recorded IP packets
//! file = "call.pcapng"       # pcap or pcapng, a path relative to the scenario file; required
//! from = "192.0.2.1"         # use only packets from this address; default: all packets
//! speed = 1.0                # speed relative to the recording
//! repeat = false             # start again at the end of the recording
//! ecn = false
//!
//! kind = "transfers"         # over TCP: a user who fetches ("down") or sends ("up") data,
//!                            # thinks, and starts again
//! size = "20kb"              # bytes of each transfer; required; may be random
//! think = "5s"               # time from the end of a transfer to the next one; required; may be
//!                            # random
//! request = 300              # bytes of the request before each fetch; only for "down"
//! persistent = false         # use one connection for all transfers instead of one for each
//! transfers = 10             # number of transfers; default: until the run ends
//!
//! kind = "packmime"          # over TCP: the web connections of many users, PackMime-HTTP model
//! connections = 20           # mean number of new connections per second, 0.01 to 100000; required
//! persistent = true          # allow several requests on a connection (HTTP/1.1)
//! max_open = 10000           # largest number of open connections; further users get no answer
//! direction = "down"         # direction of the answers: "down" has the users behind the line,
//!                            # "up" has the servers behind the line
//!
//! kind = "web"               # over UDP and TCP: a browser that looks up a name, fetches a page,
//!                            # and repeats this
//! page = "google"            # "google" (56 kB in 3 requests), "huffpost" (3 MB in 110),
//!                            # { objects = [20000, "18kb"] } with the page itself first, or
//!                            # { size = "3000kb", requests = 110 }
//! connections = 4            # number of parallel connections
//! request = 300              # bytes of a request
//! interval = "1s"            # time between the starts of two fetches; a fetch that takes longer
//!                            # delays the next one
//! direction = "down"         # as for packmime
//!
//! kind = "video"             # over TCP: adaptive video on one connection. Each segment has the
//!                            # bit rate that the last five segments allow. The flow is silent
//!                            # while the buffer is full.
//! ladder = ["300kbit", "750kbit", "1200kbit", "1850kbit", "2850kbit", "4300kbit"]  # bit rates,
//!                            # ascending
//! segment = "2s"             # duration of a segment
//! buffer = "30s"             # length of the video that may be fetched ahead
//! ready = "4s"               # length in the buffer before the video starts, also after a stall;
//!                            # default: two segments
//! request = 300              # bytes of a request
//! direction = "down"         # as for packmime
//!
//! kind = "tcp_onoff"         # over TCP: times with unlimited data alternate with times without
//! on = { exponential = "5s" }# time with data; required; may be random
//! off = { exponential = "5s" }  # time without data; required; may be random
//! persistent = true          # use one connection for all times instead of one for each
//! ```
//!
//! A time or size that may be random is one of
//! - a constant: `"5s"`;
//! - `{ uniform = ["5s", "15s"] }`;
//! - `{ exponential = "10s" }` with its mean;
//! - `{ pareto = "10s", shape = 1.2 }` with its mean and the exponent of its tail;
//! - `{ log_normal = "10s", sigma = 1.5 }` with its median and the standard deviation of the
//!   natural logarithm.
//!
//! **Why the default load has random starts:** if all SYNs are sent at the same instant, the slow
//! starts run in step. No real network shows this artefact (Floyd & Jacobson 1991, "On traffic
//! phase effects"). Disciplines that draw no random number would also give the same run for every
//! seed. The largest addition is 100 ms, which is two round-trip times, or a tenth of a shorter
//! run.
//!
//! # Limits of a scenario
//!
//! A scenario has at most 100,000 runs (points of the sweep × disciplines × seeds) with 1,500,000
//! flows in total, because the results of all runs are kept until the last run has finished. Their
//! time series have at most 40,000,000 values in total. The runs themselves are created one by one.
//!
//! A run keeps the delays of 4,000,000 pings and packets of calls one by one. If there are more, it
//! keeps the latest of each flow, and sums up the others in histograms with three digits, or with
//! two for more than 512 such flows. A packet that has not arrived within 10 s then counts as lost.
//! Time series have some of the pings at equal distances.
//!
//! The `limit` of a discipline may be as large as in Linux, because a queue takes memory only for
//! packets that it holds. All queues and delays of a run together hold at most 4,000,000 packets,
//! for which Linux would need 9 GB. A run with more packets ends with an error.
//!
//! # Reading a scenario
//!
//! [`Document`] is the file together with the changes from the command line ([`Overrides`],
//! [`Document::set`]). [`Document::resolve`] fills in defaults, reads units and traces, checks
//! ranges, and returns a [`Scenario`], which is plain data. [`crate::sweep::expand`] returns one
//! scenario for each point of the sweep. [`Scenario::to_json`] writes the resolved scenario in the
//! same format, so that the scenario in a result file can be run again.

mod discipline;
mod document;
mod drawn;
mod dscp;
mod effect;
mod files;
mod flows;
mod form;
mod hops;
mod keys;
mod link;
mod names;
mod overrides;
mod quantity;
mod reader;
mod remarks;
mod resolve;
mod resolved;
mod shapers;
mod tcp;
mod traffic;
mod wifi;
mod written;

pub(crate) use discipline::DEFAULT_QDISCS;
pub use discipline::{Discipline, QdiscChoice};
pub use document::Document;
pub use document::check_depth;
pub(crate) use document::{KeyPlace, Node, Raw};
pub use drawn::Drawn;
pub use flows::FlowGroup;
pub use goodqueue::Direction;
pub use goodqueue_tcp::DelayedAck;
pub use hops::{Hop, HopQdisc, Side};
pub use link::{BottleneckLink, LinkEnd, LinkRate};
pub use names::Names;
pub use overrides::Overrides;
pub use quantity::Quantity;
pub use resolved::{Flow, Output, Scenario};
pub use tcp::{Tcp, Tuning};
pub use traffic::{
    Capture, Cbr, Hearing, OnOff, PackMime, Page, Ping, Poisson, TcpOnOff, TcpTransfer, Traffic, Transfers,
    Video, Voip, Web,
};
pub use wifi::{Wifi, WifiMac, WifiStation};

#[cfg(test)]
mod tests;

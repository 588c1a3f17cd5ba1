//! Scenarios: one bottleneck, one traffic mix, several queue disciplines; as TOML files, and
//! resolved.
//!
//! # The format
//!
//! A scenario is a TOML file. **Every key may be left out: an empty file is the load of `goodqueue
//! compare` without arguments** (the Realtime Response Under Load test on a 10/1 Mbit/s line). A
//! key that does not exist is an error. Rates, times and sizes are text with a unit, read as
//! [`goodqueue_tc::units`] says: `"10mbit"`, `"50ms"`, `"360kb"`.
//!
//! ```toml
//! name = "rrul"                 # for file names; default: the name of the file
//! title = "..."                 # free text for people, as are the next three
//! question = "..."
//! expect = "..."
//! source = "..."
//! duration = "60s"              # simulated time
//! warmup = "0s"                 # so much of the beginning is not measured
//! seed = 1                      # of the first repetition
//! seeds = 1                     # repetitions: seed, seed + 1, ...
//! qdiscs = [                    # each is run; lines of tc's grammar (goodqueue_tc), or tables
//!   "pfifo limit 127", "red adaptive", "pie", "codel", "sfq", "fq_codel",
//!   { label = "mixed", down = "fq_codel", up = "pfifo limit 50" },    # `up` defaults to `down`
//! ]
//!
//! [link]
//! down = "10mbit"               # or a table, see below
//! up = "1mbit"                  # default: as `down` if that is given
//! rtt = "50ms"                  # base round-trip time, without any queue or serialization; at most 1h; half lies each way
//!                               # behind the last link, save for the delays of hops and of `access`
//! delay_tick = "4ms"            # an emulator adds it behind the last link, half each way, in whole ticks from the last one
//!                               # before a packet comes, as dummynet does; left out: to the nanosecond
//! mtu = 1500                    # largest IP packet, 68 to 65535
//! framing = 14                  # bytes of link header that queues and links count on top of each packet
//!
//! [[hops]]                      # further links in series, in the order from the servers to the clients; none by default
//! name = "modem"                # for results; default: hop 1, hop 2, ...
//! side = "client"               # of the bottleneck; or "server"
//! down = "20mbit"               # as link.down; default: "unlimited", which takes no time
//! up = "2mbit"                  # default: as `down`
//! delay = "0s"                  # to the next hop towards the bottleneck, each way; a part of the flows' rtt: with all of it
//!                               # at a hop of the servers, downloads cross the path before the bottleneck, as from far servers
//! qdisc = "pfifo"               # a line, { down = "...", up = "..." }, or "compared": the discipline of the run
//!
//! [wifi]                        # a channel of 802.11n between all links and the clients; none by default
//! mac = "fifo"                  # where the access point queues: a discipline and a driver below it, or "fq": in the MAC
//! mac_up = "fifo"               # the same of the clients
//! qdisc = "compared"            # above the drivers, as in [[hops]]
//! driver = 123                  # packets that the access point's driver holds per access category
//! driver_up = 123               # a client's; default: as `driver`
//! driver_order = "turns"        # the access point's driver serves the stations in turn (as ath9k); or "oldest": the station whose first
//!                               # packet came to it before those of all others (as ns-3)
//! prepared = 2                  # aggregates that the access point forms ahead per access category, the one in the air included (as
//!                               # ath9k); 0: it forms each when it gets the channel, of all packets that are there then (as ns-3)
//! prepared_up = 2               # a client's; default: as `prepared`
//! small_queue = "85kb"          # of a TCP transfer may wait at its client (TCP small queues); left out: no limit
//! airtime_fairness = true       # fq: stations share the airtime; otherwise they take turns
//! stations = [{}, { mcs = 0 }]  # clients 1, 2, ...; default: as many alike as the flows have. Keys of a station, which
//!                               # may stand in [wifi] for all of them:
//! mcs = 15                      # modulation and coding, down: 0 to 31, 8 per spatial stream
//! mcs_up = 15                   # up; default: as `mcs`
//! width = 20                    # MHz: 20 or 40
//! short_gi = true               # guard interval of 400 ns
//! aggregate = 32                # MPDUs in an aggregate, 1 (no aggregation) to 64
//! aggregate_up = 32             # default: as `aggregate`
//! longest = "4ms"               # transmission of an aggregate, 5484us at most
//! error = 0.0                   # probability that an MPDU is lost
//! error_up = 0.0                # default: as `error`
//! attempts = 30                 # transmissions of an MPDU before it is given up
//! attempts_up = 30              # default: as `attempts`
//! weight = 256                  # of the station in the access point's airtime (fq)
//!
//! [tcp]                         # defaults of all TCP flows
//! cc = "cubic"                  # congestion control
//! iw = 10                       # initial window in segments (RFC 6928)
//! mss = 1460                    # payload of a segment; default: MTU - 40
//! delayed_ack = "40ms"          # every second segment, or after this time; "off"; { every = 2, timeout = "40ms" }
//! ecn = false                   # negotiate ECN (RFC 3168)
//! sack = true                   # selective acknowledgements (RFC 2018, RFC 6675)
//! rwnd = "64kb"                 # the receiver's window; left out: the profile's, which limits in `linux` alone (3 MB)
//! min_rto = "200ms"             # least retransmission timeout; RFC 6298 says 1s, systems in use have 200ms
//! hystart = "own"               # end of slow start before a loss: the cc's own; "off"; "rfc9406" (cubic, newreno, reno)
//! remembers = { rtt = "5s", rttvar = "2s", ssthresh = 200 } # what earlier connections to that host left (`linux32` only); default: nothing
//! ledbat = { target = "100ms", gain = 1 } # parameters of `cc`, in a table of its name; `goodqueue list tcps` shows them
//! profile = "rfc"               # whose TCP it is: the defaults of the keys above but `cc`, and all else that it does
//!
//! [[flows]]                     # as many as wanted; `flows = 4` stands for 4 TCP flows each way and a ping
//! kind = "tcp"                  # or another, see below
//! direction = "down"            # of the data ("up" is the default of a ping: its requests go up)
//! count = 1                     # so many alike
//! start = "0s"
//! start_jitter = "0s"           # added to each start: uniform between 0 and this, drawn from the seed
//! together = false              # one draw for all flows of the table, so that they start at the same instant
//! stop = "50s"                  # default: with the run
//! rtt = "50ms"                  # base round-trip time of these flows; default: link.rtt
//! rtt_step = "0s"               # each further flow of the table has so much more than the one before it
//! client = 1                    # number of the client at their end, for disciplines that isolate hosts
//! server = 1                    # of the server at the other end, 255 at most
//! enters = "bottleneck"         # the name of a hop, or this: its server is in front of it, so that its packets pass no hop before
//!                               # that, neither way; left out: in front of the first
//! access = "0s"                 # the part of it, each way, between a host and the first queue
//! access_rate = "100mbit"       # of a link of its own by which each host sends; left out: sending takes no time
//! dscp = "CS0"                  # code point of the packets, both ways: a name ("EF", "CS1", "AF41", "LE") or 0 to 63
//! label = "voice"               # what results call the flows; none by default
//!
//! [sweep]                       # every combination is run; the first key varies slowest
//! "link.up" = ["1mbit", "10mbit"]
//! "flows.0.count" = [1, 4]      # entries of lists by number
//! qdiscs = ["codel", "codel target 13ms"]
//!
//! [output]                      # below the working directory; earlier results are replaced, other files never; none by default
//! json = "results.json"
//! report = "report.html"
//! series = "100ms"              # step of the time series; none by default
//! spikes = [15000, "25kb"]      # bytes: how long the queues hold more is measured; none by default
//! ```
//!
//! `link.down` and `link.up` take one of
//! - a rate: `"10mbit"` or `{ rate = "10mbit" }`, above 0;
//! - a schedule: `{ schedule = [["0s", "100mbit"], ["50s", "0bit"], ["51s", "10mbit"]] }`, where 0
//!   blocks the link; with `repeat = "60s"` beside it, it begins again every so often until the run
//!   ends;
//! - a Mahimahi trace: `{ trace = "lte.down" }`, a path relative to the scenario file
//!   ([`crate::trace`]).
//!
//! Each of the tables may also say what the device holds below the discipline: `driver = "256p"`
//! (packets, the one being sent included), `driver = "3028b"` (another packet as long as fewer
//! bytes are in it), `driver = "bql"` (byte queue limits). Without it the device takes a packet
//! when it can send it.
//!
//! With `[wifi]` the air is usually slower than `[link]`, which then is the wire behind the access
//! point: the model and what it leaves out stand in `goodqueue_sim::wifi`. Flows choose their
//! station with `client`.
//!
//! A hop without a rate and with `netem` is a path that loses, delays or reorders:
//! `qdisc = "netem loss 1% delay 5ms 2ms"`. With `tbf` or `htb` it is a shaper.
//!
//! Beside the keys above, each kind of flow has its own. Those over TCP take all keys of `[tcp]`
//! too.
//!
//! ```toml
//! kind = "tcp"                  # a connection with data one way
//! size = "360kb"                # bytes to transfer; default: without end
//! total = "360kb"               # instead of `size`: of all flows of the table together, in equal parts
//! local_congestion = false      # the first queue is on the sender's host, which tells TCP at once what it drops or refuses (Linux)
//!
//! kind = "ping"                 # requests that are answered at once
//! interval = "200ms"            # time between requests
//! packet = 64                   # IP bytes of a packet
//!
//! kind = "cbr"                  # datagrams at a constant bit rate
//! rate = "64kbit"               # of IP bytes; must be given
//! packet = 1500                 # IP bytes of a packet; default: the MTU
//! ecn = false                   # mark packets ECN-capable
//!
//! kind = "voip"                 # a voice call one way, G.711 over RTP, judged by the E-model (ITU-T G.107)
//! interval = "20ms"             # time between packets (RFC 3551)
//! packet = 200                  # IP bytes of a packet; default: 64 kbit/s of voice and 40 bytes of headers
//! ecn = false
//! playout = "60ms"              # a de-jitter buffer: a packet that comes so much later than the fastest is lost;
//!                               # default: none, every packet that arrives is heard, at the mean delay
//! concealment = true            # the decoder conceals lost packets (G.711 Appendix I)
//!
//! kind = "onoff"                # datagrams in bursts, with the defaults of ns-2's Exponential source
//! rate = "64kbit"               # of IP bytes within a burst; must be given
//! packet = 210
//! on = { exponential = "500ms" }   # length of a burst; may be drawn
//! off = { exponential = "500ms" }  # length of the silence behind it; may be drawn
//! ecn = false
//!
//! kind = "poisson"              # datagrams at random: exponential times between them
//! rate = "1mbit"                # mean rate of IP bytes; must be given
//! packet = 1500                 # default: the MTU; may be drawn: what is below 28 or above the MTU becomes that
//! ecn = false
//!
//! kind = "capture"              # datagrams of the lengths, and in the times, of recorded IP packets
//! file = "call.pcapng"          # pcap or pcapng, a path relative to the scenario file; must be given
//! from = "192.0.2.1"            # only packets from this address; default: all
//! speed = 1.0                   # so many times as fast as recorded
//! repeat = false                # begin again at its end
//! ecn = false
//!
//! kind = "transfers"            # over TCP: a user who fetches ("down") or sends ("up") something, thinks, and does it again
//! size = "20kb"                 # bytes of each transfer; must be given; may be drawn
//! think = "5s"                  # from the end of one to the beginning of the next; must be given; may be drawn
//! request = 300                 # down: bytes of the request that a fetch sends first
//! persistent = false            # all over one connection; otherwise each has its own
//! transfers = 10                # so many; default: as many as there is time for
//!
//! kind = "packmime"             # over TCP: the web connections of many users, after the PackMime-HTTP model
//! connections = 20              # new ones per second in the mean, 0.01 to 100000; must be given
//! persistent = true             # HTTP/1.1: a connection may carry several requests; otherwise each carries one
//! max_open = 10000              # connections open at a time: users who come when so many are open get nothing
//! direction = "down"            # of the answers: users behind the line; or "up": users elsewhere, of servers behind the line
//!
//! kind = "web"                  # over UDP and TCP: a browser that fetches a page again and again, beginning with its name
//! page = "google"               # 56 kB in 3 requests, "huffpost" (3 MB in 110), { objects = [20000, "18kb"] } (the page itself
//!                               # first), or { size = "3000kb", requests = 110 }
//! connections = 4               # side by side
//! request = 300                 # bytes of a request
//! interval = "1s"               # from the beginning of a fetch to the beginning of the next, if that is not longer
//! direction = "down"            # or "up", as of packmime
//!
//! kind = "video"                # over TCP: adaptive video, segment by segment over one connection, each at the bit rate that the
//!                               # last five promise; silent while the buffer is full
//! ladder = ["300kbit", "750kbit", "1200kbit", "1850kbit", "2850kbit", "4300kbit"]   # bit rates, ascending
//! segment = "2s"                # duration of a segment
//! buffer = "30s"                # of the film may be fetched ahead
//! ready = "4s"                  # fetched before it is shown, and after a stall likewise; default: two segments
//! request = 300                 # bytes of a request
//! direction = "down"            # or "up", as of packmime
//!
//! kind = "tcp_onoff"            # over TCP: data without end for some time, none for some time
//! on = { exponential = "5s" }   # must be given, as must `off`; may be drawn
//! off = { exponential = "5s" }
//! persistent = true             # over one connection; otherwise each time with data has its own
//! ```
//!
//! A time or size that may be drawn is `"5s"` for always the same, `{ uniform = ["5s", "15s"] }`,
//! `{ exponential = "10s" }` (its mean), `{ pareto = "10s", shape = 1.2 }` (its mean, and the
//! exponent of the tail), or `{ log_normal = "10s", sigma = 1.5 }` (its median, and the standard
//! deviation of the natural logarithm).
//!
//! **Why starts are jittered in the default load:** with all SYNs in the same instant the slow
//! starts run in step, an artefact that no network has (Floyd & Jacobson 1991, "On traffic phase
//! effects"); and disciplines that draw no random number would give the same run for every seed.
//! 100 ms (a tenth of the run, if that is less) is two round-trip times.
//!
//! # How much a scenario may ask for
//!
//! A scenario makes at most 100,000 runs (points of the sweep times disciplines times seeds) with
//! 5,000,000 flows in all, because the results of all runs are held until the last one has
//! finished. The runs themselves are made one by one.
//!
//! The `limit` of a discipline may be as large as in Linux: memory is taken as packets come. All
//! queues and delays of a run together hold at most 4,000,000 packets, for which Linux would need 9
//! GB; with more the run ends with an error.
//!
//! # Reading one
//!
//! [`Document`] is the file with what the command line changes in it ([`Overrides`],
//! [`Document::set`]). [`Document::resolve`] fills in defaults, reads units and traces, checks
//! ranges, and gives a [`Scenario`], plain data for whoever runs it. [`crate::sweep::expand`] gives
//! one for each point of the sweep. [`Scenario::to_json`] is the resolved scenario in this same
//! format, so that what a result file holds can be run again.

mod discipline;
mod document;
mod drawn;
mod dscp;
mod effect;
mod files;
mod flows;
mod hops;
mod link;
mod names;
mod overrides;
mod reader;
mod resolve;
mod resolved;
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
pub use resolved::{Flow, Output, Scenario};
pub use tcp::{Tcp, Tuning};
pub use traffic::{
    Capture, Cbr, Hearing, OnOff, PackMime, Page, Ping, Poisson, TcpOnOff, TcpTransfer, Traffic, Transfers,
    Video, Voip, Web,
};
pub use wifi::{Wifi, WifiMac, WifiStation};

#[cfg(test)]
mod tests;

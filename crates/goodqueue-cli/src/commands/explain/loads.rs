//! The loads on which two variants of a discipline are compared.

use std::path::Path;

use goodqueue::random::{Random as _, Xoshiro256PlusPlus};
use goodqueue::{Direction, Flow as _, Instant, Packet as _, Rate};
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::scenario::Document;
use goodqueue_scenario::session::Session;
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::{Capacity, Observer, Run};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::replay::{Arrival, Priority};

/// A load: some seconds of traffic through a link.
pub(super) struct Load {
    /// What the load is, in words.
    pub(super) name: &'static str,
    /// The scenario. The discipline is added.
    toml: &'static str,
}

/// From a home line to a link of a data centre, with and without a sender that ignores all signals.
pub(super) const LOADS: &[Load] = &[
    Load {
        name: "4 downloads, 20 Mbit/s",
        toml: "duration = \"5s\"\nlink = { down = \"20mbit\", up = \"20mbit\", rtt = \"40ms\" }\n\
               [[flows]]\ncount = 4\n",
    },
    Load {
        name: "50 downloads, 100 Mbit/s",
        toml: "duration = \"5s\"\nlink = { down = \"100mbit\", up = \"100mbit\", rtt = \"40ms\" }\n\
               [[flows]]\ncount = 50\n",
    },
    Load {
        name: "40 Mbit/s of UDP into 10 Mbit/s",
        toml: "duration = \"5s\"\nlink = { down = \"10mbit\", up = \"10mbit\", rtt = \"40ms\" }\n\
               [[flows]]\nkind = \"cbr\"\nrate = \"40mbit\"\n[[flows]]\n",
    },
    Load {
        name: "uploads' ACKs, 10/1 Mbit/s",
        toml: "duration = \"5s\"\nlink = { down = \"1mbit\", up = \"10mbit\", rtt = \"40ms\" }\n\
               [[flows]]\ncount = 4\ndirection = \"up\"\n[[flows]]\n",
    },
    Load {
        name: "200 downloads with ECN, 1 Gbit/s, 1 ms",
        toml: "duration = \"1s\"\nlink = { down = \"1gbit\", up = \"1gbit\", rtt = \"1ms\" }\n\
               tcp = { ecn = true }\n[[flows]]\ncount = 200\n",
    },
];

/// The packets that arrived at a discipline.
pub(super) struct Recorded {
    /// Rate of the link.
    pub(super) rate: Rate,
    /// The packets in the order of their arrival.
    pub(super) arrivals: Vec<Arrival>,
    /// The salt of the hashes, and the stream of random numbers behind it.
    pub(super) draws: (u32, Xoshiro256PlusPlus),
}

impl Load {
    /// Runs the load through the discipline `line` and records the packets that arrive on their way
    /// down.
    pub(super) fn record(&self, line: &str) -> Result<Recorded, Diagnostic> {
        let mut document = Document::parse(self.name, self.toml, Path::new(""))?;
        document.assign("load", &format!("qdiscs=[{}]", serde_json::Value::from(line)))?;
        let session = Session::new(&document)?;
        let run = session.spec(0)?;
        let mut arrivals = Arrivals(Vec::new());
        Run::new(&run.config)
            .and_then(|simulated| simulated.to_end(|_| true, Some(&mut arrivals)))
            .map_err(|error| Diagnostic::new(error.to_string()))?;
        let link = &run.config.links[Direction::Down.index()];
        let Capacity::Constant(rate) = link.capacity else {
            return Err(Diagnostic::new(format!("the load `{}` has no constant rate", self.name)));
        };
        // Stream 0 is that of the bottleneck's queue on the way down: the bottleneck has the first
        // streams, the way down before the way up.
        let mut random = Xoshiro256PlusPlus::stream(run.config.seed, 0);
        // As the simulator draws them, so the first variant decides as in the recorded run.
        let salt = random.next_u32() ^ link.hash_key;
        Ok(Recorded { rate, arrivals: arrivals.0, draws: (salt, random) })
    }
}

/// Keeps the packets that arrive at the bottleneck on their way down.
struct Arrivals(Vec<Arrival>);

impl Observer for Arrivals {
    fn arrived(&mut self, visit: &Visit) {
        // Acknowledgements in the other direction are queued in another discipline.
        if visit.direction != Direction::Down {
            return;
        }
        let packet = &visit.packet;
        self.0.push(Arrival {
            at: packet.queued_at,
            seq: self.0.len() as u64,
            flow: packet.queue_flow(),
            bytes: packet.len(),
            tos: visit.tos,
            priority: Priority::Simulated,
            mark: 0,
            hosts: Some(packet.ends.hosts()),
            ack: packet.tcp_ack(),
            hashes: None,
            truesize: None,
            earliest: None,
        });
    }

    fn ended(&mut self, _: &Visit, _: Instant, _: Fate) {}
}

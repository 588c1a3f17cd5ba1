//! A few flows over one bottleneck, watched closely: window, smoothed RTT and threshold of each at
//! fixed steps.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use goodqueue::random::{Random, Source, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Packet, Qdisc, Rate};
use goodqueue_tcp::{AnyCongestionControl, Config, Receiver, Segment, Sender};
use serde::Deserialize;

/// What the flows go through. Data: host, access, queue and link, path, receiver; ACKs: their own
/// queue and link, path, host.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// Rate of the link behind each queue: data, ACKs.
    pub rates: [Rate; 2],
    /// The two disciplines.
    pub qdiscs: [AnyConfig; 2],
    /// Bytes of link header that count on top of IP packets.
    pub framing: u32,
    /// Rate of the host's own link; `None`: infinite.
    pub access: Option<Rate>,
    /// From host to queue.
    pub before: Duration,
    /// From the link to the receiver.
    pub after: Duration,
    /// From the ACKs' link to the host.
    pub back: Duration,
}

/// A flow that lasts until the end.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Settings of both ends.
    pub config: Config,
    /// The sender's congestion control.
    pub controller: AnyCongestionControl,
    /// When it opens.
    pub start: Instant,
    /// What its application writes; `None`: more than the flow can ever send.
    pub writes: Option<Writes>,
}

/// An application that writes the same number of bytes at regular times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub struct Writes {
    /// Bytes of each write.
    pub bytes: u64,
    /// From the start of one write to that of the next, in milliseconds.
    pub every_ms: u64,
}

/// A flow at one instant. Windows are in segments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold; infinite at first.
    pub ssthresh: f64,
    /// Smoothed RTT in milliseconds; 0 before the first.
    pub srtt_ms: f64,
    /// Segments retransmitted so far.
    pub retransmits: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
    /// Payload delivered so far, in bytes.
    pub delivered: u64,
}

/// What was seen of a flow: one sample per step, the first after one step.
pub type Record = Vec<Sample>;

#[derive(Clone, Copy, Debug)]
struct Wire {
    segment: Segment,
    flow: usize,
    bytes: u32,
}

impl Packet for Wire {
    fn len(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.segment.ecn
    }
    fn set_ce(&mut self) -> bool {
        if self.segment.ecn.is_capable() {
            self.segment.ecn = Ecn::Ce;
        }
        self.segment.ecn == Ecn::Ce
    }
}

impl Flow for Wire {
    fn flow_hash(&self, salt: u32) -> u32 {
        // 2^32 divided by the golden ratio (Fibonacci hashing, Knuth) spreads consecutive numbers
        // over all hash values.
        u32::try_from(self.flow).unwrap_or(0).wrapping_mul(0x9e37_79b9) ^ salt
    }
}

/// A queue, its link and the path behind it.
struct QueueAndPath {
    qdisc: AnyQdisc<Wire>,
    rate: Rate,
    free_at: Instant,
    ask_at: Option<Instant>,
    delay: Duration,
    under_way: VecDeque<(Instant, Wire)>,
}

impl QueueAndPath {
    fn enqueue(&mut self, now: Instant, wire: Wire) {
        self.qdisc.enqueue(now, wire, &mut |_: Wire, _: DropReason| ());
        self.ask_at = Some(self.free_at.max(now));
        // A host asks its queue with every packet that it puts there, so the first of a burst has
        // left before the last one comes.
        self.serve(now);
    }

    /// Takes from the queue what the link can take now.
    fn serve(&mut self, now: Instant) {
        while self.ask_at.is_some_and(|ask| ask <= now) && self.free_at <= now {
            self.ask_at = None;
            if let Some(wire) = self.qdisc.dequeue(now, &mut |_: Wire, _: DropReason| ()) {
                let end = now + self.rate.serialization(wire.bytes);
                self.free_at = end;
                self.under_way.push_back((end + self.delay, wire));
                // Also if the queue is empty now: a kernel asks until nothing comes, and only then
                // does a flow queue forget a flow that has nothing left.
                self.ask_at = Some(end);
            } else {
                self.ask_at =
                    // A discipline that asks for the present instant again would otherwise keep
                    // this loop going.
                    self.qdisc.next_event(now).map(|event| event.max(now + Duration::from_nanos(1)));
            }
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.under_way.front().map(|entry| entry.0);
        [self.ask_at.map(|ask| ask.max(self.free_at)), arrival].into_iter().flatten().min()
    }
}

struct Ends {
    sender: Sender,
    receiver: Receiver,
    config: Config,
    writes: Option<Writes>,
    is_open: bool,
}

/// The flows, the two directions between them, and the packets on the way to the bottleneck.
struct Network<'b> {
    bottleneck: &'b Bottleneck,
    ways: [QueueAndPath; 2],
    ends: Vec<Ends>,
    /// Packets on the link in front of the bottleneck, with their arrival times.
    access: VecDeque<(Instant, Wire)>,
    access_free: Instant,
    /// Flows whose application writes next, by time. The first write opens the connection.
    writes: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl<'b> Network<'b> {
    fn new(bottleneck: &'b Bottleneck, flows: &[Watched]) -> Result<Self, goodqueue::ConfigError> {
        let way = |index: usize, delay| {
            // A fixed seed, with a stream for each direction, gives every comparison the same
            // chance.
            let mut generator = Xoshiro256PlusPlus::stream(1, index as u64);
            let salt = generator.next_u32();
            QueueAndPath {
                qdisc: AnyQdisc::new(bottleneck.qdiscs[index].clone(), salt, Source::Seeded(generator)),
                rate: bottleneck.rates[index],
                free_at: Instant::ZERO,
                ask_at: None,
                delay,
                under_way: VecDeque::new(),
            }
        };
        let mut network = Self {
            bottleneck,
            ways: [way(0, bottleneck.after), way(1, bottleneck.back)],
            ends: Vec::new(),
            access: VecDeque::new(),
            access_free: Instant::ZERO,
            writes: BinaryHeap::new(),
        };
        for (index, flow) in flows.iter().enumerate() {
            network.ends.push(Ends {
                sender: Sender::new(flow.config, flow.controller.clone())?,
                receiver: Receiver::new(flow.config)?,
                config: flow.config,
                writes: flow.writes,
                is_open: false,
            });
            network.writes.push(Reverse((flow.start, index)));
        }
        Ok(network)
    }

    /// Handles everything that is due.
    fn advance(&mut self, now: Instant) {
        while let Some(&Reverse((due, index))) = self.writes.peek()
            && due <= now
        {
            self.writes.pop();
            let end = &mut self.ends[index];
            end.sender.write(end.writes.map_or(u64::MAX, |writes| writes.bytes));
            if !end.is_open {
                end.is_open = true;
                end.sender.open(now);
            }
            if let Some(writes) = end.writes {
                self.writes.push(Reverse((due + Duration::from_millis(writes.every_ms), index)));
            }
        }
        while let Some(&(arrival, wire)) = self.access.front()
            && arrival <= now
        {
            self.access.pop_front();
            self.ways[0].enqueue(now, wire);
        }
        // Timers that are due run before packets that arrive at the same instant, because they were
        // set earlier.
        self.send(now);
        self.receive(now);
        for way in &mut self.ways {
            way.serve(now);
        }
    }

    /// Sends all segments that the ends have.
    fn send(&mut self, now: Instant) {
        for (flow, end) in self.ends.iter_mut().enumerate() {
            while let Some(segment) = end.receiver.poll_transmit(now) {
                let bytes = segment.wire_len(&end.config) + self.bottleneck.framing;
                self.ways[1].enqueue(now, Wire { segment, flow, bytes });
            }
            while let Some(segment) = end.sender.poll_transmit(now) {
                let bytes = segment.wire_len(&end.config) + self.bottleneck.framing;
                let wire = Wire { segment, flow, bytes };
                match self.bottleneck.access {
                    None if self.bottleneck.before.is_zero() => self.ways[0].enqueue(now, wire),
                    rate => {
                        let busy = rate.map_or(Duration::ZERO, |rate| rate.serialization(bytes));
                        self.access_free = self.access_free.max(now) + busy;
                        self.access.push_back((self.access_free + self.bottleneck.before, wire));
                    }
                }
            }
        }
    }

    /// Delivers the packets that arrive. The ends answer each packet before they get the next.
    fn receive(&mut self, now: Instant) {
        for direction in 0..self.ways.len() {
            while let Some(&(arrival, wire)) = self.ways[direction].under_way.front()
                && arrival <= now
            {
                self.ways[direction].under_way.pop_front();
                let end = &mut self.ends[wire.flow];
                if direction == 0 {
                    end.receiver.on_segment(now, &wire.segment);
                } else {
                    end.sender.on_segment(now, &wire.segment);
                }
                self.send(now);
            }
        }
    }

    /// Returns the time of the next event, which is after `now`.
    fn next_event(&self, now: Instant) -> Instant {
        let next = self
            .ends
            .iter()
            .flat_map(|end| [end.sender.next_event(), end.receiver.next_event()])
            .chain(self.ways.iter().map(QueueAndPath::next_event))
            .chain([self.access.front().map(|entry| entry.0), self.writes.peek().map(|write| write.0.0)])
            .flatten()
            .min();
        // An end that asks for the same instant again would otherwise stop time.
        next.unwrap_or(Instant::MAX).max(now + Duration::from_nanos(u64::from(next == Some(now))))
    }
}

/// Runs the flows for `steps` steps of `step`. Returns the state of each flow at the end of each
/// step.
///
/// # Errors
/// A flow's settings are refused.
pub fn watch(
    bottleneck: &Bottleneck,
    flows: &[Watched],
    step: Duration,
    steps: usize,
) -> Result<Vec<Record>, goodqueue::ConfigError> {
    let mut network = Network::new(bottleneck, flows)?;
    let mut records = vec![Record::with_capacity(steps); flows.len()];
    let mut now = Instant::ZERO;
    let mut sampled = Instant::ZERO + step;
    loop {
        network.advance(now);
        let next = network.next_event(now);
        while sampled <= next {
            for (record, end) in records.iter_mut().zip(&network.ends) {
                record.push(sample(end));
            }
            if records.first().is_none_or(|record| record.len() >= steps) {
                return Ok(records);
            }
            sampled += step;
        }
        now = next;
    }
}

fn sample(end: &Ends) -> Sample {
    let sender = &end.sender;
    let payload = f64::from(end.config.payload());
    let ssthresh =
        // BBR has half of the greatest number as a threshold that is never reached, other
        // controllers have the greatest number itself.
        if sender.ssthresh() > u64::MAX / 4 { f64::INFINITY } else { sender.ssthresh() as f64 / payload };
    Sample {
        cwnd: sender.cwnd() as f64 / payload,
        ssthresh,
        srtt_ms: sender.srtt().map_or(0.0, |srtt| srtt.as_nanos() as f64 / 1e6),
        retransmits: sender.stats().retransmits,
        timeouts: sender.stats().timeouts,
        delivered: end.receiver.delivered(),
    }
}

//! Two ends and the network between them: delay each way, and a fate for each segment.

use std::collections::BTreeMap;

use goodqueue::{Duration, Ecn, Instant};
use goodqueue_tcp::{
    AnyCongestionControl, Catalogue, Config, DelayedAck, Flags, Profile, Receiver, Segment, Sender,
};

pub(crate) const MSS: u64 = 1460;
/// Latency one way, in milliseconds; the RTT is 100 ms.
pub(crate) const ONE_WAY: u64 = 50;

/// What the network does with a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Deliver,
    Lose,
    Mark,
    Copy,
    /// The sender's own host has no room for it, and says so; or takes it and drops it, and says
    /// so.
    Refuse,
    DropAtHost,
    /// Arrives later than it should, by this number of milliseconds.
    Delay(u64),
}

#[derive(Clone, Copy, Debug)]
enum To {
    Sender,
    Receiver,
}

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Everything that each end sent, and when.
    pub(crate) data: Vec<(Instant, Segment)>,
    pub(crate) acks: Vec<(Instant, Segment)>,
    /// What the sender's host refused, and when; it is not in `data`, nor does it count as a
    /// transmission.
    pub(crate) refused: Vec<(Instant, Segment)>,
    /// The sender's host refuses everything until then.
    pub(crate) refuses_until: Instant,
    /// Fates of transmissions of the n-th full segment: (n from 1, which transmission from 1). The
    /// SYN is number 0.
    pub(crate) fates: BTreeMap<(u64, u32), Fate>,
    /// Fates by order on the wire, for what `fates` does not name.
    pub(crate) data_fates: Vec<Fate>,
    pub(crate) ack_fates: Vec<Fate>,
    transmissions: BTreeMap<u64, u32>,
    /// A full segment, in bytes.
    least_window: u64,
    wire: BTreeMap<(Instant, u64), (To, Segment)>,
    order: u64,
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

/// Each segment acknowledged at once: the arithmetic of rounds is easier to follow.
pub(crate) fn quick() -> Config {
    Config { delayed_ack: DelayedAck::OFF, ..Config::default() }
}

pub(crate) fn controller(name: &str) -> AnyCongestionControl {
    catalogue().controller(name).expect("listed")
}

pub(crate) fn profile(name: &str) -> &'static Profile {
    catalogue().profile(name).expect("listed")
}

/// All stacks and controllers.
pub(crate) fn catalogue() -> Catalogue {
    goodqueue_tcp_historic::add_to(Catalogue::new())
}

impl Pair {
    pub(crate) fn new(config: Config) -> Self {
        Self::with(config, config, "newreno")
    }

    pub(crate) fn with(sends: Config, receives: Config, name: &str) -> Self {
        Self {
            now: Instant::ZERO,
            sender: Sender::new(sends, controller(name)).expect("valid"),
            receiver: Receiver::new(receives).expect("valid"),
            data: Vec::new(),
            acks: Vec::new(),
            refused: Vec::new(),
            refuses_until: Instant::ZERO,
            fates: BTreeMap::new(),
            data_fates: Vec::new(),
            ack_fates: Vec::new(),
            transmissions: BTreeMap::new(),
            least_window: u64::from(sends.payload()),
            wire: BTreeMap::new(),
            order: 0,
        }
    }

    /// A transfer of `segments` full segments, then FIN.
    pub(crate) fn transfer(config: Config, segments: u64) -> Self {
        let mut pair = Self::new(config);
        pair.sender.write(segments * MSS);
        pair.sender.close();
        pair.sender.open(Instant::ZERO);
        pair
    }

    /// A transfer without end.
    pub(crate) fn bulk(config: Config) -> Self {
        Self::bulk_with(config, "newreno")
    }

    pub(crate) fn bulk_with(config: Config, name: &str) -> Self {
        let mut pair = Self::with(config, config, name);
        pair.sender.write(u64::MAX);
        pair.sender.open(Instant::ZERO);
        pair
    }

    /// The first transmission of the n-th segment is lost.
    pub(crate) fn lose(mut self, segments: impl IntoIterator<Item = u64>) -> Self {
        for segment in segments {
            self.fates.insert((segment, 1), Fate::Lose);
        }
        self
    }

    /// The first `times` transmissions of the n-th segment are lost.
    pub(crate) fn lose_times(mut self, segment: u64, times: u32) -> Self {
        for transmission in 1..=times {
            self.fates.insert((segment, transmission), Fate::Lose);
        }
        self
    }

    /// Lets both ends send what they have, then goes to the next event. False if there is none.
    pub(crate) fn step(&mut self) -> bool {
        self.exchange();
        let Some(next) = self.next_event() else { return false };
        self.now = self.now.max(next);
        if let Some((&key, &(to, segment))) = self.wire.first_key_value()
            && key.0 <= self.now
        {
            self.wire.remove(&key);
            match to {
                To::Sender => self.sender.on_segment(self.now, &segment),
                To::Receiver => self.receiver.on_segment(self.now, &segment),
            }
        }
        self.exchange();
        assert_eq!(self.sender.pipe(), self.sender.recount_pipe(), "pipe is what the scoreboard says");
        assert!(self.sender.cwnd() >= self.least_window, "the window is at least a segment");
        true
    }

    /// Steps while `condition` holds.
    pub(crate) fn run_while(&mut self, condition: impl Fn(&Self) -> bool) {
        let mut steps = 0;
        while condition(self) && self.step() {
            steps += 1;
            assert!(steps < 2_000_000, "does not come to an end");
        }
    }

    /// Everything that happens up to and at `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        self.exchange();
        while self.next_event().is_some_and(|next| next <= end) && self.step() {}
        self.now = self.now.max(end);
    }

    /// Until the FIN is acknowledged. Returns when.
    pub(crate) fn finish(&mut self) -> Instant {
        self.run_while(|pair| !pair.sender.is_finished());
        assert!(self.sender.is_finished());
        self.now
    }

    /// Until the first fast recovery began, and then until it ended. Returns both times.
    pub(crate) fn through_recovery(&mut self) -> (Instant, Instant) {
        self.run_while(|pair| !pair.sender.is_in_recovery());
        let began = self.now;
        self.run_while(|pair| pair.sender.is_in_recovery());
        (began, self.now)
    }

    /// When the n-th segment was sent, each time.
    pub(crate) fn times_of(&self, segment: u64) -> Vec<Instant> {
        let of = |entry: &&(Instant, Segment)| entry.1.len > 0 && number(&entry.1) == segment;
        self.data.iter().filter(of).map(|entry| entry.0).collect()
    }

    fn next_event(&self) -> Option<Instant> {
        let wire = self.wire.first_key_value().map(|(key, _)| key.0);
        [wire, self.sender.next_event(), self.receiver.next_event()].into_iter().flatten().min()
    }

    fn exchange(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let number = number(&segment);
            if self.now < self.refuses_until {
                self.refuse(segment);
                continue;
            }
            let fate = if segment.len > 0 || segment.flags.contains(Flags::SYN) {
                let count = self.transmissions.entry(number).or_default();
                *count += 1;
                self.fates.get(&(number, *count)).copied()
            } else {
                None
            };
            let fate = fate
                .or(self.data_fates.get(self.data.len() + self.refused.len()).copied())
                .unwrap_or(Fate::Deliver);
            if fate == Fate::Refuse {
                self.refuse(segment);
                continue;
            }
            self.data.push((self.now, segment));
            self.put(To::Receiver, segment, fate);
            if fate == Fate::DropAtHost {
                self.sender.on_local_drop(self.now, &segment);
            }
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            let fate = self.ack_fates.get(self.acks.len()).copied().unwrap_or(Fate::Deliver);
            self.acks.push((self.now, segment));
            self.put(To::Sender, segment, fate);
        }
    }

    fn refuse(&mut self, segment: Segment) {
        self.refused.push((self.now, segment));
        self.sender.on_refused(self.now, &segment);
    }

    fn put(&mut self, to: To, mut segment: Segment, fate: Fate) {
        let mut due = self.now + ms(ONE_WAY);
        let mut copies = 1;
        match fate {
            Fate::Deliver => {}
            Fate::Lose | Fate::Refuse | Fate::DropAtHost => copies = 0,
            Fate::Copy => copies = 2,
            Fate::Delay(by) => due += ms(by),
            Fate::Mark if segment.ecn.is_capable() => segment.ecn = Ecn::Ce,
            Fate::Mark => {}
        }
        for _ in 0..copies {
            self.wire.insert((due, self.order), (to, segment));
            self.order += 1;
        }
    }
}

/// Which full segment it is, from 1.
pub(crate) fn number(segment: &Segment) -> u64 {
    if segment.flags.contains(Flags::SYN) { 0 } else { segment.seq.saturating_sub(1) / MSS + 1 }
}

//! How a link with grants sends.

use goodqueue::{Instant, Qdisc as _};

use super::{Link, Served, Server};

impl Link {
    /// Applies the rate that the schedule has at `now`. Returns the time at which to call
    /// [`Self::serve`], unless that call was requested before.
    pub(super) fn change_granted_rate(&mut self, now: Instant) -> Option<Instant> {
        let is_idle = self.is_idle();
        let Server::Granted(granted) = &mut self.server else { return None };
        granted.change_rate(now);
        // Requests outlive an outage: their grants come, although the packets may be gone.
        let has_work = !is_idle || granted.in_transit.is_some() || granted.requests.are_outstanding();
        if self.ask_at.is_some() || !has_work {
            return None;
        }
        self.ask_at = granted.next_grant(now);
        self.ask_at
    }

    /// Uses the grant of the interval that begins now, and then sends a request.
    ///
    /// Each call returns at most one packet; the next call uses the rest of the grant. Kept out of
    /// [`Self::serve`], whose stack would be larger for every link.
    #[inline(never)]
    pub(super) fn use_grant(&mut self, now: Instant) -> Served {
        // Only a link with grants is served here (`serve`).
        let Server::Granted(granted) = &mut self.server else { return Served::nothing(None) };
        if granted.requests.rate().as_bps() == 0 {
            // The next change of rate wakes the link.
            return Served::nothing(None);
        }
        // `left` is also kept when it is 0, so each interval is asked for its grant only once.
        let budget = granted.left.take().unwrap_or_else(|| granted.requests.grant(granted.next));
        if budget == 0 {
            return self.request();
        }
        let begun = granted.in_transit.take().or_else(|| self.take(now).map(|packet| (packet, packet.len)));
        let Some((packet, bytes)) = begun else { return self.request() };
        let Server::Granted(server) = &mut self.server else { return Served::nothing(None) };
        let Some(left) = budget.checked_sub(u64::from(bytes)) else {
            // The budget is below the bytes of the packet, so it fits into their type.
            let part = u32::try_from(budget).unwrap_or(bytes);
            // DOCSIS sends a packet in parts (continuous concatenation and fragmentation).
            server.in_transit = Some((packet, bytes - part));
            self.monitor.sent(part);
            return self.request();
        };
        server.left = Some(left);
        self.monitor.sent(bytes);
        // The rest of the grant is for the next packets, or lost.
        self.ask_at = Some(now);
        Served { sent: Some(packet), end: now, call_at: self.ask_at }
    }

    /// Ends the use of a grant: requests the bytes that wait, and goes on to the next interval.
    fn request(&mut self) -> Served {
        // A modem requests all bytes that it holds, also those that the discipline has let go.
        let in_ring = self.ring.as_ref().map_or(0, |ring| ring.held().bytes);
        let queued = self.qdisc.backlog() + in_ring;
        let Server::Granted(granted) = &mut self.server else { return Served::nothing(None) };
        let half_sent = granted.in_transit.as_ref().map_or(0, |(_, rest)| u64::from(*rest));
        granted.requests.request(granted.next, queued + half_sent);
        granted.next += 1;
        // A discipline that holds packets back (a shaper, a delay) is asked at every grant, and
        // its packets are requested again once a grant has passed unused.
        let has_work = granted.requests.are_outstanding();
        self.ask_at = has_work.then(|| granted.requests.grants().start_of(granted.next));
        Served::nothing(self.ask_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::grants::Grants;
    use crate::link::LinkConfig;
    use crate::monitor::LinkMonitor;
    use crate::packet::{Ends, Packet, Payload};
    use goodqueue::random::{Random, Source, Xoshiro256PlusPlus};
    use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Rate, Settings};
    use goodqueue_link::capacity::Capacity;
    use goodqueue_link::work::Work;

    const MS: u64 = 1_000_000;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// A link of this capacity behind a long FIFO.
    fn link(capacity: Capacity, grants: Grants) -> Link {
        let qdisc = AnyConfig::from_settings("pfifo", &Settings::new(), &goodqueue::Link::default());
        let config = qdisc.expect("listed").expect("valid");
        let queue = AnyQdisc::new(config.clone(), 0, Source::Seeded(Xoshiro256PlusPlus::stream(1, 1)));
        let config = LinkConfig { grants: Some(grants), ..LinkConfig::new(capacity, config) };
        Link::new(&config, queue, 14, LinkMonitor::new(None))
    }

    fn packet(now: u64, number: u64, len: u32) -> Packet {
        let payload = Payload::Datagram { sent_at: at(now), number, ecn: Ecn::NotEct };
        Packet {
            queued_at: at(now),
            flow: FlowId::new(0),
            connection: 0,
            len,
            ends: Ends::default(),
            payload,
        }
    }

    /// Offers packets (time, length) to the link and applies its changes of rate. Returns the time
    /// at which each packet left, in the order of arrival.
    fn departures(link: &mut Link, arrivals: &[(u64, u32)], end: u64) -> Vec<u64> {
        let mut left = Vec::new();
        let mut changes = link.change_times().into_iter().peekable();
        let mut arrivals = arrivals.iter().copied().zip(0..).peekable();
        let mut call: Option<Instant> = None;
        loop {
            let arrives = arrivals.peek().map_or(u64::MAX, |arrival| arrival.0.0);
            let change = changes.peek().map_or(u64::MAX, |time| time.as_nanos());
            let serve = call.map_or(u64::MAX, Instant::as_nanos);
            let now = arrives.min(change).min(serve);
            if now >= end {
                return left;
            }
            if now == change {
                changes.next();
                call = link.change_rate(at(now)).or(call);
            } else if now == arrives {
                let Some(((_, len), number)) = arrivals.next() else { unreachable!("it was seen") };
                call = link.enqueue(at(now), packet(now, number, len)).or(call);
            } else {
                let served = link.serve(at(now));
                call = served.call_at;
                if let Some(Packet { payload: Payload::Datagram { number, .. }, .. }) = served.sent {
                    assert_eq!(number, left.len() as u64, "in the order of arrival");
                    assert_eq!(served.end, at(now));
                    left.push(now);
                }
            }
        }
    }

    /// The model of the module's documentation, literally: every interval happens, and the rate
    /// counts from the beginning.
    fn literal(arrivals: &[(u64, u32)], grants: &Grants, bps: u64, end: u64) -> Vec<u64> {
        let interval = grants.interval().as_nanos();
        let of_rate = |bps: u64, number: u64| {
            let until = |number: u64| u128::from(bps) * u128::from(interval * number) / 8_000_000_000;
            u64::try_from(until(number + 1) - until(number)).expect("few bytes")
        };
        let mut waiting: Vec<u64> = Vec::new();
        let mut requests: Vec<(u64, u64)> = Vec::new();
        let mut arrived = 0;
        let mut left = Vec::new();
        for number in 0..end / interval {
            let now = number * interval;
            while arrived < arrivals.len() && arrivals[arrived].0 < now {
                waiting.push(u64::from(arrivals[arrived].1));
                arrived += 1;
            }
            let is_due = |sent: u64| sent + grants.delay().as_nanos() <= now;
            let due: u64 = requests.iter().filter(|request| is_due(request.0)).map(|request| request.1).sum();
            let proactive = grants.proactive().map_or(0, |rate| of_rate(rate.as_bps(), number));
            let granted = due.max(proactive).min(of_rate(bps, number));
            let mut answered = granted;
            for request in requests.iter_mut().filter(|request| is_due(request.0)) {
                let part = request.1.min(answered);
                request.1 -= part;
                answered -= part;
            }
            let mut budget = granted;
            while budget > 0 && !waiting.is_empty() {
                let part = waiting[0].min(budget);
                waiting[0] -= part;
                budget -= part;
                if waiting[0] == 0 {
                    waiting.remove(0);
                    left.push(now);
                }
            }
            let outstanding: u64 = requests.iter().map(|request| request.1).sum();
            let queued: u64 = waiting.iter().sum();
            requests.push((now, queued.saturating_sub(outstanding)));
            requests.retain(|request| request.1 > 0);
        }
        left
    }

    #[test]
    fn every_packet_leaves_when_the_literal_model_says() {
        let mut random = Xoshiro256PlusPlus::new(39);
        let mut seen = 0;
        for case in 0..200 {
            let interval = Duration::from_nanos(100_000 + u64::from(random.below(4_000_000)));
            let delay = Duration::from_nanos(1 + u64::from(random.below(12_000_000)));
            let bps = 10_000 + u64::from(random.below(30_000_000));
            let proactive = (case % 2 == 1).then(|| Rate::from_bps(1 + u64::from(random.below(2_000_000))));
            let grants = Grants::new(interval, delay, proactive).expect("valid");
            let mut arrivals = Vec::new();
            let mut now = 0;
            // Bursts, and gaps in which the link falls asleep.
            while arrivals.len() < 300 {
                let gap = if random.below(8) == 0 { 60_000_000 } else { 900_000 };
                now += 1 + u64::from(random.below(gap));
                // An arrival at the very beginning of an interval is too late for the model's
                // request, and in time for that of the link.
                if now % interval.as_nanos() != 0 {
                    arrivals.push((now, 64 + random.below(1451)));
                }
            }
            let end = now + 400 * MS;
            let mut link = link(Capacity::Constant(Rate::from_bps(bps)), grants);
            let expected = literal(&arrivals, &grants, bps, end);
            assert_eq!(
                // The model has whole intervals only.
                departures(&mut link, &arrivals, end / interval.as_nanos() * interval.as_nanos()),
                expected,
                "case {case}: {grants:?} at {bps}"
            );
            seen += expected.len();
        }
        // 200 cases have 300 packets each. The slowest links do not send all of theirs.
        assert!(seen > 30_000, "{seen} packets left");
    }

    /// Grants every 2 ms, 4 ms after a request.
    fn usual(proactive: Option<Rate>) -> Grants {
        Grants::new(Duration::from_millis(2), Duration::from_millis(4), proactive).expect("valid")
    }

    #[test]
    fn a_lone_packet_waits_for_the_next_request_and_its_grant() {
        let mut link = link(Capacity::Constant(Rate::from_bps(10_000_000)), usual(None));
        let arrivals = [(1, 100), (20 * MS + 1, 100), (41 * MS, 100), (62 * MS - 1, 100)];
        assert_eq!(departures(&mut link, &arrivals, 100 * MS), [6 * MS, 26 * MS, 46 * MS, 66 * MS]);
        assert_eq!(link.ask_at, None, "the link is asleep");
    }

    #[test]
    fn a_grant_is_used_once_even_if_another_packet_arrives_at_its_very_instant() {
        let mut link =
            link(Capacity::Constant(Rate::from_bps(10_000_000)), usual(Some(Rate::from_bps(400_000))));
        let begin = at(20 * MS);
        assert_eq!(link.enqueue(begin, packet(20 * MS, 0, 100)), Some(begin));
        assert!(link.serve(begin).sent.is_some(), "100 bytes are granted without a request");
        assert_eq!(link.serve(begin).call_at, None, "nothing waits");
        assert_eq!(link.enqueue(begin, packet(20 * MS, 1, 100)), Some(at(22 * MS)));
    }

    #[test]
    fn a_packet_longer_than_a_grant_leaves_with_its_last_byte() {
        // 250 bytes per interval from 6 ms on: the seventh grant has the last of 1514 bytes.
        let until = |end: u64| {
            let mut link = link(Capacity::Constant(Rate::from_bps(1_000_000)), usual(None));
            let left = departures(&mut link, &[(1, 1514)], end);
            (left, link.held().packets)
        };
        assert_eq!(until(17 * MS), (vec![], 1), "half sent, and still there");
        assert_eq!(until(100 * MS), (vec![18 * MS], 0));
    }

    #[test]
    fn during_an_outage_nothing_is_granted_and_requests_are_kept() {
        let mbit = |mbit: u64| Rate::from_bps(mbit * 1_000_000);
        let schedule = vec![(at(0), mbit(10)), (at(5 * MS), mbit(0)), (at(51 * MS), mbit(1))];
        let mut link = link(Capacity::Schedule(schedule), usual(None));
        // The first packet is requested at 2 ms and due at 6 ms, when the link has no rate. From 52
        // ms on an interval has 250 bytes. The second packet is requested at 52 ms, with the first
        // grant.
        let arrivals = [(MS, 400), (30 * MS + 1, 100)];
        assert_eq!(departures(&mut link, &arrivals, 100 * MS), [54 * MS, 56 * MS]);
        // Three intervals of 10 Mbit/s (0, 2, 4 ms), and 24 of 1 Mbit/s (52 to 98 ms).
        let capacity = link.progress(at(100 * MS)).capacity;
        assert_eq!(capacity, Work::of_bytes(3 * 2_500 + 24 * 250));
    }
}

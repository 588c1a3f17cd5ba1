//! `[line]` and `[link]`: how fast the bottleneck is and how far away.

use goodqueue::{Direction, Duration, Link, Rate};
use goodqueue_tc::diagnostic::Diagnostic;

use super::ends::{LINK_END, LinkEnd, LinkRate, read_link_end};
use super::form::Maybe;
use super::keys::keys;
use super::plain::{SPEED, TIME, Time, time, whole};
use super::reader::Reader;

keys! {
    /// Rates of the line, to which percentages refer.
    pub struct Line(table, _around: ()) {
        /// Rate towards the clients.
        down: Rate = "16mbit", SPEED => required("the line has no `down`");
        /// Rate towards the servers. Default: the value of `down`.
        up: Rate = "1mbit", SPEED => or(down);
    }
}

keys! {
    /// The bottleneck.
    pub struct BottleneckLink(table, around: &LinkContext) {
        /// Rate towards the clients, or a table, see below.
        down: LinkEnd = "10mbit", LINK_END => from(down.unwrap_or_else(|| LinkEnd::fixed(DEFAULT_DOWN)));
        /// Rate towards the servers. Default: the value of `down`, or 1mbit without it.
        up: LinkEnd = "1mbit", LINK_END => from(up.unwrap_or(default_up));
        /// Base round-trip time without queues and serialization. Half of it is added in each
        /// direction, behind the last link. The delays of hops and `access` are parts of it.
        rtt: Duration = "50ms", RTT;
        // The smallest MTU that IPv4 allows (RFC 791 §3.2), and the largest length in its header.
        /// Largest IP packet in bytes.
        mtu: u32 = 1500, whole(68..=65_535);
        /// Bytes of link header that queues and links add to each packet.
        framing: u32 = 14, whole(0..=1000);
        /// Clock tick of an emulator that adds the delay, as dummynet does: a packet waits whole
        /// ticks, counted from the last tick before its arrival. Default: exact to the nanosecond.
        delay_tick: Option<Duration> = "4ms", Maybe(TIME) => none;
    }
    with {
        /// Rates of the line, if they are given beside those of its links.
        line: Option<Line>;
    }
    first {
        let line = around.line.clone();
        let down = around.bottleneck_end(table, "down", Direction::Down)?;
        let up = around.bottleneck_end(table, "up", Direction::Up)?;
        // A line with one given rate is symmetric. Without any rate it is the 10/1 line of
        // `compare`.
        let default_up = down.clone().unwrap_or_else(|| LinkEnd::fixed(DEFAULT_UP));
    }
    // An emulator without a tick is exact, so 0 is written like an absent key.
    then { let delay_tick = delay_tick.filter(|tick| !tick.is_zero()); }
}

/// What the ends of links refer to.
pub(super) struct LinkContext {
    pub(super) line: Option<Line>,
    pub(super) duration: Duration,
}

impl LinkContext {
    /// Reads one end of a link; `None`: it is not given.
    pub(super) fn end(
        &self,
        table: &Reader<'_>,
        key: &str,
        direction: Direction,
    ) -> Result<Option<LinkEnd>, Diagnostic> {
        let line = self.line.as_ref().map(|line| line.rate(direction));
        table.node(key).map(|node| read_link_end(table, key, node, line, self.duration)).transpose()
    }

    fn bottleneck_end(
        &self,
        table: &Reader<'_>,
        key: &str,
        direction: Direction,
    ) -> Result<Option<LinkEnd>, Diagnostic> {
        let end = self.end(table, key, direction)?;
        if end.as_ref().is_none_or(|end| end.rate != LinkRate::Unlimited) {
            return Ok(end);
        }
        let message = Diagnostic::new("a link without a limit is no bottleneck").allowed("a rate above 0");
        Err(table.error(key, message.help("only links in [[hops]] may be \"unlimited\"")))
    }
}

impl Line {
    const fn rate(&self, direction: Direction) -> Rate {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }
}

impl BottleneckLink {
    /// Returns the properties of a link of this `rate` from which a discipline in this direction
    /// derives its defaults: with a line those of the line.
    #[must_use]
    pub fn as_seen_by_qdisc(&self, direction: Direction, rate: &LinkRate) -> Link {
        let delay = Duration::from_nanos(self.rtt.as_nanos() / 2);
        let rate = self.line_rate(direction).unwrap_or_else(|| rate.nominal());
        // As in Linux, where a full packet on an Ethernet has 1514 bytes for its discipline.
        Link { rate, mtu: self.mtu.saturating_add(self.framing), delay }
    }

    /// Returns the rate of the line in this direction, if there is a line.
    pub(super) fn line_rate(&self, direction: Direction) -> Option<Rate> {
        self.line.as_ref().map(|line| line.rate(direction))
    }
}

/// A base round-trip time.
pub(super) const RTT: Time = time("a base round-trip time of {} is not possible", Duration::ZERO..=MAX_RTT);

const DEFAULT_DOWN: Rate = Rate::from_bps(10_000_000);
const DEFAULT_UP: Rate = Rate::from_bps(1_000_000);
pub(super) const MAX_RTT: Duration = Duration::from_secs(3600);

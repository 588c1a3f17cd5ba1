//! libutp of May 2010 (utp.cpp, and its program `utp_send`): what it does otherwise than TCP.
//!
//! The program looks at its socket when something arrives, and 50 ms later if nothing does; timeouts and what the quota holds back
//! wait for that. Windows count bytes that are out, lost ones too, until a timeout takes all for lost. What the application writes
//! waits in a queue behind what is to be sent again. A selective acknowledgement has up to four packets sent again at once, whatever
//! the window says, each once: the oldest, and of those that it can tell of and does not, all but the last two in
//! the queue, whether or not anything above them arrived. The next one does so when the oldest packet has changed. Any
//! acknowledgement renews the timeout.
//!
//! While the window is less than a packet, and all is acknowledged, a packet is queued and then held back because the queue is not
//! empty: it leaves with the timeout, half a second later or more, whatever the rate at which the quota grows. A timeout that would
//! be 30 s or more ends the connection.
//!
//! # Deviations
//!
//! * Neither end sends anything after 29 s of silence (`KEEPALIVE_INTERVAL`); the receiver's repeated ACK could have a packet sent
//!   again before its timeout.
//! * The send buffer holds whatever the window does; that of `utp_send` is 30 kB.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

use super::reaction::News;
use super::{Sender, State};
use crate::clock::ticks;
use crate::congestion::{CongestionControl, Signal};
use crate::segment::{Flags, SackBlocks, Segment};

/// The program's loop waits for packets so long at a time.
const LOOP: Duration = Duration::from_millis(50);
/// libutp's header, which the quota has to hold in some places.
const HEADER: u64 = 20;
/// `send_ack`: its mask has a bit for each of so many packets beyond the one that is missing; `selective_ack` looks at two more.
const MASK_BITS: u64 = 30;
const MASK_LOOKS: u64 = 32;
/// `DUPLICATE_ACKS_BEFORE_RESEND`.
const RESEND_AFTER: u64 = 3;
/// So many packets does a selective acknowledgement have sent again.
const RESENT_AT_ONCE: usize = 4;
/// `OUTGOING_BUFFER_MAX_SIZE`, less one for the FIN.
const QUEUE: u64 = 510;
/// `send_quota` at first, in hundredths of a byte.
const FIRST_QUOTA: u64 = 30_000;
/// What is saved holds so many packets, or half a window.
const SAVED_PACKETS: u64 = 5;
/// Round-trip time for the quota before the first sample, in milliseconds.
const UNKNOWN_RTT: u64 = 50;
/// `MAX_CWND_INCREASE_BYTES_PER_RTT`.
const MOST_GROWTH: u64 = 3000;
/// A timeout of this or more ends the connection.
const GIVE_UP: Duration = Duration::from_secs(30);

/// What such a sender remembers. Times are in milliseconds, as its clock has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Libutp {
    /// What leaves now.
    out: VecDeque<Segment>,
    /// Packets that the application wrote and that never left.
    queued: u64,
    /// `send_quota`, in hundredths of a byte, and when it was last filled.
    quota: u64,
    filled: u64,
    /// `rtt_hist`: the least round-trip time, without that of the handshake.
    least_rtt: Option<u64>,
    /// `fast_resend_seq_nr`: the first packet that a selective acknowledgement may have sent again.
    resend_from: u64,
    /// `duplicate_ack`: packets that the last selective acknowledgement looked at.
    looked_at: u64,
    /// `rto_timeout`.
    timeout: u64,
    /// What the application had written, and whether it had closed, when it was last asked.
    asked: (u64, bool),
}

impl Libutp {
    /// So many packets were written and never left.
    pub(super) const fn queued(&self) -> u64 {
        self.queued
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The SYN/ACK came.
    pub(super) fn on_syn_ack_as_libutp(&mut self, now: Instant) {
        self.libutp.quota = FIRST_QUOTA;
        self.libutp.filled = ticks(self.last_sent);
        self.look_as_libutp(now);
    }

    pub(super) fn on_ack_as_libutp(&mut self, now: Instant, segment: &Segment, pipe_before: u64) {
        self.fill_quota(now);
        let ack = segment.ack;
        self.window_edge = self.window_edge.max(ack + u64::from(segment.window));
        let mut news = News { acked: ack - self.snd_una, ..News::default() };
        self.take_packets(now, segment, &mut news);
        let echo = self.ecn && segment.flags.contains(Flags::ECE);
        if self.feedback {
            self.tell(now, segment, &mut news, pipe_before, echo);
        }
        if echo && ack > self.reduction_point {
            self.stats.ecn_reductions += 1;
            self.cwnd = self.reduced_window(now, Signal::Ecn, news.acked);
        } else if news.acked > 0 {
            let may_grow = !echo && pipe_before + self.mss > self.cwnd;
            self.grow(now, &news, news.acked, may_grow, echo);
        }
        if self.packets() == 1 && self.libutp.queued == 1 && self.libutp.quota / 100 >= self.mss + HEADER {
            self.send_queued(now);
        }
        if !segment.sack.is_empty() && self.packets() > 0 {
            self.send_missing_again(now);
        }
        self.write_as_libutp(now);
        self.look_as_libutp(now);
    }

    /// Takes off what the ACK tells of: the oldest packets first, then those of the mask from above.
    fn take_packets(&mut self, now: Instant, segment: &Segment, news: &mut News) {
        let ack = segment.ack;
        let first = self.scoreboard.first();
        let below = self.scoreboard.positions(ack, ack).1;
        let mask = within_mask(segment, self.mss);
        let mut told: Vec<u64> = (first..below).collect();
        let mut above: Vec<u64> = Vec::new();
        for (start, end) in mask.iter(ack) {
            let (low, high) = self.scoreboard.positions(start, end);
            above.extend(low.max(below)..high);
        }
        above.sort_unstable_by(|one, other| other.cmp(one));
        told.append(&mut above);
        told.retain(|&position| !self.scoreboard.is_sacked(position));
        for &position in &told {
            let (sent, once) = self.scoreboard.last_sent(position);
            let rtt = now.since(sent);
            news.rtt = Some(news.rtt.map_or(rtt, |least| least.min(rtt)));
            if once {
                let whole = ticks(Instant::ZERO + rtt);
                if self.rtt.srtt().is_some() {
                    self.libutp.least_rtt =
                        Some(self.libutp.least_rtt.map_or(whole, |least| least.min(whole)));
                }
                self.rtt.sample(rtt);
            }
        }
        if news.acked > 0 {
            news.delivered = self.scoreboard.acknowledge(ack).delivered;
            self.snd_una = ack;
            self.libutp.looked_at = 0;
        }
        let (sacked, invalid) = self.scoreboard.sack(ack, &mask);
        self.stats.invalid_sack_blocks += invalid;
        news.sacked = sacked;
        news.delivered += sacked;
        if !told.is_empty() {
            self.renew_timeout(now);
        }
        self.libutp.resend_from = self.libutp.resend_from.max(self.scoreboard.first());
    }

    fn renew_timeout(&mut self, now: Instant) {
        self.rtt.clear_back_off();
        self.libutp.timeout = ticks(now + self.rtt.rto());
    }

    /// `selective_ack`: what it counts is whatever is queued, not what arrived.
    fn send_missing_again(&mut self, now: Instant) {
        let first = self.scoreboard.first();
        let end = (first + self.packets()).min(first + 1 + MASK_LOOKS);
        let looked_at = end - first - 1;
        let before = core::mem::replace(&mut self.libutp.looked_at, looked_at);
        if before >= RESEND_AFTER || looked_at < RESEND_AFTER {
            return;
        }
        let sent = (end + 1 - RESEND_AFTER).min(self.scoreboard.next_position());
        let missing: Vec<u64> = (first.max(self.libutp.resend_from)..sent)
            .filter(|&position| !self.scoreboard.is_sacked(position))
            .take(RESENT_AT_ONCE)
            .collect();
        for &position in &missing {
            self.send_again(now, position);
            self.libutp.resend_from = position + 1;
        }
        if !missing.is_empty() {
            self.stats.fast_recoveries += 1;
            self.cwnd = self.reduced_window(now, Signal::Loss, 0);
        }
    }

    /// What the program does when it wakes (`UTP_CheckTimeouts`).
    pub(super) fn look_as_libutp(&mut self, now: Instant) {
        self.fill_quota(now);
        self.flush(now);
        self.write_as_libutp(now);
        if self.packets() > 0 && ticks(now) >= self.libutp.timeout {
            self.rtt.back_off();
            if self.rtt.rto() >= GIVE_UP {
                self.state = State::Closed;
                return;
            }
            self.time_out_as_libutp(now);
            self.write_as_libutp(now);
        }
        let limit = (self.fine_window() / 2).max(SAVED_PACKETS * self.mss).saturating_mul(100);
        self.libutp.quota = self.libutp.quota.min(limit);
        let waits = self.packets() > 0 || self.has_more();
        self.timer = waits.then(|| now + LOOP);
    }

    fn time_out_as_libutp(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.libutp.timeout = ticks(now + self.rtt.rto());
        self.libutp.looked_at = 0;
        self.reduced_window(now, Signal::Timeout, 0);
        self.cwnd = self.mss;
        self.scoreboard.time_out(Instant::MAX, false);
        self.libutp.quota = self.libutp.quota.max((self.mss + HEADER) * 100);
        match self.scoreboard.front() {
            Some((position, _)) => self.send_again(now, position),
            None => self.send_queued(now),
        }
    }

    /// The application hands over what fits (`UTP_Write`).
    fn write_as_libutp(&mut self, now: Instant) {
        self.libutp.asked = (self.data_end, self.closing);
        while self.has_more() && self.is_writable(self.mss) {
            if self.packets() == 0 {
                self.renew_timeout(now);
            }
            self.libutp.queued += 1;
            self.flush(now);
        }
    }

    /// There is something to queue.
    fn has_more(&self) -> bool {
        let end = self.data_end.min(self.window_edge);
        let ends = self.closing && !self.fin_sent && self.snd_nxt == self.data_end && self.libutp.queued == 0;
        ends || end.saturating_sub(self.snd_nxt) > self.libutp.queued * self.mss
    }

    /// Sends what waits, the oldest first (`flush_packets`); a part of a packet only if nothing else is out.
    fn flush(&mut self, now: Instant) {
        loop {
            if let Some((position, record)) = self.scoreboard.next_lost() {
                if !self.is_writable(record.len.into()) {
                    return;
                }
                self.send_again(now, position);
                continue;
            }
            let payload = self.next_payload();
            let in_part = payload < self.mss && self.libutp.queued == 1 && self.packets() > 1;
            if self.libutp.queued == 0
                || in_part
                || !self.is_writable(if payload == 0 { self.mss } else { payload })
            {
                return;
            }
            self.send_queued(now);
        }
    }

    /// A packet of `len` may be queued, or leave.
    fn is_writable(&self, len: u64) -> bool {
        let window = self.fine_window();
        let out = self.scoreboard.pipe();
        let fits = out + self.mss <= window || (window < len && out < window && self.packets() == 0);
        self.libutp.quota / 100 >= len && self.packets() < QUEUE && fits
    }

    /// Packets from the oldest that is out to the last that is queued.
    fn packets(&self) -> u64 {
        self.scoreboard.next_position() - self.scoreboard.first() + self.libutp.queued
    }

    /// The window in bytes, which may be less than a packet.
    fn fine_window(&self) -> u64 {
        self.controller.pacing().fine_window.unwrap_or(self.cwnd)
    }

    /// Payload of the first packet that never left; that of a FIN alone is empty.
    fn next_payload(&self) -> u64 {
        self.mss.min(self.data_end.saturating_sub(self.snd_nxt))
    }

    fn send_queued(&mut self, now: Instant) {
        let payload = self.next_payload();
        if self.fine_window() < self.mss {
            self.libutp.quota = self.libutp.quota.saturating_sub(payload * 100);
        }
        self.libutp.queued -= 1;
        let segment = self.first_transmission(now, payload);
        self.libutp.out.push_back(segment);
    }

    fn send_again(&mut self, now: Instant, position: u64) {
        if let Some(record) = self.scoreboard.record(position) {
            let segment = self.retransmit(now, position, record);
            self.libutp.out.push_back(segment);
        }
    }

    /// What a window brings in the least round-trip time, in whole milliseconds, is saved, by large windows too, which do not
    /// spend it. (By mistake a hundredth of a byte for each byte of the window if it is much.)
    fn fill_quota(&mut self, now: Instant) {
        let passed = ticks(now) - self.libutp.filled;
        self.libutp.filled = ticks(now);
        let hundredfold = self.fine_window().saturating_mul(100);
        let rtt = self.libutp.least_rtt.filter(|&least| least > 0).unwrap_or(UNKNOWN_RTT);
        let more = hundredfold.saturating_mul(passed) / rtt;
        let is_much = more > hundredfold && more > MOST_GROWTH * 100;
        let more = if is_much { hundredfold / 100 } else { more };
        self.libutp.quota = self.libutp.quota.saturating_add(more);
    }

    /// What leaves now, if anything.
    pub(super) fn send_as_libutp(&mut self, now: Instant) -> Option<Segment> {
        if self.libutp.out.is_empty() && self.libutp.asked != (self.data_end, self.closing) {
            self.fill_quota(now);
            self.write_as_libutp(now);
            if self.timer.is_none() {
                self.timer = Some(now + LOOP);
            }
        }
        self.libutp.out.pop_front()
    }
}

/// What libutp's selective acknowledgement can tell of: the packets after the one that is missing, as many as its mask has bits.
fn within_mask(segment: &Segment, mss: u64) -> SackBlocks {
    let end_of_mask = segment.ack + (1 + MASK_BITS) * mss;
    let mut told = SackBlocks::NONE;
    for (start, end) in segment.sack.iter(segment.ack).filter(|(start, _)| *start < end_of_mask) {
        told.push(segment.ack, start, end.min(end_of_mask));
    }
    told
}

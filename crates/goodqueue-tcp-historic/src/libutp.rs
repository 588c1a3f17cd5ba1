//! libutp of May 2010 (utp.cpp, and its program `utp_send`), where it differs from TCP.
//!
//! The program looks at its socket when a packet arrives, and 50 ms later if none does. Timeouts,
//! and packets that the quota holds back, wait for that moment. Windows count the bytes that are
//! out, including lost ones, until a timeout marks all of them as lost. New data waits in a queue
//! behind the packets to be sent again. A selective acknowledgement has up to four packets sent
//! again at once, without regard to the window, and each packet once. These are the oldest packet,
//! and the packets within the mask that it does not report, except the last two in the queue. It
//! does not matter whether a packet above them arrived. The next selective acknowledgement does so
//! when the oldest packet has changed. Any acknowledgement renews the timeout.
//!
//! While the window is less than a packet, and everything is acknowledged, a packet is queued and
//! then held back because the queue is not empty. It leaves with the timeout, at least half a
//! second later, however fast the quota grows. A timeout of 30 s or more ends the connection.
//!
//! # Deviations
//!
//! * Neither end sends anything after 29 s of silence (`KEEPALIVE_INTERVAL`); the receiver's
//!   repeated ACK could have a packet sent again before its timeout.
//! * The send buffer holds as much as the window. The send buffer of `utp_send` has 30 kB.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

use goodqueue_tcp::Profile;
use goodqueue_tcp::clock::ticks;
use goodqueue_tcp::config::{Config, DelayedAck, RtoRule};
use goodqueue_tcp::congestion::{CongestionControl, Signal};
use goodqueue_tcp::intake::{EarlySegment, InOrder, Intake};
use goodqueue_tcp::machinery::ack_changes::AckChanges;
use goodqueue_tcp::machinery::{Core, FIRST_BYTE, FORGIVEN_SYN_RETRANSMITS, State};
use goodqueue_tcp::receiver_stack::ReceiverStack;
use goodqueue_tcp::scoreboard::Scoreboard;
use goodqueue_tcp::segment::{SackBlocks, Segment};
use goodqueue_tcp::stack::{Listed, Stack, run_timer};
use goodqueue_tcp::{Origin, StackInfo};

/// Longest time that the program's loop waits for a packet.
const LOOP: Duration = Duration::from_millis(50);
/// libutp's header, which the quota has to hold in some places.
const HEADER: u64 = 20;
/// `send_ack`: number of packets after the missing one for which its mask has a bit.
/// `selective_ack` looks at two more.
const MASK_BITS: u64 = 30;
const MASK_LOOKS: u64 = 32;
/// `DUPLICATE_ACKS_BEFORE_RESEND`.
const RESEND_AFTER: u64 = 3;
/// Most packets that one selective acknowledgement has sent again.
const RESENT_AT_ONCE: usize = 4;
/// `OUTGOING_BUFFER_MAX_SIZE`, less one for the FIN.
const QUEUE: u64 = 510;
/// `send_quota` at first, in hundredths of a byte.
const FIRST_QUOTA: u64 = 30_000;
/// Most packets for which quota is saved, unless half a window is more.
const SAVED_PACKETS: u64 = 5;
/// Round-trip time for the quota before the first sample, in milliseconds.
const UNKNOWN_RTT: u64 = 50;
/// `MAX_CWND_INCREASE_BYTES_PER_RTT`.
const MOST_GROWTH: u64 = 3000;
/// A timeout of this or more ends the connection.
const GIVE_UP: Duration = Duration::from_secs(30);

/// State of the sender. Times are in milliseconds, like its clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Libutp {
    /// Packets that leave now.
    out: VecDeque<Segment>,
    /// Number of packets that the application wrote and that never left.
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
    asked: Asked,
}

/// What the application had asked for when it last handed over packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Asked {
    /// End of its data.
    data_end: u64,
    closing: bool,
}

impl Asked {
    const fn from_core(core: &Core) -> Self {
        Self { data_end: core.data_end, closing: core.closing }
    }
}

static INFO: StackInfo = StackInfo {
    name: "libutp",
    summary: "libutp of May 2010: its loop, its quota and its selective acknowledgements",
    origin: Origin::new::<Libutp>(),
    ..StackInfo::PLAIN
};

impl Listed for Libutp {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "libutp",
        summary: "libutp of May 2010, for ledbat_utp: its losses, timeouts, quota and ACKs, packet by packet",
        settings: SETTINGS,
        controllers: &[("ledbat", "ledbat_utp")],
        sources: &[
            "utp.cpp of May 2010: DUPLICATE_ACKS_BEFORE_RESEND 3 by selective ACKs, no rate reduction, no slow start",
            "DELAYED_ACK_BYTE_THRESHOLD 2400 (two packets), DELAYED_ACK_TIME_THRESHOLD 5 ms, but utp_recv looks only with a packet or after 50 ms",
            "selective_ack: a mask of 30 packets, each lost one sent again once and at once, each time the window is reduced; cur_window has it until a timeout",
            "retransmit_timeout 1500 ms for the SYN, 3000 ms (rto) for data after a repeated SYN, then rtt + 4 rtt_var, 500 ms at least; each ACK of something new ends the back-off",
            "one packet in the first window; timestamps stand for timestamp_microseconds and reply_micro",
            "its packets are 1466 bytes long at the IP layer: mss 1426 here; its shares beside Linux 3.2's TCP: papers/gong/README.md",
        ],
    }];

    type Receiver = LibutpReceiver;
}

const SETTINGS: Config = Config {
    iw: 1,
    delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(50) },
    timestamps: true,
    min_rto: Duration::from_millis(500),
    initial_rto: Duration::from_millis(1500),
    prr: false,
    idle_restart: false,
    stack: &INFO,
    rearm_in_recovery: false,
    rto_rule: RtoRule::WholeMilliseconds,
    stamps_arrival: true,
    ..Config::RFC
};

impl Stack for Libutp {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn scoreboard(config: &Config) -> Scoreboard {
        Scoreboard::of_deciding_stack(config.payload(), FIRST_BYTE)
    }

    /// libutp does not return the packets that it has queued.
    fn kept(&mut self, core: &Core) -> u64 {
        self.queued * core.mss
    }

    /// Data carries the ACK of the SYN/ACK.
    #[cold]
    fn on_syn_ack(&mut self, core: &mut Core, now: Instant, _segment: &Segment) {
        core.due.ack = core.snd_nxt >= core.data_end;
        if core.stats.syn_retransmits == 0 {
            core.rtt.sample(now.since(core.last_sent));
            core.rtt.remember();
        } else {
            core.rtt.restart_after_syn_timeout();
        }
        if core.stats.syn_retransmits > FORGIVEN_SYN_RETRANSMITS {
            core.cwnd = core.mss;
        }
        self.quota = FIRST_QUOTA;
        self.filled = ticks(core.last_sent);
        self.look(core, now);
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        self.fill_quota(core, now);
        let ack = segment.ack;
        core.offered.edge = core.offered.edge.max(ack + u64::from(segment.window));
        let mut news = core.news_of(segment);
        self.take_packets(core, now, segment, &mut news);
        if core.feedback {
            core.tell(now, segment, &news);
            core.pacer.rate = None; // the quota spreads packets over time
        }
        if news.echo && ack > core.reduction_point {
            core.stats.ecn_reductions += 1;
            core.cwnd = core.reduced_window(now, Signal::Ecn, news.acked);
        } else if news.acked > 0 {
            let may_grow = !news.echo && news.pipe_before + core.mss > core.cwnd;
            core.grow(now, &news, core.growth_rule(), news.acked, may_grow);
        }
        // Nagle: a packet that is alone leaves at once. The quota has to hold its header too
        // (`pkt->length`).
        if self.packets(core) == 1 && self.queued == 1 && self.quota / 100 >= core.mss + HEADER {
            self.send_queued(core, now);
        }
        if !segment.sack.is_empty() && self.packets(core) > 0 {
            self.send_missing_again(core, now);
        }
        self.write(core, now);
        self.look(core, now);
    }

    /// The program wakes.
    #[cold]
    fn on_timer(&mut self, core: &mut Core, now: Instant) {
        if core.state != State::Established {
            run_timer(self, core, now);
            return;
        }
        core.timer = None;
        core.burst.awaits_ack = false;
        core.host.refused = false;
        self.look(core, now);
    }

    fn transmit(&mut self, core: &mut Core, now: Instant) -> Option<Segment> {
        if self.out.is_empty() && self.asked != Asked::from_core(core) {
            self.fill_quota(core, now);
            self.write(core, now);
            if core.timer.is_none() {
                core.timer = Some(now + LOOP);
            }
        }
        self.out.pop_front()
    }

    /// A packet that is sent again replaces the one before in the count of packets that are out,
    /// unless that one is lost.
    fn mark_resent(&mut self, core: &mut Core, now: Instant, position: u64) {
        core.scoreboard.resent_in_place(position, now);
    }
}

impl Libutp {
    /// Removes the packets that the ACK reports: the oldest first, then those of the mask from the
    /// highest down.
    fn take_packets(&mut self, core: &mut Core, now: Instant, segment: &Segment, news: &mut AckChanges) {
        let ack = segment.ack;
        let first = core.scoreboard.first();
        let below = core.scoreboard.positions(ack, ack).1;
        let mask = within_mask(segment, core.mss);
        let mut told: Vec<u64> = (first..below).collect();
        let mut above: Vec<u64> = Vec::new();
        for (start, end) in mask.iter(ack) {
            let (low, high) = core.scoreboard.positions(start, end);
            above.extend(low.max(below)..high);
        }
        // libutp reads its mask from the highest bit down.
        above.sort_unstable_by(|one, other| other.cmp(one));
        told.append(&mut above);
        told.retain(|&position| !core.scoreboard.is_sacked(position));
        for &position in &told {
            let (sent, once) = core.scoreboard.last_sent(position);
            let rtt = now.since(sent);
            // The delay of an ACK counts as at most the least round-trip time that the ACK shows
            // (`min_rtt`).
            news.rtt = Some(news.rtt.map_or(rtt, |least| least.min(rtt)));
            if once {
                let whole = ticks(Instant::ZERO + rtt);
                if core.rtt.srtt().is_some() {
                    self.least_rtt = Some(self.least_rtt.map_or(whole, |least| least.min(whole)));
                }
                core.rtt.sample(rtt);
            }
        }
        if news.acked > 0 {
            core.acknowledge(ack, news);
            self.looked_at = 0;
        }
        let (sacked, invalid) = core.scoreboard.sack(ack, &mask);
        core.stats.invalid_sack_blocks += invalid;
        news.sacked = sacked;
        news.delivered += sacked;
        if !told.is_empty() {
            self.renew_timeout(core, now);
        }
        self.resend_from = self.resend_from.max(core.scoreboard.first());
    }

    fn renew_timeout(&mut self, core: &mut Core, now: Instant) {
        core.rtt.clear_back_off();
        self.timeout = ticks(now + core.rtt.rto());
    }

    /// `selective_ack`: it counts all queued packets, not those that arrived.
    fn send_missing_again(&mut self, core: &mut Core, now: Instant) {
        let first = core.scoreboard.first();
        let end = (first + self.packets(core)).min(first + 1 + MASK_LOOKS);
        let looked_at = end - first - 1;
        let before = core::mem::replace(&mut self.looked_at, looked_at);
        if before >= RESEND_AFTER || looked_at < RESEND_AFTER {
            return;
        }
        let sent = (end + 1 - RESEND_AFTER).min(core.scoreboard.next_position());
        let missing: Vec<u64> = (first.max(self.resend_from)..sent)
            .filter(|&position| !core.scoreboard.is_sacked(position))
            .take(RESENT_AT_ONCE)
            .collect();
        for &position in &missing {
            self.send_again(core, now, position);
            self.resend_from = position + 1;
        }
        if !missing.is_empty() {
            core.stats.fast_recoveries += 1;
            core.cwnd = core.reduced_window(now, Signal::Loss, 0);
        }
    }

    /// The program wakes (`UTP_CheckTimeouts`).
    fn look(&mut self, core: &mut Core, now: Instant) {
        self.fill_quota(core, now);
        self.flush(core, now);
        self.write(core, now);
        if self.packets(core) > 0 && ticks(now) >= self.timeout {
            core.rtt.back_off();
            if core.rtt.rto() >= GIVE_UP {
                core.state = State::Closed;
                return;
            }
            self.lose_all(core, now);
            self.write(core, now);
        }
        // No more quota is saved while there is nothing to send.
        let limit = (Self::fine_window(core) / 2).max(SAVED_PACKETS * core.mss).saturating_mul(100);
        self.quota = self.quota.min(limit);
        let waits = self.packets(core) > 0 || self.has_more(core);
        core.timer = waits.then(|| now + LOOP);
    }

    fn lose_all(&mut self, core: &mut Core, now: Instant) {
        core.stats.timeouts += 1;
        self.timeout = ticks(now + core.rtt.rto());
        self.looked_at = 0;
        core.reduced_window(now, Signal::Timeout, 0);
        core.cwnd = core.mss;
        core.scoreboard.time_out(Instant::MAX, false);
        // `pkt->length` counts the header, unlike the payload that is later spent.
        self.quota = self.quota.max((core.mss + HEADER) * 100);
        match core.scoreboard.front() {
            Some((position, _)) => self.send_again(core, now, position),
            None => self.send_queued(core, now),
        }
    }

    /// The application hands over packets as long as they fit (`UTP_Write`).
    fn write(&mut self, core: &mut Core, now: Instant) {
        self.asked = Asked::from_core(core);
        while self.has_more(core) && self.is_writable(core, core.mss) {
            // The timeout counts from when a packet is queued, whether or not it leaves
            // (`write_outgoing_packet`).
            if self.packets(core) == 0 {
                self.renew_timeout(core, now);
            }
            self.queued += 1;
            self.flush(core, now);
        }
    }

    /// True if the application has something to queue.
    fn has_more(&self, core: &Core) -> bool {
        let end = core.data_end.min(core.offered.edge);
        let ends = core.closing && !core.fin_sent && core.snd_nxt == core.data_end && self.queued == 0;
        ends || end.saturating_sub(core.snd_nxt) > self.queued * core.mss
    }

    /// Sends the waiting packets, the oldest first (`flush_packets`). A part of a packet leaves
    /// only if nothing else is out.
    fn flush(&mut self, core: &mut Core, now: Instant) {
        loop {
            if let Some((position, record)) = core.scoreboard.next_lost() {
                if !self.is_writable(core, record.len.into()) {
                    return;
                }
                self.send_again(core, now, position);
                continue;
            }
            let payload = Self::next_payload(core);
            let in_part = payload < core.mss && self.queued == 1 && self.packets(core) > 1;
            if self.queued == 0
                || in_part
                || !self.is_writable(core, if payload == 0 { core.mss } else { payload })
            {
                return;
            }
            self.send_queued(core, now);
        }
    }

    /// True if a packet of `len` bytes may be queued, or leave.
    fn is_writable(&self, core: &Core, len: u64) -> bool {
        let window = Self::fine_window(core);
        let out = core.scoreboard.pipe();
        // With a window of less than a packet, one packet may exceed it, if the quota allows.
        let fits = out + core.mss <= window || (window < len && out < window && self.packets(core) == 0);
        self.quota / 100 >= len && self.packets(core) < QUEUE && fits
    }

    /// Returns the number of packets from the oldest that is out to the last that is queued.
    fn packets(&self, core: &Core) -> u64 {
        core.scoreboard.next_position() - core.scoreboard.first() + self.queued
    }

    /// The window in bytes, which may be less than a packet.
    fn fine_window(core: &Core) -> u64 {
        core.controller.pacing().fine_window.unwrap_or(core.cwnd)
    }

    /// Payload of the first packet that never left; that of a FIN alone is empty.
    fn next_payload(core: &Core) -> u64 {
        core.mss.min(core.data_end.saturating_sub(core.snd_nxt))
    }

    fn send_queued(&mut self, core: &mut Core, now: Instant) {
        let payload = Self::next_payload(core);
        // The quota paces packets only while the window is less than one (`send_packet`).
        if Self::fine_window(core) < core.mss {
            self.quota = self.quota.saturating_sub(payload * 100);
        }
        self.queued -= 1;
        let segment = self.send_new(core, now, payload);
        self.out.push_back(segment);
    }

    fn send_again(&mut self, core: &mut Core, now: Instant, position: u64) {
        if let Some(record) = core.scoreboard.record(position) {
            let segment = self.retransmit(core, now, position, record);
            self.out.push_back(segment);
        }
    }

    /// The quota grows by a window per least round-trip time, in whole milliseconds. It also grows
    /// for large windows, which do not spend it. (libutp by mistake adds a hundredth of a byte for
    /// each byte of the window if that is much.)
    fn fill_quota(&mut self, core: &mut Core, now: Instant) {
        let passed = ticks(now) - self.filled;
        self.filled = ticks(now);
        let hundredfold = Self::fine_window(core).saturating_mul(100);
        let rtt = self.least_rtt.filter(|&least| least > 0).unwrap_or(UNKNOWN_RTT);
        let more = hundredfold.saturating_mul(passed) / rtt;
        let is_much = more > hundredfold && more > MOST_GROWTH * 100;
        let more = if is_much { hundredfold / 100 } else { more };
        self.quota = self.quota.saturating_add(more);
    }
}

/// Returns the blocks that libutp's selective acknowledgement can report: the packets after the
/// missing one, as many as its mask has bits.
fn within_mask(segment: &Segment, mss: u64) -> SackBlocks {
    let end_of_mask = segment.ack + (1 + MASK_BITS) * mss;
    let mut told = SackBlocks::NONE;
    for (start, end) in segment.sack.iter(segment.ack).filter(|(start, _)| *start < end_of_mask) {
        told.push(segment.ack, start, end.min(end_of_mask));
    }
    told
}

/// Bytes in order beyond which an ACK goes at once (`DELAYED_ACK_BYTE_THRESHOLD`).
const ENOUGH_BYTES: u64 = 2400;
/// Milliseconds after which an ACK has waited long enough (`DELAYED_ACK_TIME_THRESHOLD`): usually,
/// with something missing, and after an old packet.
const PATIENCE: u64 = 5;
const PATIENCE_AT_GAPS: u64 = 1;
const PATIENCE_WITH_OLD: u64 = 50;

/// libutp's receiver. Its program looks when a packet comes, or 50 ms later. It then acknowledges
/// packets that have waited long enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LibutpReceiver {
    /// When an ACK is due, if the program looks, in milliseconds.
    ack_by: Option<u64>,
}

impl ReceiverStack for LibutpReceiver {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn on_duplicate(&mut self, intake: &mut Intake, now: Instant, _segment: &Segment) {
        intake.stats.duplicates += 1;
        self.acknowledge(intake, now, PATIENCE_WITH_OLD);
    }

    fn answer(&mut self, intake: &mut Intake, now: Instant, _segment: &Segment, _arrival: &InOrder) {
        self.acknowledge(intake, now, PATIENCE);
    }

    fn answer_early(&mut self, intake: &mut Intake, now: Instant, _segment: &Segment, held: EarlySegment) {
        if held.is_duplicate {
            self.look(intake, now);
        } else {
            self.acknowledge(intake, now, PATIENCE_AT_GAPS);
        }
    }

    fn on_acknowledged(&mut self) {
        self.ack_by = None;
    }
}

impl LibutpReceiver {
    /// An ACK is due in at most `patience` milliseconds, once the program looks.
    fn acknowledge(&mut self, intake: &mut Intake, now: Instant, patience: u64) {
        let by = ticks(now) + patience;
        self.ack_by = Some(self.ack_by.map_or(by, |earlier| earlier.min(by)));
        self.look(intake, now);
    }

    fn look(&self, intake: &mut Intake, now: Instant) {
        let Some(by) = self.ack_by else { return };
        let is_enough = intake.rcv_nxt - intake.acknowledged > ENOUGH_BYTES || intake.fin_received;
        intake.ack_due = is_enough || ticks(now) >= by;
        intake.timer = Some(now + intake.config.delayed_ack.timeout);
    }
}

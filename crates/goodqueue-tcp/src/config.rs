//! The settings of a connection.
//!
//! Stacks give settings their values: those of the RFCs, which are the default, are
//! [`Config::RFC`].

use alloc::format;
use alloc::string::{String, ToString};

use goodqueue::{ConfigError, Duration, Ecn};

use crate::accecn::{ALL_FIELDS, wire_len};
use crate::hystart::HyStart;
use crate::mechanism::Mechanism;
use crate::segment::{HEADER, TIMESTAMPS};
use crate::stack_info::{AckCarrier, EcnFeedback, StackInfo};
use crate::timers::Timers;

/// Largest window that window scaling can express: 65535 · 2^14 bytes (RFC 7323 §2.2 and §2.3).
pub const MAX_WINDOW: u32 = 65_535 << 14;
/// Largest payload of an IPv4 packet without options: 65,535 − 40 bytes.
pub const MAX_MSS: u32 = 65_495;

/// When a receiver acknowledges data that arrived in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Number of segments after which an ACK is sent; 1 acknowledges each at once. Default 2 (RFC
    /// 5681 §4.2).
    pub every: u32,
    /// Acknowledge after this time at the latest. Default 40 ms, Linux's `TCP_DELACK_MIN`; the
    /// bound is 500 ms (RFC 5681 §4.2).
    pub timeout: Duration,
}

impl DelayedAck {
    /// An ACK for each segment.
    pub const OFF: Self = Self { every: 1, timeout: Duration::ZERO };
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { every: 2, timeout: Duration::from_millis(40) }
    }
}

/// Whether wrong reductions of the window are taken back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum UndoRule {
    /// They stay.
    #[default]
    Never,
    /// The rate is halved over a round trip after a timeout that was wrong. Other reductions are
    /// taken back whole. After a timeout no segment is taken for lost at first. The oldest segment
    /// is sent again, the first ACK that advances releases two new segments, and the next ACK
    /// decides (RFC 4138 appendix B; Linux up to 3.9 with `tcp_frto` 2 and `tcp_frto_response` 0).
    Halved,
    /// The window and the threshold become what they were before the reduction.
    Whole,
}

/// How a receive buffer follows the rate, with [`Config::adaptive_acks`] and timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferTuning {
    /// Rule by which the buffer grows.
    pub growth: BufferGrowth,
    /// Buffer of a new connection, in bytes.
    pub initial: u64,
    /// First window in full segments; `None`: all that the buffer allows.
    pub first_window: Option<u64>,
    /// Memory in bytes that a segment is assumed to take beside its payload.
    pub overhead: u64,
    /// Memory in bytes that a segment takes beside its payload.
    pub taken: u64,
    /// Unread segments that follow each other share the memory beside their payload.
    pub joins: bool,
    /// Largest buffer in bytes (`tcp_rmem`).
    pub most: u64,
    /// Windows are announced in multiples of this power of two, by the window scale that `most`
    /// gives.
    pub scale: u64,
}

/// Rule by which a receive buffer grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferGrowth {
    /// In proportion to the growth of the rate, with the share of each segment's memory that is
    /// payload (Linux 7.3).
    Measured,
    /// In proportion to the growth of the rate (Linux 6.1).
    Proportional,
    /// By half where the rate grew by a quarter, and twice where it grew by half (Linux 3.14).
    Stepwise,
    /// To twice the data of a round trip (Linux 3.2).
    TwoRoundTrips,
}

impl Default for BufferTuning {
    /// Returns the tuning of Linux 6.1.
    fn default() -> Self {
        Self::LINUX_6
    }
}

impl BufferTuning {
    /// Linux 6.1: the default of `tcp_rmem`, and the overhead that `tcp_rcv_space_adjust` assumes.
    pub(crate) const LINUX_6: Self = Self {
        growth: BufferGrowth::Proportional,
        initial: 131_072,
        first_window: None,
        // 256 bytes for headers (`MAX_TCP_HEADER`), 256 for the `sk_buff` and 320 for the
        // `skb_shared_info`.
        overhead: 832,
        // 1024 bytes for headers, the power of two that holds 256 and the 320 of the
        // `skb_shared_info`, and 256 for the `sk_buff`.
        taken: 1280,
        joins: true,
        most: 6_291_456,
        // 65,535 · 64 bytes are less than `most` (`tcp_select_initial_window`).
        scale: 128,
    };

    /// Linux 7.3 on a host with 4 GB of memory: 640 bytes for headers and 256 for the `sk_buff`.
    pub(crate) const LINUX_7: Self = Self {
        growth: BufferGrowth::Measured,
        overhead: 896,
        taken: 896,
        most: 33_554_432,
        // 65,535 · 512 bytes are a little less than `most`.
        scale: 1024,
        ..Self::LINUX_6
    };

    /// Returns the largest window in bytes, that of full segments of an Ethernet.
    #[must_use]
    pub const fn most_window(&self) -> u64 {
        match self.growth {
            // 1448 bytes are a full segment with timestamps.
            BufferGrowth::Measured => self.most * 1448 / (1448 + self.taken),
            // Half of the buffer is for bookkeeping (`tcp_adv_win_scale` 1).
            _ => self.most / 2,
        }
    }
}

/// How long SACKs wait for further ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SackDelay {
    /// Longest time (`tcp_comp_sack_delay_ns`); 0: they do not wait.
    pub most: Duration,
    /// Largest part of the RTT, in percent (`tcp_comp_sack_rtt_percent`).
    pub percent: u32,
    /// By how much the timer may be late, and is (`tcp_comp_sack_slack_ns`).
    pub slack: Duration,
    /// The SACK that leaves bears the time at which it leaves, otherwise that of the last data
    /// (`tcp_compressed_ack_kick`).
    pub reads_clock: bool,
}

impl SackDelay {
    /// They do not wait.
    pub const NONE: Self =
        Self { most: Duration::ZERO, percent: 0, slack: Duration::ZERO, reads_clock: true };

    /// Linux 6.1, where the part of the RTT is no setting.
    pub const LINUX_6: Self = Self {
        most: Duration::from_millis(1),
        percent: 5,
        slack: Duration::from_micros(100),
        reads_clock: false,
    };

    /// Linux 7.3.
    pub const LINUX_7: Self =
        Self { percent: 33, slack: Duration::from_micros(10), reads_clock: true, ..Self::LINUX_6 };

    /// Whether SACKs wait at all.
    #[must_use]
    #[inline]
    pub const fn waits(&self) -> bool {
        !self.most.is_zero()
    }

    /// The time from the first SACK that waits to the one that leaves, with this RTT.
    pub(crate) fn of_rtt(&self, rtt: Duration) -> Duration {
        let part = Duration::from_nanos(rtt.as_nanos().saturating_mul(self.percent.into()) / 100);
        // The timer runs out at the end of its slack, where nothing else wakes the processor
        // earlier.
        self.most.min(part) + self.slack
    }
}

/// How much data the application can hand over at a time, if segments do not leave in
/// [bursts](Config::bursts).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SendTuning {
    /// All of it.
    #[default]
    Unlimited,
    /// Two windows. The buffer grows only when an ACK finds the window with room, and the
    /// application sleeps until a third of the buffer is free (Linux without segmentation offload).
    TwoWindows(SegmentMemory),
}

/// The memory of segments in a send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentMemory {
    /// Bytes that a full segment takes.
    pub taken: u32,
    /// Bytes that the buffer reserves for each segment of a window.
    pub reserved: u32,
    /// Number of segments that the first buffer reserves memory for.
    pub first: u32,
    /// Least window in segments that a later buffer reserves memory for.
    pub least_window: u32,
}

/// How the retransmission timeout follows from the RTT samples.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RtoRule {
    /// RFC 6298.
    #[default]
    Rfc6298,
    /// The variance is the largest mean deviation of the last round trips. It falls slowly and
    /// never below a quarter of `min_rto`, so that the timeout is at least SRTT + `min_rto` (Linux
    /// 2.4 to 6.x).
    PeakDeviation,
    /// The same in whole ticks of 1 ms: eight times the smoothed RTT and four times the deviation
    /// are whole numbers, so both are a little too large in the mean (Linux up to 3.14).
    PeakTicks,
    /// RFC 6298 in whole milliseconds. Any ACK ends the back-off, also the ACK of a segment that
    /// was sent twice (libutp).
    WholeMilliseconds,
    /// As in 4.3BSD: one segment per round trip is timed in whole ticks of [`Config::tick`], and
    /// the estimates have three and two binary places (ns-2.35).
    Ticks,
    /// Like `Ticks`, from the timestamp of each ACK. Samples below the mean count an eighth, and
    /// the back-off ends with the ACK of the first new segment after the timeout (ns-2.35's
    /// Agent/TCP/Linux).
    StampedTicks,
}

/// By how much an ACK lets the window grow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Growth {
    /// By the bytes that it acknowledges, in slow start by at most one segment (RFC 5681 §3.1; RFC
    /// 3465 with L = 1).
    #[default]
    Abc,
    /// By one segment's worth for any ACK of new data (ns-2; Linux up to 3.12).
    PerAck,
    /// In slow start by all bytes that it acknowledges, up to the threshold. Beyond the threshold
    /// by one segment's worth (Linux 3.13 to 3.19).
    SlowStart,
    /// By all segments that it reports as delivered, selectively or not. The segments that slow
    /// start did not use count in congestion avoidance (Linux from 4.0 on).
    Delivered,
}

/// Settings of a connection; both ends get the same ones. The default is what the RFCs recommend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Maximum segment size without options, in bytes of payload. Default 1460: Ethernet's 1500
    /// less 40 (RFC 9293 §3.7.1). Timestamps take 12 bytes of it: see [`payload`](Self::payload).
    pub mss: u32,
    /// Initial window in segments. Default 10 (RFC 6928 §2); RFC 3390 §1 gives 3 at this MSS.
    pub iw: u32,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Selective acknowledgements (RFC 2018, RFC 6675) and DSACK (RFC 2883). Default on. Off:
    /// NewReno (RFC 6582).
    pub sack: bool,
    /// Ask for ECN, or agree to it when asked (RFC 3168 §6.1.1). Default off.
    pub ecn: bool,
    /// Ask for Accurate ECN first (RFC 9768): each ACK reports how many packets and bytes arrived
    /// with a mark. An end that does not know it agrees to classic ECN. Default off; needs
    /// [`ecn`](Self::ecn) and a stack [that has it](crate::Mechanism::AccurateEcn).
    pub accecn: bool,
    /// Data carries the AccECN option too, which takes 12 bytes of each segment (Linux 7.3,
    /// `tcp_ecn_option` 2). Default off: only ACKs and the handshake carry it.
    pub counters_on_data: bool,
    /// Timestamps option in every segment (RFC 7323 §3.2). Default off.
    pub timestamps: bool,
    /// Measure the delivery rate that Linux reports (`tcpi_delivery_rate`), see
    /// [`mean_delivery_rate`](crate::Sender::mean_delivery_rate). Default off. The sender sends the
    /// same, but an ACK costs more time.
    pub reports_rate: bool,
    /// Least retransmission timeout. Default 1 s (RFC 6298 §2.4); Linux has 200 ms.
    pub min_rto: Duration,
    /// Retransmission timeout before the first RTT sample. Default 1 s (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Round-trip time of earlier connections to the same host. The smoothed RTT begins with it if
    /// the handshake's RTT is shorter (Linux up to 3.5 with `tcp_no_metrics_save` 0:
    /// `tcp_update_metrics`, `tcp_init_metrics`). Default 0: nothing is remembered; needs
    /// [`timed_by_stamps`](Self::timed_by_stamps).
    pub remembered_rtt: Duration,
    /// Mean deviation of [`remembered_rtt`](Self::remembered_rtt); after one connection it is as
    /// large. Default 0; at most a day.
    pub remembered_rttvar: Duration,
    /// Greatest retransmission timeout. Default 60 s, the least that RFC 6298 §2.5 allows; Linux
    /// has 120 s.
    pub max_rto: Duration,
    /// [`prr`](Self::prr) is for losses only. After marks, and after drops by the host's own queue,
    /// each second ACK takes a segment from the window. An ACK of anything unusual leaves room for
    /// at most three segments (Linux up to 3.6). Default off.
    pub rate_halving: bool,
    /// A segment that the host's own queue refuses was not sent: it is offered again with the next
    /// ACK, or by the timer (Linux). Default off: the segment counts as sent, and is found lost.
    pub offers_again: bool,
    /// New data on the first two duplicate ACKs (RFC 3042). Default on.
    pub limited_transmit: bool,
    /// Proportional Rate Reduction (RFC 9937) in recovery by SACK. Default on. Off: the window is
    /// cut at once (RFC 6675 §5). Without SACK the window is always inflated and deflated as in RFC
    /// 6582 §3.2.
    pub prr: bool,
    /// Lower the window after an idle time longer than the RTO: to the initial window (RFC 5681
    /// §4.1), or as the stack does it. Default on.
    pub idle_restart: bool,
    /// Largest receive window in bytes. Default: the largest possible one, which never limits (RFC
    /// 7323 §2.2). With [`adaptive_acks`](Self::adaptive_acks) and timestamps the window begins at
    /// 64 kB and grows with the rate up to the largest one of
    /// [`buffer_tuning`](Self::buffer_tuning).
    pub rwnd: u32,
    /// Slow-start threshold at the start, in bytes. Default: arbitrarily high (RFC 5681 §3.1).
    pub initial_ssthresh: u64,
    /// The algorithm that ends slow start before a loss does. Default: the controller's own, if it
    /// has one.
    pub hystart: HyStart,
    /// Whose sender and receiver the connection has; this decides how losses are found. Default:
    /// the stack of the RFCs. The settings of a [profile](crate::Profile) name its stack.
    pub stack: &'static StackInfo,
    /// Probe for a lost tail after two round trips (RFC 8985 §7). Default off; needs SACK.
    pub tail_loss_probe: bool,
    /// With fewer than four segments out and nothing to send, any SACK means loss, a quarter of the
    /// RTT later (after RFC 5827 §3.2 and appendix A; Linux 3.10 to 4.13). Default off; needs a
    /// stack [that can](crate::Mechanism::EarlyRetransmit).
    pub early_retransmit: bool,
    /// Take a reduction back if it turns out that nothing was lost: DSACK (RFC 3708), timestamps
    /// (RFC 4015), and F-RTO after a timeout (RFC 5682, RFC 4138). Default never; needs a stack
    /// [that can](crate::Mechanism::Undo).
    pub undo: UndoRule,
    /// How the retransmission timeout follows from the samples. Default RFC 6298.
    pub rto_rule: RtoRule,
    /// The timestamp of each ACK that advances gives the RTT sample, and SACKs give none (Linux up
    /// to 3.11). Default off; has an effect with [`timestamps`](Self::timestamps) only.
    pub timed_by_stamps: bool,
    /// In fast recovery by SACK each retransmission restarts the retransmission timer. RFC 6675 §6
    /// allows this for recoveries that last longer than the timeout. Default on.
    pub rearm_in_recovery: bool,
    /// Step in which round-trip times are measured, as by a coarse clock. Default 0: exact.
    pub tick: Duration,
    /// How long before the origin of time the current tick of that clock began, less than `tick`.
    /// Default 0. An agent of ns-2 starts its clock at a random time (`boot_time_`, uniform below
    /// `tcpTick_`), which the simulator draws from the seed.
    pub tick_phase: Duration,
    /// How far an ACK lets the window grow. Default: bytes, with L = 1.
    pub growth: Growth,
    /// The window counts whole segments, and a reduction starts from the window and not from the
    /// bytes in flight. Marks reduce the window over a round trip as losses do. The window grows
    /// only while it limits sending (Linux). Default off.
    pub whole_segments: bool,
    /// Segments leave in bursts of two, or of the segments that 1 ms at twice the rate carries if
    /// these are more. The rest of the window waits for the next ACK, and the last segment of a
    /// burst carries PSH (Linux from 4.20 on). Default off.
    pub bursts: bool,
    /// Memory in bytes that a piece of the send buffer takes beside its payload, with
    /// [`bursts`](Self::bursts): 1280 in Linux 6.1 and 896 in 7.3, without IPv6. Default 1280.
    pub piece_overhead: u32,
    /// With [`bursts`](Self::bursts), a burst for which a piece of the send buffer has too little
    /// takes data of the next one (`tcp_grow_skb` of Linux 7.3). Default off: it ends with
    /// the piece.
    pub fills_bursts: bool,
    /// A segment with PSH, or a short one, is acknowledged at once, and so is every segment while
    /// the receive buffer grows with the rate, since the application reads at once. The delay of an
    /// ACK follows the gaps between segments, from [`DelayedAck::timeout`] up to the RTT of the
    /// handshake (Linux). Default off.
    pub adaptive_acks: bool,
    /// How the receive buffer follows the rate. Default: as in Linux 6.1.
    pub buffer_tuning: BufferTuning,
    /// How the send buffer follows the window. Default: it holds all data of the application.
    pub send_tuning: SendTuning,
    /// When timers fire. Default: exactly on time.
    pub timers: Timers,
    /// Number of ACKs that are not delayed, from the first data on, and after an idle time or a
    /// duplicate: at most one for two segments of the window, and 2 where not even two fit (Linux
    /// `tcp_incr_quickack`). Default 0; Linux has 16.
    pub quick_acks: u32,
    /// The ACKs after each segment out of order, and after the first mark, are quick as well (Linux
    /// up to 4.17, `tcp_enter_quickack_mode` in `tcp_data_queue`). Default off.
    pub quick_after_gap: bool,
    /// How long SACKs wait for further ones, after three duplicate ACKs. Default: they do not wait.
    pub sack_delay: SackDelay,
    /// A timeout discards all SACKs (RFC 2018 §8; ns-2). Default off (RFC 6675 §5.1).
    pub forget_on_timeout: bool,
    /// The receiver echoes each segment's own mark instead of latching until CWR (RFC 8257 §3.2).
    /// Default off.
    pub accurate_ecn_echo: bool,
    /// With accurate echo all segments are ECN-capable, also SYNs, ACKs and retransmissions (Linux
    /// for controllers that need ECN, `tcp_ca_needs_ecn`, since 3.18). With
    /// [`accecn`](Self::accecn) alone all but SYNs are (Linux 7.3). Default off: new data only (RFC
    /// 3168 §6.1.4, §6.1.5).
    pub ecn_on_all: bool,
    /// ECN-capable segments carry ECT(1), the identifier of L4S (RFC 9331 §4.1), instead of ECT(0).
    /// Needs `accurate_ecn_echo`. Default off.
    pub l4s: bool,
    /// The timestamps of an ACK belong to the arrival of the newest segment. Their difference is
    /// that segment's one-way delay, even if the ACK waited (libutp's `reply_micro`). Default off:
    /// RFC 7323 §4.3.
    pub stamps_arrival: bool,
}

impl Config {
    /// Payload of a full segment in bytes (the SMSS of RFC 5681 §2): the MSS less the options that
    /// every segment carries (RFC 9293 §3.7.1).
    #[must_use]
    pub const fn payload(&self) -> u32 {
        let payload = self.mss.saturating_sub(self.options());
        // `check` refuses such an MSS, but no division by the payload may fail before it.
        if payload == 0 { 1 } else { payload }
    }

    /// Bytes of the headers of a segment: IP, TCP and the options that every segment carries.
    pub(crate) const fn headers(&self) -> u32 {
        HEADER + self.options()
    }

    /// Bytes of the options that every segment carries.
    const fn options(&self) -> u32 {
        let timestamps = if self.timestamps { TIMESTAMPS } else { 0 };
        let counters = if self.accecn && self.counters_on_data { wire_len(ALL_FIELDS) } else { 0 };
        timestamps + counters
    }

    /// Returns true if wrong reductions are taken back.
    #[must_use]
    #[inline]
    pub const fn undoes(&self) -> bool {
        !matches!(self.undo, UndoRule::Never)
    }

    /// Returns true if ACKs and retransmissions are ECN-capable too.
    #[must_use]
    #[inline]
    pub const fn covers_all_by_ecn(&self) -> bool {
        self.ecn && (self.accurate_ecn_echo || self.accecn) && self.ecn_on_all
    }

    /// Returns true if SYNs are ECN-capable: for controllers that need ECN.
    #[must_use]
    pub const fn covers_syn_by_ecn(&self) -> bool {
        self.ecn && self.accurate_ecn_echo && self.ecn_on_all
    }

    /// Returns true if the counter of ECT(1) bytes comes first in AccECN options.
    pub(crate) const fn puts_ect1_first(&self) -> bool {
        matches!(self.stack.ecn_feedback, EcnFeedback::Linux) || self.l4s
    }

    /// Returns the ECN field of ECN-capable segments.
    #[must_use]
    #[inline]
    pub const fn capable(&self) -> Ecn {
        if self.l4s { Ecn::Ect1 } else { Ecn::Ect0 }
    }

    /// Data carries the acknowledgement of data in the other direction, and a server closes when
    /// the client has closed. The other stacks send data in one direction.
    #[must_use]
    #[inline]
    pub const fn carries_acks(&self) -> bool {
        matches!(self.stack.ack_carrier, AckCarrier::DataToo)
    }

    /// The settings may have a [`remembered_rtt`](Self::remembered_rtt).
    #[must_use]
    pub const fn may_remember(&self) -> bool {
        self.timed_by_stamps
    }

    /// Whether a connection can be made with these values.
    ///
    /// # Errors
    /// Names the first field out of range, with what was given and what is allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        // A full segment carries a byte at least.
        let least_mss = self.options() + 1;
        if !(least_mss..=MAX_MSS).contains(&self.mss) {
            let allowed = format!("{least_mss} to {MAX_MSS} bytes");
            return Err(ConfigError::new("mss", self.mss.to_string(), allowed));
        }
        let in_range = [
            ("iw", (1..=1_000_000).contains(&self.iw), "1 to 1000000 segments"),
            ("delayed_ack.every", self.delayed_ack.every >= 1, "at least 1 segment"),
            ("rwnd", self.rwnd <= MAX_WINDOW, "at most 1073725440 bytes"),
            ("initial_ssthresh", self.initial_ssthresh >= 1, "at least 1 byte"),
            ("tail_loss_probe", self.sack || !self.tail_loss_probe, "false without SACK"),
            (
                "l4s",
                // Classic feedback is too coarse for ECT(1) (RFC 9331 §4.2).
                (self.ecn && self.accurate_ecn_echo) || !self.l4s,
                "false without ECN and its accurate echo",
            ),
            ("accecn", self.ecn || !self.accecn, "false without ECN"),
            (
                "remembered_rtt",
                self.may_remember() || self.remembered_rtt.is_zero(),
                "0s unless timestamps give the RTT samples",
            ),
            ("quick_acks", self.quick_acks <= 1_000_000, "at most 1000000"),
        ];
        for (field, good, allowed) in in_range {
            if !good {
                return Err(ConfigError::new(field, self.given(field), allowed));
            }
        }
        self.check_stack()?;
        self.check_times()
    }

    /// Checks that the stack has what the settings ask for.
    fn check_stack(&self) -> Result<(), ConfigError> {
        let stack = self.stack;
        let demands = [
            (Mechanism::RecoveryWithoutSack, "sack", !self.sack, "false", "true"),
            (Mechanism::TailLossProbe, "tail_loss_probe", self.tail_loss_probe, "true", "false"),
            (Mechanism::EarlyRetransmit, "early_retransmit", self.early_retransmit, "true", "false"),
            (Mechanism::OfferAgain, "offers_again", self.offers_again, "true", "false"),
            (Mechanism::AdaptiveAcks, "adaptive_acks", self.adaptive_acks, "true", "false"),
            (Mechanism::AdaptiveAcks, "quick_acks", self.quick_acks > 0, "more than 0", "0"),
            (Mechanism::AdaptiveAcks, "quick_after_gap", self.quick_after_gap, "true", "false"),
            (Mechanism::AdaptiveAcks, "sack_delay.most", self.sack_delay.waits(), "more than 0s", "0s"),
            (Mechanism::AccurateEcn, "accecn", self.accecn, "true", "false"),
            (Mechanism::Undo, "undo", self.undoes(), "a rule", "never"),
        ];
        for (mechanism, field, demanded, given, allowed) in demands {
            if demanded && !stack.has(mechanism) {
                return Err(ConfigError::new(
                    field,
                    given,
                    format!("{allowed} with the stack `{}`", stack.name),
                ));
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        // Times are at most a day, so that a doubled timeout stays far from the end of the clock.
        let day = Duration::from_secs(86_400);
        let millisecond = Duration::from_millis(1);
        let times = [
            ("min_rto", self.min_rto, Duration::from_nanos(1), self.max_rto, "1ns to max_rto"),
            ("initial_rto", self.initial_rto, millisecond, self.max_rto, "1ms to max_rto"),
            ("max_rto", self.max_rto, millisecond, day, "1ms to 86400s"),
            ("remembered_rtt", self.remembered_rtt, Duration::ZERO, day, "at most 86400s"),
            ("remembered_rttvar", self.remembered_rttvar, Duration::ZERO, day, "at most 86400s"),
            ("tick", self.tick, Duration::ZERO, Duration::from_secs(1), "at most 1s"),
            ("tick_phase", self.tick_phase, Duration::ZERO, self.tick, "at most tick"),
            ("sack_delay.most", self.sack_delay.most, Duration::ZERO, Duration::from_secs(1), "at most 1s"),
            ("sack_delay.slack", self.sack_delay.slack, Duration::ZERO, Duration::from_secs(1), "at most 1s"),
            ("delayed_ack.timeout", self.delayed_ack.timeout, Duration::ZERO, day, "at most 86400s"),
        ];
        for (field, given, low, high, allowed) in times {
            if given < low || given > high {
                return Err(ConfigError::new(field, given.to_string(), allowed));
            }
        }
        Ok(())
    }

    fn given(&self, field: &str) -> String {
        match field {
            "iw" => self.iw.to_string(),
            "delayed_ack.every" => self.delayed_ack.every.to_string(),
            "rwnd" => self.rwnd.to_string(),
            "tail_loss_probe" | "l4s" | "accecn" => String::from("true"),
            "quick_acks" => self.quick_acks.to_string(),
            "remembered_rtt" => self.remembered_rtt.to_string(),
            // The only field of the list that is left.
            _ => self.initial_ssthresh.to_string(),
        }
    }
}

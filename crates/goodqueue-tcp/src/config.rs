//! What can be set on a connection, with defaults that cite their source.

use alloc::string::{String, ToString};

use goodqueue::{ConfigError, Duration};

use crate::segment::TIMESTAMPS;

/// Largest window that window scaling can express: 65535 · 2^14 bytes (RFC 7323 §2.2 and §2.3).
pub const MAX_WINDOW: u32 = 65_535 << 14;
/// Largest payload of an IPv4 packet without options: 65,535 − 40 bytes.
pub const MAX_MSS: u32 = 65_495;

/// When a receiver acknowledges data that arrived in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Acknowledge every so many segments; 1 acknowledges each at once. Default 2 (RFC 5681 §4.2).
    pub every: u32,
    /// Acknowledge after this time at the latest. Default 40 ms, Linux's `TCP_DELACK_MIN`; the bound is 500 ms
    /// (RFC 5681 §4.2).
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

/// Parameters of a connection; both ends get the same. The default is what the RFCs recommend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Maximum segment size without options, in bytes of payload. Default 1460: Ethernet's 1500 less 40
    /// (RFC 9293 §3.7.1). Timestamps take 12 bytes of it: see [`payload`](Self::payload).
    pub mss: u32,
    /// Initial window in segments. Default 10 (RFC 6928 §2); RFC 3390 §1 gives 3 at this MSS.
    pub iw: u32,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Selective acknowledgements (RFC 2018, RFC 6675) and DSACK (RFC 2883). Default on. Off: NewReno (RFC 6582).
    pub sack: bool,
    /// Ask for ECN, or agree to it when asked (RFC 3168 §6.1.1). Default off.
    pub ecn: bool,
    /// Timestamps option in every segment (RFC 7323 §3.2). Default off.
    pub timestamps: bool,
    /// Least retransmission timeout. Default 1 s (RFC 6298 §2.4); Linux has 200 ms.
    pub min_rto: Duration,
    /// Retransmission timeout before the first RTT sample. Default 1 s (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Greatest retransmission timeout. Default 60 s, the least that RFC 6298 §2.5 allows; Linux has 120 s.
    pub max_rto: Duration,
    /// New data on the first two duplicate ACKs (RFC 3042). Default on.
    pub limited_transmit: bool,
    /// Proportional Rate Reduction (RFC 9937) in recovery by SACK. Default on. Off: the window is cut at once
    /// (RFC 6675 §5). Without SACK the window is always inflated and deflated as in RFC 6582 §3.2.
    pub prr: bool,
    /// Restart from the initial window after an idle time longer than the RTO (RFC 5681 §4.1). Default on.
    pub idle_restart: bool,
    /// Receive window in bytes. Default: the largest there is, so that it never limits (RFC 7323 §2.2).
    pub rwnd: u32,
    /// Slow-start threshold at the start, in bytes. Default: arbitrarily high (RFC 5681 §3.1).
    pub initial_ssthresh: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            iw: 10,
            delayed_ack: DelayedAck::default(),
            sack: true,
            ecn: false,
            timestamps: false,
            min_rto: Duration::from_secs(1),
            initial_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            limited_transmit: true,
            prr: true,
            idle_restart: true,
            rwnd: MAX_WINDOW,
            initial_ssthresh: u64::MAX,
        }
    }
}

impl Config {
    /// Payload of a full segment in bytes (the SMSS of RFC 5681 §2): the MSS less the timestamps option, which every
    /// segment carries (RFC 9293 §3.7.1).
    #[must_use]
    pub const fn payload(&self) -> u32 {
        let options = if self.timestamps { TIMESTAMPS } else { 0 };
        let payload = self.mss.saturating_sub(options);
        if payload == 0 { 1 } else { payload }
    }

    /// Whether a connection can be made with these values.
    ///
    /// # Errors
    /// Names the first field out of range, with what was given and what is allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        let least_mss = if self.timestamps { TIMESTAMPS + 1 } else { 1 };
        if !(least_mss..=MAX_MSS).contains(&self.mss) {
            let allowed = if self.timestamps { "13 to 65495 bytes" } else { "1 to 65495 bytes" };
            return Err(ConfigError::new("mss", self.mss.to_string(), allowed));
        }
        let in_range = [
            ("iw", (1..=1_000_000).contains(&self.iw), "1 to 1000000 segments"),
            ("delayed_ack.every", self.delayed_ack.every >= 1, "at least 1 segment"),
            ("rwnd", self.rwnd <= MAX_WINDOW, "at most 1073725440 bytes"),
            ("initial_ssthresh", self.initial_ssthresh >= 1, "at least 1 byte"),
        ];
        for (field, good, allowed) in in_range {
            if !good {
                return Err(ConfigError::new(field, self.given(field), allowed));
            }
        }
        // Time is bounded by a day so that a doubled time-out stays far from the end of the clock.
        let day = Duration::from_secs(86_400);
        let millisecond = Duration::from_millis(1);
        let times = [
            ("min_rto", self.min_rto, Duration::from_nanos(1), self.max_rto, "1ns to max_rto"),
            ("initial_rto", self.initial_rto, millisecond, self.max_rto, "1ms to max_rto"),
            ("max_rto", self.max_rto, millisecond, day, "1ms to 86400s"),
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
            _ => self.initial_ssthresh.to_string(),
        }
    }
}

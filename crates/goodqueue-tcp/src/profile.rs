//! Stack profiles: all settings of sender and receiver at once, as some system had them. A profile
//! is a table of settings; the code knows none of them.

use goodqueue::Duration;

use crate::config::{BufferTuning, Config, DelayedAck, Growth, LossDetection, RtoRule, SendTuning, UndoRule};
use crate::registry::AnyCongestionControl;
use crate::timers::Timers;

/// A profile.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// One sentence: whose TCP it is.
    pub summary: &'static str,
    /// All settings.
    pub settings: Config,
    /// What a congestion controller's name means here, where that is not the controller of that
    /// name.
    pub controllers: &'static [(&'static str, &'static str)],
    /// Where the settings come from, one line each.
    pub sources: &'static [&'static str],
}

impl Profile {
    /// The profile of this name; `None` if there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// A fresh congestion controller of this name, in this profile's variant; `None` if there is
    /// none.
    #[must_use]
    pub fn controller(&self, name: &str) -> Option<AnyCongestionControl> {
        let variant = self.controllers.iter().find(|(plain, _)| *plain == name);
        AnyCongestionControl::by_name(variant.map_or(name, |(_, variant)| variant))
    }
}

/// All profiles, the default first.
#[must_use]
pub const fn profiles() -> &'static [Profile] {
    PROFILES
}

const NS2_CONTROLLERS: &[(&str, &str)] =
    &[("newreno", "newreno_ns2"), ("reno", "newreno_ns2"), ("ledbat", "ledbat_ns2"), ("nice", "nice_ns2")];
const LINUX_CONTROLLERS: &[(&str, &str)] = &[("cubic", "cubic_linux")];

const PROFILES: &[Profile] = &[
    Profile {
        name: "rfc",
        summary: "what the RFCs recommend",
        settings: Config::RFC,
        controllers: &[],
        sources: &["each setting cites its RFC, see Config"],
    },
    Profile {
        name: "linux",
        summary: "Linux 6.1: RACK-TLP, PRR, timestamps, quick ACKs, compressed SACKs, HyStart",
        settings: LINUX,
        controllers: LINUX_CONTROLLERS,
        sources: &[
            "tcp_recovery=1 (RACK) and tcp_early_retrans=3 (TLP): Linux 6.1 Documentation/networking/ip-sysctl",
            "TCP_RTO_MIN 200 ms, TCP_RTO_MAX 120 s, TCP_TIMEOUT_INIT 1 s, TCP_DELACK_MIN 40 ms, TCP_MAX_QUICKACKS 16",
            "tcp_comp_sack_delay_ns 1 ms: ip-sysctl; PRR in segments from the window: RFC 6937 as in Linux 6.1",
            "send buffer from 46,080 bytes (2304 for each of 20 segments) to 4 MB, tcp_wmem: as that kernel has it, without IPv6",
            "checked against recordings of single flows and loads of Linux 6.1.192",
        ],
    },
    Profile {
        name: "linux314",
        summary: "Linux 3.14: FACK, PRR, tail loss probes, early retransmit, CUBIC with HyStart",
        settings: LINUX_314,
        controllers: LINUX_CONTROLLERS,
        sources: &[
            "read in Linux 3.14.1, net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c, tcp_cong.c, tcp_cubic.c; checked against loads of that kernel",
            "each segment out of order makes the next 16 ACKs quick (tcp_data_queue, until 4.17)",
            "tcp_fack 1 until reordering is seen, a retransmission passed by newer data is lost (tcp_mark_lost_retrans); RACK came with 4.4",
            "slow start counts acknowledged segments since 3.13 and goes on at the threshold; avoidance grows with the ACK after tcp_cong_avoid_ai's count",
            "the window counts as used with three segments to spare (tcp_is_cwnd_limited without offloads); PRR always with the slow-start bound",
            "tail loss probes and early retransmit with its delay (tcp_early_retrans 3), F-RTO as in RFC 5682, which takes what was SACKed before for original",
            "CUBIC counts ACKs and makes up for their delay (delayed_ack), HyStart is without allowance for bursts: net/ipv4/tcp_cubic.c until 3.19",
            "no segments in bursts: the testbeds of its time had offloads off; receive buffers as tcp_fixup_rcvbuf and tcp_rcv_space_adjust have them",
            "send buffer of 2304 bytes for each segment of two windows, made larger only where an ACK finds the window with room (tcp_new_space)",
        ],
    },
    Profile {
        name: "linux32",
        summary: "Linux 3.2: FACK, PRR for losses, rate halving for marks, growth per ACK, no tail loss probes",
        settings: LINUX_32,
        controllers: LINUX_CONTROLLERS,
        sources: &[
            "growth per ACK until Linux 3.12; PRR, in place of rate halving, since 3.2; the 1 s initial timeout since 3.1, ten segments at first since 2.6.39",
            "read in Linux 3.2.71, the same files; checked against single flows and loads of that kernel",
            "send buffer: 2324 bytes are reserved for a segment, which takes 4352 (tcp_new_space, __alloc_skb); receive buffer: ten segments announced at first",
            "early retransmit came with 3.5, tail loss probes with 3.10, RTT samples from SACKs with 3.12: each ACK that advances is timed by its stamp",
            "marks and drops by the host itself halve the rate (tcp_cwnd_down), the window is moderated to three segments beyond the flight (tcp_moderate_cwnd)",
            "F-RTO with SACK (tcp_enter_frto, tcp_process_frto): tcp_frto 2; a spurious timeout halves the rate, tcp_frto_response 0",
            "what the host's own queue refuses is offered again (tcp_write_xmit, tcp_retransmit_timer), also in 3.14",
        ],
    },
    Profile {
        name: "libutp",
        summary: "libutp of May 2010, for ledbat_utp: its losses, timeouts, quota and ACKs, packet by packet",
        settings: LIBUTP,
        controllers: &[("ledbat", "ledbat_utp")],
        sources: &[
            "utp.cpp of May 2010: DUPLICATE_ACKS_BEFORE_RESEND 3 by selective ACKs, no rate reduction, no slow start",
            "DELAYED_ACK_BYTE_THRESHOLD 2400 (two packets), DELAYED_ACK_TIME_THRESHOLD 5 ms, but utp_recv looks only with a packet or after 50 ms",
            "selective_ack: a mask of 30 packets, each lost one sent again once and at once, each time the window is reduced; cur_window has it until a timeout",
            "3000 ms at first, then rtt + 4 rtt_var, 500 ms at least; each ACK of something new ends the back-off",
            "one packet in the first window; timestamps stand for timestamp_microseconds and reply_micro",
            "its packets are 1466 bytes long at the IP layer: mss 1426 here; its shares beside Linux 3.2's TCP: papers/gong/README.md",
        ],
    },
    Profile {
        name: "ns2_sack1",
        summary: "ns-2.35 Agent/TCP/Sack1 with a delayed-ACK sink",
        settings: NS2,
        controllers: NS2_CONTROLLERS,
        sources: &[
            "ns-default.tcl of ns-2.35: windowInit_ 2, minrto_ 0.2, maxrto_ 60, rtxcur_init_ 3.0, tcpTick_ 0.01, singledup_ 1",
            "TCPSink/Sack1/DelAck interval_ 100 ms; what the agent does otherwise than the RFCs: tcp-sack1.cc, see stacks/ns2.rs",
            "checked against traces of single flows: the same window at every instant for 30 s",
        ],
    },
    Profile {
        name: "ns2_newreno",
        summary: "ns-2.35 Agent/TCP/Newreno with a delayed-ACK sink",
        settings: Config { sack: false, ..NS2 },
        controllers: NS2_CONTROLLERS,
        sources: &[
            "as ns2_sack1; tcp-newreno.cc; checked in the same way",
            "whole runs agree packet by packet, goodqueue validate --set-up packets",
        ],
    },
    Profile {
        name: "ns2_linux",
        summary: "ns-2.35 Agent/TCP/Linux: the CUBIC of Linux 2.6.22, every segment acknowledged",
        settings: NS2_LINUX,
        controllers: &[("cubic", "cubic_ns2"), ("ledbat", "ledbat_ns2"), ("nice", "nice_ns2")],
        sources: &[
            "ns-default.tcl of ns-2.35 as for ns2_sack1, but maxrto_ 120, ts_resetRTO_ true; TCPSink/Sack1 acknowledges every segment; timestamps_ true",
            "tcp-linux.cc and scoreboard1.cc: no handshake, lost retransmissions, rate halving, a timer that begins anew with each ACK",
            "tcp-sink.cc: what fell out of the last three SACK blocks is not reported again",
            "checked against traces of single CUBIC flows: the same packets for 30 s, but for the rounding of CUBIC's cube root",
        ],
    },
    Profile {
        name: "ns2_fulltcp",
        summary: "ns-2.35 Agent/TCP/FullTcp/Sack with 1460-byte segments, as PackMime uses it",
        settings: Config {
            iw: 4,
            delayed_ack: DelayedAck { every: 1, timeout: Duration::from_millis(400) },
            timestamps: true,
            loss_detection: LossDetection::Ns2Full,
            ..NS2
        },
        controllers: NS2_CONTROLLERS,
        sources: &[
            "ns-default.tcl of ns-2.35; segsperack_ 1, timestamps_ true and window 4 as in Nichols' codel.tcl",
            "tcp-full.cc and rq.cc, see stacks/ns2_full.rs",
        ],
    },
];

const LINUX: Config = Config {
    timestamps: true,
    min_rto: Duration::from_millis(200),
    max_rto: Duration::from_secs(120),
    loss_detection: LossDetection::Rack,
    tail_loss_probe: true,
    undo: UndoRule::Whole,
    rto_rule: RtoRule::Linux,
    rearm_in_recovery: false,
    growth: Growth::Delivered,
    whole_segments: true,
    bursts: true,
    adaptive_acks: true,
    timers: Timers::Wheel,
    quick_acks: 16,
    sack_delay: Duration::from_millis(1),
    ecn_on_all: true,
    ..Config::RFC
};

const LINUX_314: Config = Config {
    buffer_tuning: BufferTuning::Linux314,
    send_tuning: SendTuning::Linux314,
    loss_detection: LossDetection::Fack,
    early_retransmit: true,
    offers_again: true,
    growth: Growth::SlowStart,
    bursts: false,
    timers: Timers::Ticks,
    quick_after_gap: true,
    sack_delay: Duration::ZERO,
    ecn_on_all: false,
    ..LINUX
};

const LINUX_32: Config = Config {
    buffer_tuning: BufferTuning::Linux32,
    send_tuning: SendTuning::Linux32,
    growth: Growth::PerAck,
    tail_loss_probe: false,
    early_retransmit: false,
    undo: UndoRule::Halved,
    rto_rule: RtoRule::LinuxStamps,
    rate_halving: true,
    ..LINUX_314
};

const LIBUTP: Config = Config {
    iw: 1,
    delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(50) },
    timestamps: true,
    min_rto: Duration::from_millis(500),
    initial_rto: Duration::from_millis(1500),
    prr: false,
    idle_restart: false,
    loss_detection: LossDetection::Libutp,
    rearm_in_recovery: false,
    rto_rule: RtoRule::Libutp,
    stamps_arrival: true,
    ..Config::RFC
};

const NS2: Config = Config {
    iw: 2,
    delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(100) },
    min_rto: Duration::from_millis(200),
    initial_rto: Duration::from_secs(3),
    prr: false,
    loss_detection: LossDetection::Ns2,
    rto_rule: RtoRule::Ns2,
    rearm_in_recovery: false,
    tick: Duration::from_millis(10),
    growth: Growth::PerAck,
    forget_on_timeout: true,
    ..Config::RFC
};

const NS2_LINUX: Config = Config {
    max_rto: Duration::from_secs(120),
    delayed_ack: DelayedAck { every: 1, ..NS2.delayed_ack },
    timestamps: true,
    loss_detection: LossDetection::Ns2Linux,
    rto_rule: RtoRule::Ns2Linux,
    tick: Duration::from_millis(1),
    whole_segments: true,
    forget_on_timeout: false,
    ..NS2
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid_and_found_by_its_name_and_that_of_the_rfcs_comes_first() {
        for profile in profiles() {
            assert!(profile.settings.check().is_ok(), "{}", profile.name);
            assert_eq!(Profile::by_name(profile.name).map(|found| found.name), Some(profile.name));
            for name in crate::registry::names() {
                assert!(profile.controller(name).is_some());
            }
            for (plain, variant) in profile.controllers {
                assert!([plain, variant].iter().all(|name| AnyCongestionControl::by_name(name).is_some()));
            }
        }
        assert!(Profile::by_name("windows95").is_none());
        assert_eq!(profiles()[0].name, "rfc");
    }
}

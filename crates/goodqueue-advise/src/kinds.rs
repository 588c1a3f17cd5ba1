//! The kinds of lines. A new one is added to [`KINDS`].

use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::encapsulation::{Encapsulation, Framing};
use crate::kind::{Bottleneck, Buffer, Equipment, LinkKind, Port, Shares, Variation, bytes_of};

/// All kinds of lines.
pub const KINDS: &[&LinkKind] = &[&ADSL, &VDSL, &CABLE, &FIBRE, &LTE, &LEO, &SATELLITE, &WIFI, &WIFI_FQ];

/// Other names of kinds, each with the kind's own name.
pub const ALIASES: &[(&str, &str)] = &[
    ("docsis", "cable"),
    ("fiber", "fibre"),
    ("ftth", "fibre"),
    ("gpon", "fibre"),
    ("4g", "lte"),
    ("5g", "lte"),
    ("starlink", "leo"),
];

/// Returns the kind of this name, or of this alias, in upper or lower case. `dsl` is ADSL up to the
/// highest rate of ADSL2+, and VDSL above.
///
/// # Errors
/// There is none.
pub fn kind(name: &str, down: Rate) -> Result<&'static LinkKind, Diagnostic> {
    let asked = name.to_lowercase();
    if asked == DSL {
        return Ok(if down <= FASTEST_ADSL { &ADSL } else { &VDSL });
    }
    let own = ALIASES.iter().find(|(alias, _)| *alias == asked).map_or(&*asked, |(_, own)| own);
    KINDS.iter().find(|kind| kind.name == own).copied().ok_or_else(|| {
        let names: Vec<&str> = std::iter::once(DSL)
            .chain(KINDS.iter().map(|kind| kind.name))
            .chain(ALIASES.iter().map(|(alias, _)| *alias))
            .collect();
        Diagnostic::new(format!("there is no kind of line `{name}`"))
            .one_of(name, &names)
            .in_argument("--link", name)
    })
}

/// Any kind of DSL.
const DSL: &str = "dsl";

/// ADSL, ADSL2 and ADSL2+: IP over PPPoE over ATM.
/// The rates are those at which the modem synchronised, cells included.
const ADSL: LinkKind = LinkKind {
    name: "adsl",
    title: "ADSL (ATM cells)",
    source: "Overhead: PPPoE over LLC/SNAP, 40 bytes and ATM cells (RFC 2516, RFC 2684); 44 bytes cover the VC-mux and \
             LLC variants. Buffers: 128 kB upstream and downstream, a common size of DSL modems (Kreibich et al., \
             Netalyzr, IMC 2010). The line is 1 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(30),
    mtu: 1492,
    encapsulation: Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm },
    accounted: Encapsulation { overhead: 44, mpu: 0, framing: Framing::Atm },
    buffer: Buffer::TailDrop,
    buffers: |_| [128 * 1024, 128 * 1024],
    real: 990,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Highest rate of ADSL2+ towards the home (ITU-T G.992.5).
const FASTEST_ADSL: Rate = Rate::from_bps(24_000_000);

/// VDSL2: IP over PPPoE over Ethernet with a VLAN tag, in packet transfer mode.
/// The rates are those at which the modem synchronised.
const VDSL: LinkKind = LinkKind {
    name: "vdsl",
    title: "VDSL2 (packet transfer mode)",
    source: "Overhead: PPPoE 8, Ethernet with VLAN tag and FCS 22, PTM 4 bytes, and 65 bytes for each 64 (ITU-T G.993.2, \
             IEEE 802.3). Buffers: 200 ms, between 128 kB and 1 MB: assumed, after the sizes that Netalyzr found in \
             2010 (Kreibich et al., IMC 2010). The line is 1 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(25),
    mtu: 1492,
    encapsulation: Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm },
    accounted: Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 200, [128 * 1024, 1024 * 1024])),
    real: 990,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Cable: DOCSIS without AQM in the modem.
/// The rates are those of the contract, which DOCSIS counts from the Ethernet header to the FCS.
const CABLE: LinkKind = LinkKind {
    name: "cable",
    title: "cable (DOCSIS)",
    source: "Overhead: Ethernet header and FCS, 18 bytes, at least 64 (DOCSIS 3.1 MULPI). Buffers: 256 kB upstream, the \
             most common size of cable modems (Kreibich et al., Netalyzr, IMC 2010); at least 100 ms each way, at most \
             2 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 100, [256 * 1024, 2 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Fibre to the home.
/// The rates are those of the contract.
const FIBRE: LinkKind = LinkKind {
    name: "fibre",
    title: "fibre (GPON or Ethernet)",
    source: "Overhead: Ethernet with VLAN tag and FCS 22, PPPoE 8 bytes, at least 64; 44 bytes and 84 cover Ethernet's \
             preamble and gap as well (IEEE 802.3). Buffers: 100 ms, between 256 kB and 4 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(12),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 30, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 44, mpu: 84, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 100, [256 * 1024, 4 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::FIBRE,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// LTE and 5G: a rate that changes all the time, behind a deep buffer.
/// The rates are means over some minutes.
const LTE: LinkKind = LinkKind {
    name: "lte",
    title: "LTE or 5G",
    source: "Rate: a random walk as in the model of Winstein, Sivaraman & Balakrishnan (Sprout, NSDI 2013), whose rate \
             moves by a fifth of the highest rate in a second; a quarter to twice the mean: assumed. Buffers: one \
             second: assumed; the same authors saw queues of several seconds. RTT: assumed. Your line is another one: \
             a recording of it (`--trace-down`, `--trace-up`) is better.",
    rtt: Duration::from_millis(50),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 1000, [256 * 1024, 16 * 1024 * 1024])),
    real: 1000,
    variation: Variation::Walk { per_second: 0.4, bounds: [0.25, 2.0] },
    shares: Shares::VARYING,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Satellites in low orbits, such as Starlink.
/// The rates are means over some minutes.
const LEO: LinkKind = LinkKind {
    name: "leo",
    title: "satellites in low orbits",
    source: "Rate: another satellite every 15 s (Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024), \
             with half to one and a half of the mean rate: assumed. The queue drops its oldest packet and knows no \
             flows (arXiv 2605.27717, IMC 2026). Buffers: 200 ms: assumed. RTT: assumed. Your line is another one: a \
             recording of it (`--trace-down`, `--trace-up`) is better.",
    rtt: Duration::from_millis(40),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::HeadDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 200, [256 * 1024, 8 * 1024 * 1024])),
    real: 1000,
    variation: Variation::Steps { every_s: 15.0, bounds: [0.5, 1.5] },
    shares: Shares::VARYING,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// Geostationary satellites.
/// The rates are those of the contract.
const SATELLITE: LinkKind = LinkKind {
    name: "satellite",
    title: "geostationary satellite",
    source: "RTT: four times the 35,786 km to the orbit take 480 ms, and 120 ms for the ground: assumed. Buffers: one \
             second, at least the 600 ms of the path: assumed. The line is 3 % slower than the rate given: assumed.",
    rtt: Duration::from_millis(600),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    accounted: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer::TailDrop,
    buffers: |rates| rates.map(|rate| bytes_of(rate, 1000, [256 * 1024, 16 * 1024 * 1024])),
    real: 970,
    variation: Variation::Steady,
    shares: Shares::STEADY,
    bottleneck: Bottleneck::Modem,
    port: Port::TO_MODEM,
    instead: None,
};

/// WiFi that is slower than the line behind it, with a FIFO in the access point.
/// The rates are those of a speed test over WiFi, one direction at a time.
const WIFI: LinkKind = LinkKind {
    name: "wifi",
    title: "WiFi, FIFO in the access point",
    source: "802.11n at 5 GHz without losses or neighbours, the modulation with which TCP reaches the rates, a second \
             device with half of them, and a line of 1 Gbit/s behind the access point: assumed. Driver of the access \
             point: 123 packets (ath9k), of the devices: 224 (iwlwifi), as in The Good, the Bad and the WiFi \
             (Høiland-Jørgensen et al., Computer Networks 2015), below 1000 full packets (Linux's txqueuelen). Real \
             WiFi changes its rate all the time: give rates that it keeps. RTT: assumed.",
    bottleneck: Bottleneck::AccessPoint { mac: "fifo" },
    instead: Some(Equipment {
        kind: &WIFI_FQ,
        how: "an access point that queues per flow, such as OpenWrt on ath9k, ath10k or mt76 (`tc qdisc show dev wlan0` \
              shows noqueue), without a shaper",
    }),
    ..WIFI_FQ
};

/// WiFi that is slower than the line behind it, with fair queueing in the access point's MAC.
/// The rates are those of a speed test over WiFi, one direction at a time.
const WIFI_FQ: LinkKind = LinkKind {
    name: "wifi-fq",
    title: "WiFi, fair queueing in the access point",
    source: "As `wifi`, but the access point queues per flow and device, with CoDel, and shares the airtime (Ending the \
             Anomaly, Høiland-Jørgensen et al., USENIX ATC 2017). Linux does so with drivers that use mac80211's queues, \
             such as ath9k, ath10k and mt76: `tc qdisc show dev wlan0` then shows `noqueue`. The devices still have \
             FIFOs: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    accounted: Encapsulation::ETHERNET,
    buffer: Buffer::TailDrop,
    buffers: |_| [WIFI_BUFFER, WIFI_BUFFER],
    real: 1000,
    variation: Variation::Steady,
    shares: WIFI_SHARES,
    bottleneck: Bottleneck::AccessPoint { mac: "fq" },
    port: Port::WIFI,
    instead: None,
};

/// 1000 packets of 1514 bytes.
const WIFI_BUFFER: u64 = 1000 * 1514;
/// With both directions busy each has less than half of the air.
const WIFI_SHARES: Shares = Shares::Together(&[500, 900, 800, 700, 600, 550, 450, 400]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_may_call_their_line_what_its_bill_calls_it() {
        for (name, own) in [("Starlink", "leo"), ("docsis", "cable"), ("GPON", "fibre"), ("5g", "lte")] {
            assert_eq!(kind(name, Rate::from_bps(1)).unwrap().name, own);
        }
        let refused = kind("starlnk", Rate::from_bps(1)).unwrap_err().to_string();
        assert!(refused.contains("did you mean `starlink`?"), "{refused}");
    }

    #[test]
    fn each_alias_names_a_kind_and_is_no_kind_itself() {
        for (alias, own) in ALIASES {
            assert_eq!(kind(alias, Rate::from_bps(1)).unwrap().name, *own);
            assert!(KINDS.iter().all(|kind| kind.name != *alias), "{alias}");
        }
    }
}

//! The kinds of access lines. A new one is added to [`PRESETS`].

use alloc::string::ToString;

use goodqueue::{Duration, Rate};

use super::buffer::{Buffer, Drops};
use super::encapsulation::{Encapsulation, Framing};
use super::preset::Preset;
use super::variation::Variation;

/// All kinds of access lines.
pub const PRESETS: &[&Preset] = &[&ADSL, &VDSL, &CABLE, &FIBRE, &LTE, &LEO, &SATELLITE, &WIFI];

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

/// Any kind of DSL.
pub const DSL: &str = "dsl";

/// Returns the kind of this name or alias, in upper or lower case; `None` if there is none. `dsl`
/// is ADSL up to the highest rate of ADSL2+ towards the home, and VDSL above.
#[must_use]
pub fn named(name: &str, down: Rate) -> Option<&'static Preset> {
    let asked = name.to_lowercase();
    if asked == DSL {
        return Some(if down <= FASTEST_ADSL { &ADSL } else { &VDSL });
    }
    let own = ALIASES.iter().find(|(alias, _)| *alias == asked).map_or(asked, |(_, own)| (*own).to_string());
    PRESETS.iter().find(|preset| preset.name == own).copied()
}

/// Returns all names that [`named`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    let own = PRESETS.iter().map(|preset| preset.name);
    core::iter::once(DSL).chain(own).chain(ALIASES.iter().map(|(alias, _)| *alias))
}

/// ADSL, ADSL2 and ADSL2+: IP over PPPoE over ATM.
/// The rates are those at which the modem synchronised, cells included.
pub const ADSL: Preset = Preset {
    name: "adsl",
    title: "ADSL (ATM cells)",
    source: "Overhead: PPPoE over LLC/SNAP, 40 bytes and ATM cells (RFC 2516, RFC 2684). Buffers: 128 kB upstream and \
             downstream, a common size of DSL modems (Kreibich et al., Netalyzr, IMC 2010). The line is 1 % slower than \
             the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(30),
    // 8 bytes of 1500 are PPPoE (RFC 2516).
    mtu: 1492,
    // PPP 2, PPPoE 6, Ethernet 14, LLC/SNAP 10 and the trailer of AAL5 8 bytes.
    encapsulation: Encapsulation { overhead: 40, mpu: 0, framing: Framing::Atm },
    buffer: Buffer::fixed(128 * KIB),
    real: 990,
    variation: Variation::Steady,
};

/// Highest rate of ADSL2+ towards the home (ITU-T G.992.5).
const FASTEST_ADSL: Rate = Rate::from_bps(24_000_000);

/// VDSL2: IP over PPPoE over Ethernet with a VLAN tag, in packet transfer mode.
/// The rates are those at which the modem synchronised.
pub const VDSL: Preset = Preset {
    name: "vdsl",
    title: "VDSL2 (packet transfer mode)",
    source: "Overhead: PPPoE 8, Ethernet with VLAN tag and FCS 22, PTM 4 bytes, and 65 bytes for each 64 (ITU-T G.993.2, \
             IEEE 802.3). Buffers: 200 ms, between 128 kB and 1 MB: assumed, after the sizes that Netalyzr found in \
             2010 (Kreibich et al., IMC 2010). The line is 1 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(25),
    mtu: 1492,
    encapsulation: Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm },
    buffer: Buffer { milliseconds: 200, least: 128 * KIB, most: 1024 * KIB, drops: Drops::Tail },
    real: 990,
    variation: Variation::Steady,
};

/// Cable: DOCSIS without AQM in the modem.
/// The rates are those of the contract, which DOCSIS counts from the Ethernet header to the FCS.
pub const CABLE: Preset = Preset {
    name: "cable",
    title: "cable (DOCSIS)",
    source: "Overhead: Ethernet header and FCS, 18 bytes, at least 64 (DOCSIS 3.1 MULPI). Buffers: 256 kB upstream, the \
             most common size of cable modems (Kreibich et al., Netalyzr, IMC 2010); at least 100 ms each way, at most \
             2 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer { milliseconds: 100, least: 256 * KIB, most: 2048 * KIB, drops: Drops::Tail },
    real: 970,
    variation: Variation::Steady,
};

/// Fibre to the home.
/// The rates are those of the contract.
pub const FIBRE: Preset = Preset {
    name: "fibre",
    title: "fibre (GPON or Ethernet)",
    source: "Overhead: Ethernet with VLAN tag and FCS 22, PPPoE 8 bytes, at least 64 (IEEE 802.3). Buffers: 100 ms, \
             between 256 kB and 4 MB: assumed. The line is 3 % slower than the rate given: assumed. RTT: assumed.",
    rtt: Duration::from_millis(12),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 30, mpu: 64, framing: Framing::Whole },
    buffer: Buffer { milliseconds: 100, least: 256 * KIB, most: 4096 * KIB, drops: Drops::Tail },
    real: 970,
    variation: Variation::Steady,
};

/// LTE and 5G: a rate that changes all the time, behind a deep buffer.
/// The rates are means over some minutes.
pub const LTE: Preset = Preset {
    name: "lte",
    title: "LTE or 5G",
    source: "Rate: a random walk as in the model of Winstein, Sivaraman & Balakrishnan (Sprout, NSDI 2013), whose rate \
             moves by a fifth of the highest rate in a second; a quarter to twice the mean: assumed. Buffers: one \
             second: assumed; the same authors saw queues of several seconds. RTT: assumed. Your line is another one: a \
             recording of it is better.",
    rtt: Duration::from_millis(50),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    buffer: Buffer { milliseconds: 1000, least: 256 * KIB, most: 16_384 * KIB, drops: Drops::Tail },
    real: 1000,
    // A fifth of the highest rate, which is twice the mean.
    variation: Variation::Walk { per_second: 0.4, bounds: [0.25, 2.0] },
};

/// Satellites in low orbits, such as Starlink.
/// The rates are means over some minutes.
pub const LEO: Preset = Preset {
    name: "leo",
    title: "satellites in low orbits",
    source: "Rate: another satellite every 15 s (Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024), \
             with half to one and a half of the mean rate: assumed. The queue drops its oldest packet and knows no \
             flows (arXiv 2605.27717, IMC 2026). Buffers: 200 ms: assumed. RTT: assumed. Your line is another one: a \
             recording of it is better.",
    rtt: Duration::from_millis(40),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    buffer: Buffer { milliseconds: 200, least: 256 * KIB, most: 8192 * KIB, drops: Drops::Head },
    real: 1000,
    variation: Variation::Steps { every_s: 15.0, bounds: [0.5, 1.5] },
};

/// Geostationary satellites.
/// The rates are those of the contract.
pub const SATELLITE: Preset = Preset {
    name: "satellite",
    title: "geostationary satellite",
    source: "RTT: four times the 35,786 km to the orbit take 480 ms, and 120 ms for the ground: assumed. Buffers: one \
             second, at least the 600 ms of the path: assumed. The line is 3 % slower than the rate given: assumed.",
    rtt: Duration::from_millis(600),
    mtu: 1500,
    encapsulation: Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole },
    buffer: Buffer { milliseconds: 1000, least: 256 * KIB, most: 16_384 * KIB, drops: Drops::Tail },
    real: 970,
    variation: Variation::Steady,
};

/// WiFi that is slower than the line behind it, with a FIFO in the access point.
/// The rates are those of a speed test over WiFi, one direction at a time.
///
/// The numbers are those of the queue. The air, which both directions share, needs the simulator.
pub const WIFI: Preset = Preset {
    name: "wifi",
    title: "WiFi, FIFO in the access point",
    source: "Buffers: 1000 full packets (Linux's txqueuelen). Real WiFi changes its rate all the time: give rates that \
             it keeps. RTT: assumed.",
    rtt: Duration::from_millis(20),
    mtu: 1500,
    encapsulation: Encapsulation::ETHERNET,
    buffer: Buffer::fixed(1000 * 1514),
    real: 1000,
    variation: Variation::Steady,
};

const KIB: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_may_call_their_line_what_its_bill_calls_it() {
        for (name, own) in [("Starlink", "leo"), ("docsis", "cable"), ("GPON", "fibre"), ("5g", "lte")] {
            assert_eq!(named(name, Rate::from_bps(1)).map(|preset| preset.name), Some(own));
        }
        assert_eq!(named("starlnk", Rate::from_bps(1)), None);
    }

    #[test]
    fn each_name_is_of_one_kind() {
        assert!(names().all(|name| named(name, Rate::from_bps(1)).is_some()));
        for (index, name) in names().enumerate() {
            assert!(names().skip(index + 1).all(|other| other != name), "{name} twice");
        }
    }

    #[test]
    fn dsl_is_adsl_where_adsl_reaches() {
        let of = |mbit: u64| named("dsl", Rate::from_bps(mbit * 1_000_000)).map(|preset| preset.name);
        assert_eq!([of(1), of(24), of(25)], [Some("adsl"), Some("adsl"), Some("vdsl")]);
    }

    #[test]
    fn every_kind_names_its_sources() {
        for preset in PRESETS {
            assert!(preset.source.contains("RTT:") && preset.source.contains("Buffers:"), "{}", preset.name);
            assert!(preset.mtu > 0 && preset.real > 0 && preset.real <= 1000, "{}", preset.name);
        }
    }

    /// A full packet of 1492 bytes takes 32 cells, and its Ethernet frame has 1506 bytes.
    #[test]
    fn cells_take_a_ninth_of_an_adsl_line() {
        let frames = ADSL.of_frames(Rate::from_bps(16_000_000));
        assert_eq!(frames.as_bps(), 15_840_000 * 1506 / 1696);
    }
}

//! The words that tc-cake(8) has for common links and distances. Each stands for settings that
//! could be written out.

use crate::config::{Keyword, Value};
use crate::time::Duration;

/// Every such word.
pub(crate) const KEYWORDS: &[Keyword] = &[
    Keyword {
        name: "conservative",
        adds: None,
        sets: &[("overhead", Value::Signed(48)), ("atm", Value::Flag(true))],
        doc: "more overhead than any link has, in cells: `overhead 48 atm`",
    },
    link(
        "ethernet",
        38,
        &[("mpu", Value::Integer(84))],
        "Ethernet with preamble, checksum and gap: 38, `mpu 84`",
    ),
    link("ether-vlan", 4, &[], "a VLAN tag more: 4; may stand several times"),
    link(
        "docsis",
        18,
        &[("mpu", Value::Integer(64)), ("atm", Value::Flag(false))],
        "cable modem: 18, `mpu 64 noatm`",
    ),
    link("pppoe-ptm", 30, PTM, "VDSL2 with PPPoE: 30, `ptm`"),
    link("bridged-ptm", 22, PTM, "VDSL2 with Ethernet: 22, `ptm`"),
    link("ipoa-vcmux", 8, ATM, "ADSL with bare IP: 8, `atm`"),
    link("ipoa-llcsnap", 16, ATM, "ADSL with IP behind LLC/SNAP: 16, `atm`"),
    link("bridged-vcmux", 24, ATM, "ADSL with Ethernet: 24, `atm`"),
    link("bridged-llcsnap", 32, ATM, "ADSL with Ethernet behind LLC/SNAP: 32, `atm`"),
    link("pppoa-vcmux", 10, ATM, "ADSL with PPPoA: 10, `atm`"),
    link("pppoa-llc", 14, ATM, "ADSL with PPPoA behind LLC: 14, `atm`"),
    link("pppoe-vcmux", 32, ATM, "ADSL with PPPoE: 32, `atm`"),
    link("pppoe-llcsnap", 40, ATM, "ADSL with PPPoE behind LLC/SNAP: 40, `atm`"),
    distance("datacentre", &[("rtt", Value::Time(Duration::from_micros(100)))], "`rtt 100us`"),
    distance("lan", &[("rtt", Value::Time(Duration::from_millis(1)))], "`rtt 1ms`"),
    distance("metro", &[("rtt", Value::Time(Duration::from_millis(10)))], "within a city: `rtt 10ms`"),
    distance("regional", &[("rtt", Value::Time(Duration::from_millis(30)))], "within a country: `rtt 30ms`"),
    distance("internet", &[("rtt", Value::Time(Duration::from_millis(100)))], "`rtt 100ms`"),
    distance("oceanic", &[("rtt", Value::Time(Duration::from_millis(300)))], "across an ocean: `rtt 300ms`"),
    distance("satellite", &[("rtt", Value::Time(Duration::from_secs(1)))], "geostationary: `rtt 1s`"),
    distance("interplanetary", &[("rtt", Value::Time(Duration::from_secs(1_000)))], "`rtt 1000s`"),
];

const ATM: &[(&str, Value)] = &[("atm", Value::Flag(true))];
const PTM: &[(&str, Value)] = &[("ptm", Value::Flag(true))];

/// A kind of link, with what it adds to the overhead.
const fn link(
    name: &'static str,
    overhead: i64,
    sets: &'static [(&'static str, Value)],
    doc: &'static str,
) -> Keyword {
    Keyword { name, adds: Some(("overhead", overhead)), sets, doc }
}

const fn distance(name: &'static str, sets: &'static [(&'static str, Value)], doc: &'static str) -> Keyword {
    Keyword { name, adds: None, sets, doc }
}

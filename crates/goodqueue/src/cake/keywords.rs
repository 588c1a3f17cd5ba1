//! The words that tc-cake(8) has for common links and distances. Each stands for settings that
//! could be written out.

use super::parameters::{ATM, MPU, OVERHEAD, PTM, RTT};
use crate::config::{Keyword, Value};
use crate::time::Duration;

/// Every such word.
pub(crate) const KEYWORDS: &[Keyword] = &[
    Keyword {
        name: "conservative",
        adds: None,
        sets: &[(OVERHEAD.name, Value::Signed(48)), (ATM.name, Value::Flag(true))],
        doc: "more overhead than any link has, in cells: `overhead 48 atm`",
    },
    link(
        "ethernet",
        38,
        &[(MPU.name, Value::Integer(84))],
        "Ethernet with preamble, checksum and gap: 38, `mpu 84`",
    ),
    link("ether-vlan", 4, &[], "a VLAN tag more: 4; may stand several times"),
    link(
        "docsis",
        18,
        &[(MPU.name, Value::Integer(64)), (ATM.name, Value::Flag(false))],
        "cable modem: 18, `mpu 64 noatm`",
    ),
    link("pppoe-ptm", 30, PTM_CELLS, "VDSL2 with PPPoE: 30, `ptm`"),
    link("bridged-ptm", 22, PTM_CELLS, "VDSL2 with Ethernet: 22, `ptm`"),
    link("ipoa-vcmux", 8, ATM_CELLS, "ADSL with bare IP: 8, `atm`"),
    link("ipoa-llcsnap", 16, ATM_CELLS, "ADSL with IP behind LLC/SNAP: 16, `atm`"),
    link("bridged-vcmux", 24, ATM_CELLS, "ADSL with Ethernet: 24, `atm`"),
    link("bridged-llcsnap", 32, ATM_CELLS, "ADSL with Ethernet behind LLC/SNAP: 32, `atm`"),
    link("pppoa-vcmux", 10, ATM_CELLS, "ADSL with PPPoA: 10, `atm`"),
    link("pppoa-llc", 14, ATM_CELLS, "ADSL with PPPoA behind LLC: 14, `atm`"),
    link("pppoe-vcmux", 32, ATM_CELLS, "ADSL with PPPoE: 32, `atm`"),
    link("pppoe-llcsnap", 40, ATM_CELLS, "ADSL with PPPoE behind LLC/SNAP: 40, `atm`"),
    distance("datacentre", &[(RTT.name, Value::Time(Duration::from_micros(100)))], "`rtt 100us`"),
    distance("lan", &[(RTT.name, Value::Time(Duration::from_millis(1)))], "`rtt 1ms`"),
    distance("metro", &[(RTT.name, Value::Time(Duration::from_millis(10)))], "within a city: `rtt 10ms`"),
    distance(
        "regional",
        &[(RTT.name, Value::Time(Duration::from_millis(30)))],
        "within a country: `rtt 30ms`",
    ),
    distance("internet", &[(RTT.name, Value::Time(Duration::from_millis(100)))], "`rtt 100ms`"),
    distance(
        "oceanic",
        &[(RTT.name, Value::Time(Duration::from_millis(300)))],
        "across an ocean: `rtt 300ms`",
    ),
    distance("satellite", &[(RTT.name, Value::Time(Duration::from_secs(1)))], "geostationary: `rtt 1s`"),
    distance("interplanetary", &[(RTT.name, Value::Time(Duration::from_secs(1_000)))], "`rtt 1000s`"),
];

const ATM_CELLS: &[(&str, Value)] = &[(ATM.name, Value::Flag(true))];
const PTM_CELLS: &[(&str, Value)] = &[(PTM.name, Value::Flag(true))];

/// A kind of link, with its share of the overhead.
const fn link(
    name: &'static str,
    overhead: i64,
    sets: &'static [(&'static str, Value)],
    doc: &'static str,
) -> Keyword {
    Keyword { name, adds: Some((OVERHEAD.name, overhead)), sets, doc }
}

const fn distance(name: &'static str, sets: &'static [(&'static str, Value)], doc: &'static str) -> Keyword {
    Keyword { name, adds: None, sets, doc }
}

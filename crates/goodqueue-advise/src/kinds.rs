//! The kinds of lines, each with what its shaper needs. A new one is added to [`KINDS`].

use goodqueue::Rate;
use goodqueue_link::access::{Encapsulation, Framing, Preset, presets};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::kind::{Bottleneck, Equipment, LinkKind, Port, Shares};

/// All kinds of lines.
pub const KINDS: &[&LinkKind] = &[&ADSL, &VDSL, &CABLE, &FIBRE, &LTE, &LEO, &SATELLITE, &WIFI, &WIFI_FQ];

/// Other names of kinds, each with the kind's own name.
pub const ALIASES: &[(&str, &str)] = presets::ALIASES;

/// Returns the kind of this name, or of this alias, in upper or lower case. `dsl` is ADSL up to the
/// highest rate of ADSL2+, and VDSL above.
///
/// # Errors
/// There is none.
pub fn kind(name: &str, down: Rate) -> Result<&'static LinkKind, Diagnostic> {
    let asked = name.to_lowercase();
    let own = presets::named(&asked, down).map_or(&*asked, |preset| preset.name);
    KINDS.iter().find(|kind| kind.line.name == own).copied().ok_or_else(|| {
        let names: Vec<&str> = presets::names().chain([WIFI_FQ.line.name]).collect();
        Diagnostic::new(format!("there is no kind of line `{name}`"))
            .one_of(name, &names)
            .in_argument("--link", name)
    })
}

/// A line behind a modem, of which the shaper is told what the line has.
const fn behind_a_modem(line: Preset) -> LinkKind {
    LinkKind {
        accounted: line.encapsulation,
        line,
        assumed: "",
        shares: Shares::STEADY,
        bottleneck: Bottleneck::Modem,
        port: Port::TO_MODEM,
        instead: None,
    }
}

const ADSL: LinkKind = LinkKind {
    assumed: "44 bytes of overhead cover the VC-mux and LLC variants.",
    // A whole number of cells is sent anyway, so no smallest packet has to be told.
    accounted: Encapsulation { overhead: 44, mpu: 0, framing: Framing::Atm },
    ..behind_a_modem(presets::ADSL)
};

const VDSL: LinkKind = behind_a_modem(presets::VDSL);

const CABLE: LinkKind = behind_a_modem(presets::CABLE);

const FIBRE: LinkKind = LinkKind {
    assumed: "44 bytes of overhead and 84 at least cover Ethernet's preamble and gap as well (IEEE 802.3).",
    accounted: Encapsulation { overhead: 44, mpu: 84, framing: Framing::Whole },
    shares: Shares::FIBRE,
    ..behind_a_modem(presets::FIBRE)
};

const LTE: LinkKind =
    LinkKind { assumed: RECORDING, shares: Shares::VARYING, ..behind_a_modem(presets::LTE) };

const LEO: LinkKind =
    LinkKind { assumed: RECORDING, shares: Shares::VARYING, ..behind_a_modem(presets::LEO) };

/// How a recording is given.
const RECORDING: &str = "Give it with `--trace-down` and `--trace-up`.";

const SATELLITE: LinkKind = behind_a_modem(presets::SATELLITE);

/// WiFi that is slower than the line behind it, with a FIFO in the access point.
const WIFI: LinkKind = LinkKind {
    line: presets::WIFI,
    assumed: "802.11n at 5 GHz without losses or neighbours, the modulation with which TCP reaches the rates, a second \
              device with half of them, and a line of 1 Gbit/s behind the access point: assumed. Driver of the access \
              point: 123 packets (ath9k), of the devices: 224 (iwlwifi), as in The Good, the Bad and the WiFi \
              (Høiland-Jørgensen et al., Computer Networks 2015), below the buffers.",
    bottleneck: Bottleneck::AccessPoint { mac: "fifo" },
    instead: Some(Equipment {
        kind: &WIFI_FQ,
        how: "an access point that queues per flow, such as OpenWrt on ath9k, ath10k or mt76 (`tc qdisc show dev wlan0` \
              shows noqueue), without a shaper",
    }),
    ..WIFI_FQ
};

/// WiFi that is slower than the line behind it, with fair queueing in the access point's MAC.
const WIFI_FQ: LinkKind = LinkKind {
    line: Preset { name: "wifi-fq", title: "WiFi, fair queueing in the access point", ..presets::WIFI },
    assumed: "As `wifi`, but the access point queues per flow and device, with CoDel, and shares the airtime (Ending the \
              Anomaly, Høiland-Jørgensen et al., USENIX ATC 2017). Linux does so with drivers that use mac80211's queues, \
              such as ath9k, ath10k and mt76: `tc qdisc show dev wlan0` then shows `noqueue`. The devices still have \
              FIFOs: assumed.",
    accounted: Encapsulation::ETHERNET,
    shares: WIFI_SHARES,
    bottleneck: Bottleneck::AccessPoint { mac: "fq" },
    port: Port::WIFI,
    instead: None,
};

/// With both directions busy each has less than half of the air.
// The first share is the guess of the first answer.
const WIFI_SHARES: Shares = Shares::Together(&[500, 900, 800, 700, 600, 550, 450, 400]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_may_call_their_line_what_its_bill_calls_it() {
        for (name, own) in [("Starlink", "leo"), ("WiFi-FQ", "wifi-fq"), ("GPON", "fibre"), ("5g", "lte")] {
            assert_eq!(kind(name, Rate::from_bps(1)).unwrap().line.name, own);
        }
        let refused = kind("starlnk", Rate::from_bps(1)).unwrap_err().to_string();
        assert!(refused.contains("did you mean `starlink`?"), "{refused}");
    }

    #[test]
    fn each_preset_of_a_link_is_a_kind() {
        for name in presets::names() {
            assert!(kind(name, Rate::from_bps(1)).is_ok(), "{name}");
        }
    }
}

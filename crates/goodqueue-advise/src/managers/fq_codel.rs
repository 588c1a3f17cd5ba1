//! FQ-CoDel below a token bucket, for kernels without CAKE.

use goodqueue::Rate;

use crate::encapsulation::{Encapsulation, Framing};
use crate::manager::{Manager, Side};
use crate::question::Question;

/// `tbf` with `fq_codel` inside.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct FqCodel;

impl FqCodel {
    /// Returns the shaper's line without the discipline inside.
    fn shaper(rate: Rate, accounted: Option<&Encapsulation>) -> String {
        let usable = accounted.map_or(rate, |line| usable(rate, line));
        let line = accounted.map(Encapsulation::shaper).unwrap_or_default();
        // A millisecond at the rate, so that a kernel with a coarse timer keeps up, and at least
        // two packets.
        let burst = (usable.as_bps() / 8 / 1000).max(2 * LARGEST);
        format!("tbf rate {usable} burst {burst} latency 300ms{line}")
    }
}

impl Manager for FqCodel {
    fn name(&self) -> String {
        format!("{WORDS} below tbf")
    }

    fn line(&self, _: Side, rate: Rate, accounted: Option<&Encapsulation>) -> String {
        format!("{} [ {WORDS} ]", Self::shaper(rate, accounted))
    }

    fn tc(&self, device: &str, _: Side, rate: Rate, accounted: Option<&Encapsulation>) -> Vec<String> {
        vec![
            format!("tc qdisc replace dev {device} root handle 1: {}", Self::shaper(rate, accounted)),
            format!("tc qdisc replace dev {device} parent 1: {WORDS}"),
        ]
    }

    fn sqm(&self, accounted: &Encapsulation) -> Vec<(&'static str, String)> {
        let linklayer = match accounted.framing {
            _ if *accounted == Encapsulation::ETHERNET => "none",
            Framing::Atm => "atm",
            // SQM knows no PTM: the rates are lower instead.
            Framing::Whole | Framing::Ptm => "ethernet",
        };
        let mut options = vec![
            ("qdisc", "fq_codel".to_owned()),
            // One class, as in the lines of tc. `simple.qos` has three.
            ("script", "simplest_tbf.qos".to_owned()),
            ("qdisc_advanced", "1".to_owned()),
            ("ingress_ecn", "ECN".to_owned()),
            ("egress_ecn", "ECN".to_owned()),
            ("qdisc_really_really_advanced", "1".to_owned()),
            // SQM's own choice is a longer target on slow lines.
            ("itarget", "default".to_owned()),
            ("etarget", "default".to_owned()),
            ("linklayer", linklayer.to_owned()),
        ];
        if linklayer != "none" {
            // SQM gives both to `stab`, which adds to the length that Linux knows.
            options.push(("overhead", accounted.beyond_ethernet().to_string()));
            if accounted.mpu > 0 {
                options.push(("linklayer_advanced", "1".to_owned()));
                options.push(("tcMPU", accounted.mpu.to_string()));
            }
        }
        options
    }

    fn sqm_rates(&self, rates: [Rate; 2], accounted: &Encapsulation) -> [Rate; 2] {
        rates.map(|rate| usable(rate, accounted))
    }

    fn networkd(&self, _: Rate, _: &Encapsulation) -> Option<String> {
        // networkd's token bucket has no link layer, and its rate would be wrong for ATM.
        None
    }

    fn routeros(&self, _: Side) -> String {
        "kind=fq-codel fq-codel-ecn=yes".to_owned()
    }

    fn line_has_nat(&self) -> bool {
        false
    }

    fn variants(&self, _: &Question) -> Vec<Box<dyn Manager>> {
        Vec::new()
    }
}

/// Returns the rate for a shaper that does not know PTM, in whole kbit/s.
fn usable(rate: Rate, accounted: &Encapsulation) -> Rate {
    Rate::from_bps(accounted.usable(rate.as_bps()) / 1000 * 1000)
}

/// By default, packets of flows with ECN are marked instead of dropped.
const WORDS: &str = "fq_codel";
/// A full packet with its Ethernet header.
const LARGEST: u64 = 1514;

#[cfg(test)]
mod tests {
    use super::*;

    /// sqm-scripts 1.6, `get_stab_string`, and tc-stab(8): the overhead is added to the length of
    /// the frame, whose header of Ethernet Linux counts.
    #[test]
    fn sqm_adds_to_frames_of_ethernet_what_they_lack() {
        let option = |accounted: &Encapsulation, name: &str| {
            let options = FqCodel.sqm(accounted);
            options.into_iter().find(|(option, _)| *option == name).map(|(_, value)| value)
        };
        let cable = Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole };
        assert_eq!(option(&cable, "overhead").as_deref(), Some("4"));
        assert_eq!(option(&cable, "tcMPU").as_deref(), Some("64"));
        let adsl = Encapsulation { overhead: 44, mpu: 0, framing: Framing::Atm };
        assert_eq!(option(&adsl, "linklayer").as_deref(), Some("atm"));
        assert_eq!(option(&adsl, "overhead").as_deref(), Some("30"));
        assert_eq!(option(&Encapsulation::ETHERNET, "linklayer").as_deref(), Some("none"));
        let bare = Encapsulation { overhead: 14, mpu: 64, framing: Framing::Whole };
        assert_eq!(option(&bare, "overhead").as_deref(), Some("0"));
    }

    #[test]
    fn shapers_that_do_not_know_ptm_get_a_lower_rate() {
        let vdsl = Encapsulation { overhead: 34, mpu: 0, framing: Framing::Ptm };
        let rates = [Rate::from_bps(65_000_000), Rate::from_bps(13_000_000)];
        let lower = [Rate::from_bps(64_000_000), Rate::from_bps(12_800_000)];
        assert_eq!(FqCodel.sqm_rates(rates, &vdsl), lower);
        let line = FqCodel.line(Side::Egress, rates[0], Some(&vdsl));
        assert!(line.starts_with("tbf rate 64mbit "), "{line}");
        let cells = Encapsulation { framing: Framing::Atm, ..vdsl };
        assert_eq!(FqCodel.sqm_rates(rates, &cells), rates);
    }
}

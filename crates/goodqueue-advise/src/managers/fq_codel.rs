//! FQ-CoDel below a token bucket, for kernels without CAKE.

use goodqueue::Rate;

use crate::encapsulation::{Encapsulation, Framing};
use crate::manager::{Manager, Side};
use crate::question::Question;

/// `tbf` with `fq_codel` inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FqCodel {
    /// Whether packets of flows with ECN are marked instead of dropped.
    marks: bool,
}

impl Default for FqCodel {
    fn default() -> Self {
        Self { marks: true }
    }
}

impl FqCodel {
    const fn words(self) -> &'static str {
        if self.marks { "fq_codel" } else { "fq_codel noecn" }
    }

    /// Returns the shaper's line without the discipline inside.
    fn shaper(rate: Rate, accounted: Option<&Encapsulation>) -> String {
        let usable = accounted.map_or(rate, |line| whole_kbit(line.usable(rate.as_bps())));
        let line = accounted.map(Encapsulation::shaper).unwrap_or_default();
        // A millisecond at the rate, so that a kernel with a coarse timer keeps up, and at least
        // two packets.
        let burst = (usable.as_bps() / 8 / 1000).max(2 * LARGEST);
        format!("tbf rate {usable} burst {burst} latency 300ms{line}")
    }
}

impl Manager for FqCodel {
    fn name(&self) -> String {
        format!("{} below tbf", self.words())
    }

    fn line(&self, _: Side, rate: Rate, accounted: Option<&Encapsulation>) -> String {
        format!("{} [ {} ]", Self::shaper(rate, accounted), self.words())
    }

    fn tc(&self, device: &str, _: Side, rate: Rate, accounted: Option<&Encapsulation>) -> Vec<String> {
        vec![
            format!("tc qdisc replace dev {device} root handle 1: {}", Self::shaper(rate, accounted)),
            format!("tc qdisc replace dev {device} parent 1: {}", self.words()),
        ]
    }

    fn sqm(&self, accounted: &Encapsulation) -> Vec<(&'static str, String)> {
        let ecn = if self.marks { "ECN" } else { "NOECN" };
        let linklayer = match accounted.framing {
            Framing::Atm => "atm",
            // SQM knows no PTM.
            Framing::Whole | Framing::Ptm => "ethernet",
        };
        vec![
            ("qdisc", "fq_codel".to_owned()),
            ("script", "simple.qos".to_owned()),
            ("qdisc_advanced", "1".to_owned()),
            ("ingress_ecn", ecn.to_owned()),
            ("egress_ecn", ecn.to_owned()),
            ("linklayer", linklayer.to_owned()),
            ("overhead", accounted.overhead.to_string()),
        ]
    }

    fn networkd(&self, _: Rate, _: &Encapsulation) -> Option<String> {
        // networkd's token bucket has no link layer, and its rate would be wrong for ATM.
        None
    }

    fn variants(&self, _: &Question) -> Vec<Box<dyn Manager>> {
        vec![Box::new(Self { marks: !self.marks })]
    }
}

fn whole_kbit(bps: u64) -> Rate {
    Rate::from_bps(bps / 1000 * 1000)
}

/// A full packet with its Ethernet header.
const LARGEST: u64 = 1514;

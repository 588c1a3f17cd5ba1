//! CAKE with its own shaper.

use goodqueue::{Duration, Rate};

use crate::encapsulation::{Encapsulation, Framing};
use crate::manager::{Manager, Side};
use crate::question::Question;

/// CAKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cake {
    /// Keyword for the round-trip time; `None`: the default, `internet`.
    rtt: Option<&'static str>,
    /// Whether pure acknowledgements that are out of date are dropped from the upload's queue.
    filters_acks: bool,
    /// Whether packets have priorities by their DSCP.
    prioritises: bool,
    /// Whether flows are told apart by the addresses before their translation.
    looks_behind_nat: bool,
    /// Whether the DSCP of packets that enter the router is cleared.
    washes: bool,
}

impl Cake {
    /// Returns the usual parameters for this line.
    pub(super) fn of(question: &Question) -> Self {
        // Only the interface towards the Internet has packets with translated addresses, and only
        // the DSCP of packets from the Internet has no meaning at home.
        let to_internet = question.kind.port.egress == 1;
        Self {
            rtt: None,
            filters_acks: false,
            prioritises: question.diffserv,
            looks_behind_nat: question.nat && to_internet,
            washes: !question.diffserv && to_internet,
        }
    }

    const fn priorities(self) -> &'static str {
        if self.prioritises { "diffserv3" } else { "besteffort" }
    }

    fn words(self, side: Side) -> String {
        let nat = if self.looks_behind_nat { " nat" } else { "" };
        let rtt = self.rtt.map(|keyword| format!(" {keyword}")).unwrap_or_default();
        let of_side = match side {
            Side::Ingress if self.washes => " wash ingress",
            Side::Ingress => " ingress",
            Side::Egress if self.filters_acks => " ack-filter",
            Side::Egress => "",
        };
        format!("{}{nat}{rtt}{of_side}", self.priorities())
    }

    /// Returns the words that SQM adds to those of its script. The script's own `nat` has to be
    /// taken back.
    fn sqm_words(self, side: Side, accounted: &Encapsulation) -> String {
        let nonat = if self.looks_behind_nat { "" } else { " nonat" };
        format!("{}{nonat}{}", self.words(side), accounted.cake())
    }
}

impl Manager for Cake {
    fn name(&self) -> String {
        let diffserv = if self.prioritises { " diffserv3" } else { "" };
        let rtt = self.rtt.map(|keyword| format!(" {keyword}")).unwrap_or_default();
        let acks = if self.filters_acks { " ack-filter" } else { "" };
        format!("cake{diffserv}{rtt}{acks}")
    }

    fn line(&self, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> String {
        let line = accounted.map(Encapsulation::cake).unwrap_or_default();
        format!("cake bandwidth {rate} {}{line}", self.words(side))
    }

    fn tc(&self, device: &str, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> Vec<String> {
        vec![format!("tc qdisc replace dev {device} root {}", self.line(side, rate, accounted))]
    }

    fn sqm(&self, accounted: &Encapsulation) -> Vec<(&'static str, String)> {
        let script = if self.prioritises { "layer_cake.qos" } else { "piece_of_cake.qos" };
        let flag = |is_set: bool| u8::from(is_set).to_string();
        vec![
            ("qdisc", "cake".to_owned()),
            ("script", script.to_owned()),
            ("qdisc_advanced", "1".to_owned()),
            ("squash_dscp", flag(self.washes)),
            ("squash_ingress", flag(!self.prioritises)),
            ("qdisc_really_really_advanced", "1".to_owned()),
            ("linklayer", "none".to_owned()),
            ("iqdisc_opts", self.sqm_words(Side::Ingress, accounted)),
            ("eqdisc_opts", self.sqm_words(Side::Egress, accounted)),
        ]
    }

    fn sqm_rates(&self, rates: [Rate; 2], _: &Encapsulation) -> [Rate; 2] {
        rates
    }

    fn networkd(&self, rate: Rate, accounted: &Encapsulation) -> Option<String> {
        let compensation = match accounted.framing {
            Framing::Whole => "none",
            Framing::Atm => "atm",
            Framing::Ptm => "ptm",
        };
        let nat = if self.looks_behind_nat { "yes" } else { "no" };
        let mut text = format!(
            "[CAKE]\nBandwidth={}\nPriorityQueueingPreset={}\nNAT={nat}\n",
            networkd_rate(rate),
            self.priorities()
        );
        if *accounted != Encapsulation::ETHERNET {
            text += &format!("OverheadBytes={}\nCompensationMode={compensation}\n", accounted.overhead);
        }
        if accounted.mpu > 0 {
            text += &format!("MPUBytes={}\n", accounted.mpu);
        }
        if let Some((_, rtt)) = RTTS.iter().find(|(keyword, _)| Some(*keyword) == self.rtt) {
            text += &format!("RTTSec={rtt}\n");
        }
        if self.filters_acks {
            text += "AckFilter=yes\n";
        }
        Some(text)
    }

    fn routeros(&self, side: Side) -> String {
        let nat = if self.looks_behind_nat { "yes" } else { "no" };
        let of_side = match side {
            Side::Ingress if self.washes => " cake-wash=yes",
            Side::Egress if self.filters_acks => " cake-ack-filter=filter",
            Side::Ingress | Side::Egress => "",
        };
        format!(
            "kind=cake cake-diffserv={} cake-nat={nat} cake-rtt-scheme={}{of_side}",
            self.priorities(),
            self.rtt.unwrap_or(DEFAULT_RTT)
        )
    }

    fn line_has_nat(&self) -> bool {
        self.looks_behind_nat
    }

    fn variants(&self, question: &Question) -> Vec<Box<dyn Manager>> {
        let mut variants: Vec<Box<dyn Manager>> = Vec::new();
        let of_line = RTTS.iter().find(|(_, rtt)| question.rtt <= *rtt).or(RTTS.last());
        if let Some((keyword, _)) = of_line.filter(|(keyword, _)| *keyword != DEFAULT_RTT) {
            variants.push(Box::new(Self { rtt: Some(keyword), ..*self }));
        }
        let [down, up] = question.rates.map(Rate::as_bps);
        if down >= up.saturating_mul(ASYMMETRIC) {
            variants.push(Box::new(Self { filters_acks: true, ..*self }));
        }
        variants
    }
}

/// Returns a rate as networkd reads it: K, M and G are powers of 1000.
fn networkd_rate(rate: Rate) -> String {
    format!("{}K", rate.as_bps() / 1000)
}

/// The keywords of tc-cake(8) for paths on the Internet, with their round-trip times.
const RTTS: &[(&str, Duration)] = &[
    ("metro", Duration::from_millis(10)),
    ("regional", Duration::from_millis(30)),
    (DEFAULT_RTT, Duration::from_millis(100)),
    ("oceanic", Duration::from_millis(300)),
    ("satellite", Duration::from_millis(1000)),
];
const DEFAULT_RTT: &str = "internet";

/// From this ratio of the rates on, acknowledgements take much of the upload: an acknowledgement
/// of 64 bytes for two packets of 1500 bytes is a fiftieth.
const ASYMMETRIC: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of tc for both sides, those of SQM, and the section of networkd.
    fn notations(cake: Cake) -> [String; 3] {
        let rate = Rate::from_bps(9_000_000);
        let accounted = Encapsulation::ETHERNET;
        let tc = [Side::Ingress, Side::Egress].map(|side| cake.line(side, rate, None)).join("\n");
        let sqm = cake.sqm(&accounted).iter().map(|(name, value)| format!("{name} {value}\n")).collect();
        [tc, sqm, cake.networkd(rate, &accounted).unwrap()]
    }

    #[test]
    fn all_notations_have_one_class_and_wash_what_enters() {
        let question = Question::new("90mbit/9mbit", "cable").unwrap();
        let [tc, sqm, networkd] = notations(Cake::of(&question));
        assert_eq!(
            tc,
            "cake bandwidth 9mbit besteffort nat wash ingress\ncake bandwidth 9mbit besteffort nat"
        );
        assert!(sqm.contains("script piece_of_cake.qos\n") && sqm.contains("squash_dscp 1\n"), "{sqm}");
        assert!(
            sqm.contains("iqdisc_opts besteffort nat wash ingress\neqdisc_opts besteffort nat\n"),
            "{sqm}"
        );
        assert!(networkd.contains("PriorityQueueingPreset=besteffort\nNAT=yes\n"), "{networkd}");
    }

    #[test]
    fn priorities_are_for_all_notations_and_keep_the_marks() {
        let question = Question { diffserv: true, ..Question::new("90mbit/9mbit", "cable").unwrap() };
        let [tc, sqm, networkd] = notations(Cake::of(&question));
        assert!(tc.matches("diffserv3").count() == 2 && !tc.contains("wash"), "{tc}");
        assert!(sqm.contains("script layer_cake.qos\n") && sqm.contains("squash_ingress 0\n"), "{sqm}");
        assert!(networkd.contains("PriorityQueueingPreset=diffserv3\n"), "{networkd}");
    }

    #[test]
    fn a_router_that_translates_nothing_looks_nothing_up() {
        let question = Question { nat: false, ..Question::new("90mbit/9mbit", "cable").unwrap() };
        // Packets on WiFi have the addresses of the devices.
        let wifi = Question::new("60mbit/50mbit", "wifi").unwrap();
        for cake in [question, wifi].map(|question| Cake::of(&question)) {
            let [tc, sqm, networkd] = notations(cake);
            assert!(!tc.contains("nat") && networkd.contains("NAT=no\n"), "{tc} {networkd}");
            // The scripts of SQM begin with `nat`.
            assert_eq!(sqm.matches(" nonat").count(), 2, "{sqm}");
        }
    }
}

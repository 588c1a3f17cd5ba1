//! The disciplines with shapers that routers have. A new one is added to [`managers`].

use goodqueue::{Duration, Rate};
use goodqueue_link::access::{Encapsulation, Framing};

use crate::encapsulation::Told as _;
use crate::question::Question;
use crate::setting::{Manager, Side};

/// Returns all that suit the question, each with its usual parameters. The first is preferred among
/// equals.
pub(crate) fn managers(question: &Question) -> Vec<Box<dyn Manager>> {
    let cake = Box::new(Cake::from_question(question));
    // fq_codel knows no priorities.
    if question.diffserv { vec![cake] } else { vec![cake, Box::new(FqCodel)] }
}

/// Returns the one that needs least of the router's processor.
pub(crate) fn light() -> Box<dyn Manager> {
    Box::new(FqCodel)
}

/// CAKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cake {
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
    fn from_question(question: &Question) -> Self {
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
        let line = accounted.map(|line| line.cake()).unwrap_or_default();
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
            // cake's own words have the overhead. SQM's link layer would add it once more.
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
        // The keyword with the longest time is the nearest one for all longer paths.
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

/// `tbf` with `fq_codel` inside.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct FqCodel;

impl FqCodel {
    /// Returns the shaper's line without the discipline inside.
    fn shaper(rate: Rate, accounted: Option<&Encapsulation>) -> String {
        let usable = accounted.map_or(rate, |line| usable(rate, line));
        let line = accounted.map(|line| line.shaper()).unwrap_or_default();
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
        let [tc, sqm, networkd] = notations(Cake::from_question(&question));
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
        let [tc, sqm, networkd] = notations(Cake::from_question(&question));
        assert!(tc.matches("diffserv3").count() == 2 && !tc.contains("wash"), "{tc}");
        assert!(sqm.contains("script layer_cake.qos\n") && sqm.contains("squash_ingress 0\n"), "{sqm}");
        assert!(networkd.contains("PriorityQueueingPreset=diffserv3\n"), "{networkd}");
    }

    #[test]
    fn a_router_that_translates_nothing_looks_nothing_up() {
        let question = Question { nat: false, ..Question::new("90mbit/9mbit", "cable").unwrap() };
        // Packets on WiFi have the addresses of the devices.
        let wifi = Question::new("60mbit/50mbit", "wifi").unwrap();
        for cake in [question, wifi].map(|question| Cake::from_question(&question)) {
            let [tc, sqm, networkd] = notations(cake);
            assert!(!tc.contains("nat") && networkd.contains("NAT=no\n"), "{tc} {networkd}");
            // The scripts of SQM begin with `nat`.
            assert_eq!(sqm.matches(" nonat").count(), 2, "{sqm}");
        }
    }

    /// sqm-scripts 1.6, `get_stab_string`, and tc-stab(8): the overhead is added to the length of
    /// the frame, whose header of Ethernet Linux counts.
    #[test]
    fn sqm_adds_to_frames_of_ethernet_what_they_lack() {
        let option = |accounted: &Encapsulation, name: &str| {
            let options = FqCodel.sqm(accounted);
            options.into_iter().find(|(option, _)| *option == name).map(|(_, value)| value)
        };
        let cable = Encapsulation { overhead: 18, mpu: 64, framing: Framing::Whole };
        // Of the 18 bytes, 14 are the Ethernet header.
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
        // 64 of 65 bytes.
        let lower = [Rate::from_bps(64_000_000), Rate::from_bps(12_800_000)];
        assert_eq!(FqCodel.sqm_rates(rates, &vdsl), lower);
        let line = FqCodel.line(Side::Egress, rates[0], Some(&vdsl));
        assert!(line.starts_with("tbf rate 64mbit "), "{line}");
        let cells = Encapsulation { framing: Framing::Atm, ..vdsl };
        assert_eq!(FqCodel.sqm_rates(rates, &cells), rates);
    }
}

//! CAKE with its own shaper.

use goodqueue::{Duration, Rate};

use crate::encapsulation::{Encapsulation, Framing};
use crate::manager::{Manager, Side};
use crate::question::Question;

/// CAKE.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Cake {
    /// Keyword for the round-trip time; `None`: the default, `internet`.
    rtt: Option<&'static str>,
    /// Whether pure acknowledgements that are out of date are dropped from the upload's queue.
    filters_acks: bool,
}

impl Cake {
    fn words(self, side: Side) -> String {
        let rtt = self.rtt.map(|keyword| format!(" {keyword}")).unwrap_or_default();
        let of_side = match side {
            Side::Ingress => " ingress",
            Side::Egress if self.filters_acks => " ack-filter",
            Side::Egress => "",
        };
        format!("nat{rtt}{of_side}")
    }
}

impl Manager for Cake {
    fn name(&self) -> String {
        let words = self.words(Side::Egress).replace("nat", "");
        format!("cake{words}")
    }

    fn line(&self, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> String {
        let line = accounted.map(Encapsulation::cake).unwrap_or_default();
        format!("cake bandwidth {rate} {}{line}", self.words(side))
    }

    fn tc(&self, device: &str, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> Vec<String> {
        vec![format!("tc qdisc replace dev {device} root {}", self.line(side, rate, accounted))]
    }

    fn sqm(&self, accounted: &Encapsulation) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("qdisc", "cake".to_owned()),
            ("script", "piece_of_cake.qos".to_owned()),
            ("qdisc_advanced", "1".to_owned()),
            ("qdisc_really_really_advanced", "1".to_owned()),
            ("linklayer", "none".to_owned()),
        ];
        options.push(("iqdisc_opts", format!("{}{}", self.words(Side::Ingress), accounted.cake())));
        options.push(("eqdisc_opts", format!("{}{}", self.words(Side::Egress), accounted.cake())));
        options
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
        let mut text = format!("[CAKE]\nBandwidth={}\nNAT=yes\n", networkd_rate(rate));
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

//! The places of the bottleneck, and the scenario of a line. A new place is added to
//! [`Bottleneck`] and [`place`].

use std::fmt::Write as _;
use std::path::Path;

use goodqueue::{Duration, Rate};
use goodqueue_link::access::{Drops, Variation};
use goodqueue_scenario::scenario::Document;
use goodqueue_sim::wifi::contention::AccessCategory;
use goodqueue_sim::wifi::phy::{MAX_AMPDU_BYTES, Modulation, SIFS, SLOT, Width, mpdu_bytes, subframe_bytes};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::show_rate;

use crate::advice::{Advice, InMix};
use crate::encapsulation::Told as _;
use crate::kind::Bottleneck;
use crate::model::{Mix, Model, Router, port_rate};
use crate::question::Question;
use crate::words::{change, milliseconds, percent};

/// A place of the bottleneck: which lines can be modelled, how, and why the advice helps.
pub(crate) trait Place {
    /// Refuses lines that cannot be modelled.
    fn check(&self, question: &Question) -> Result<(), Diagnostic>;

    /// Returns the links, with the router's port first, in TOML.
    fn links(&self, model: &Model<'_>, seed: u64) -> String;

    /// Returns the reason for the advice. `without_s`: latency without the line's encapsulation.
    fn reason(&self, question: &Question, advice: &Advice, without_s: f64) -> String;
}

/// Returns the place of this bottleneck.
pub(crate) fn place(bottleneck: Bottleneck) -> Box<dyn Place> {
    match bottleneck {
        Bottleneck::Modem => Box::new(Modem),
        Bottleneck::AccessPoint { mac } => Box::new(AccessPoint { mac }),
    }
}

/// A line behind a modem: the modem and the head end hold the queues, and the router shapes at its
/// port to the modem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Modem;

impl Place for Modem {
    fn check(&self, _: &Question) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn links(&self, model: &Model<'_>, seed: u64) -> String {
        let question = model.question;
        let port = port_rate(question);
        format!(
            "[link]\ndown = '{port}'\nup = '{port}'\nrtt = '{}ns'\nmtu = {}\n\n[[hops]]\nname = 'modem'\nside = 'server'\n{}",
            question.rtt.as_nanos(),
            question.kind.line.mtu,
            line(model, seed)
        )
    }

    fn reason(&self, question: &Question, advice: &Advice, without_s: f64) -> String {
        let today = &advice.today;
        let advised = &advice.advised;
        if question.varies() {
            return "The rate of this line changes, so a fixed shaper is too slow most of the time. A shaper that \
                    follows the line, such as cake-autorate, wastes less."
                .to_owned();
        }
        if without_s > advised.latency_s.max + CLEAR_S {
            return format!(
                "The shaper moves the queue from the modem, which does not manage it, to the router, which does. \
                 Without the overhead of the line in the settings, the modem's queue fills again: pings take {} \
                 longer.",
                milliseconds(without_s)
            );
        }
        if today.latency_s.mean - advised.latency_s.mean > 0.0 {
            "The shaper moves the queue from the modem, which does not manage it, to the router, which does."
                .to_owned()
        } else {
            "The buffers of this line are small.".to_owned()
        }
    }
}

/// Returns the rates and buffers of the line.
fn line(model: &Model<'_>, seed: u64) -> String {
    let question = model.question;
    let mut text = String::new();
    let fifo = |side: usize| buffer_line(question.kind.line.buffer.drops, model.buffers[side]);
    // Writing to a string cannot fail.
    if let Some(traces) = &question.traces {
        let path = |path: &Path| toml_text(&path.display().to_string());
        let _ = writeln!(
            text,
            "down = {{ trace = {} }}\nup = {{ trace = {} }}\nqdisc = {{ down = '{}', up = '{}' }}",
            path(&traces.down),
            path(&traces.up),
            fifo(0),
            fifo(1)
        );
    } else if question.kind.line.varies() {
        let seconds = model.span.total();
        let rate = |side: usize| {
            let mean = question.rates[side].as_bps();
            // Each direction of each seed varies in its own way.
            schedule(question.kind.line.variation, mean, seconds, seed * 2 + side as u64)
        };
        let _ = writeln!(
            text,
            "down = {}\nup = {}\nqdisc = {{ down = '{}', up = '{}' }}",
            rate(0),
            rate(1),
            fifo(0),
            fifo(1)
        );
    } else {
        // The bucket holds one full packet, because a real line sends no bursts faster than its
        // rate.
        let line = |side: usize| {
            let encapsulation = &question.kind.line.encapsulation;
            let real = question.kind.line.modelled(question.rates[side]);
            let rate = Rate::from_bps(encapsulation.usable(real.as_bps() * model.slower / 1000));
            format!(
                "tbf rate {}bit burst 1600 limit {}{}",
                rate.as_bps(),
                model.buffers[side],
                encapsulation.shaper()
            )
        };
        let _ = writeln!(text, "qdisc = {{ down = '{}', up = '{}' }}", line(0), line(1));
    }
    text
}

/// Returns the queue of a modem or a head end in tc's grammar.
fn buffer_line(drops: Drops, bytes: u64) -> String {
    // The least buffer is two packets, and the largest far below the range of a limit.
    drops.qdisc(bytes).map_or_else(|_| format!("bfifo limit {bytes}"), |qdisc| tc::to_tc(&qdisc))
}

/// Returns the rate of a link as a value in a scenario file: that of this run, for `duration_s`.
fn schedule(variation: Variation, mean_bps: u64, duration_s: f64, seed: u64) -> String {
    let rates = variation.rates(mean_bps, duration_s, seed);
    let steps: String = rates.iter().map(|(at, bps)| format!("[\"{at:.1}s\", \"{bps}bit\"], ")).collect();
    format!("{{ schedule = [{steps}] }}")
}

/// Returns text as a value in a scenario file.
fn toml_text(text: &str) -> String {
    // A string of JSON is also a basic string of TOML, except that TOML allows DEL only as an
    // escape.
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A difference that somebody feels.
const CLEAR_S: f64 = 0.020;

/// WiFi that is slower than the line behind it: the access point, a device near it and a device far
/// from it hold the queues. Both directions share the air, and the access point shapes at its WiFi
/// interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AccessPoint {
    /// The queue of the access point, as `wifi.mac` in scenarios.
    mac: &'static str,
}

impl Place for AccessPoint {
    fn check(&self, question: &Question) -> Result<(), Diagnostic> {
        if question.traces.is_some() {
            return Err(Diagnostic::new(
                "recordings are for lines, and the rate of WiFi follows from its air",
            )
            .help("give the rates of a speed test over WiFi, such as 60mbit/50mbit"));
        }
        let fastest = Rate::from_bps(modulations(|_, _| true).map(goodput_bps).max().unwrap_or_default());
        match question.rates.iter().find(|rate| **rate > fastest) {
            None => Ok(()),
            Some(rate) => {
                Err(Diagnostic::new(format!("the model of WiFi does not reach {}", show_rate(*rate)))
                    .allowed(format!("up to {}, as 802.11n carries at most", show_rate(fastest)))
                    .help("with WiFi this fast the line behind it is usually slower: give its kind"))
            }
        }
    }

    fn links(&self, model: &Model<'_>, _: u64) -> String {
        let question = model.question;
        let Air { width, short_gi, mcs, far } = Air::from_rates(question.rates);
        let [down, up] = model.buffers.map(|bytes| format!("bfifo limit {bytes}"));
        format!(
            "[link]\ndown = '{WIRE}'\nup = '{WIRE}'\nrtt = '{}ns'\nmtu = {}\n\n\
             [wifi]\nmac = '{}'\nqdisc = {{ down = '{down}', up = '{up}' }}\ndriver = {DRIVER}\n\
             driver_up = {DEVICE_DRIVER}\nwidth = {}\nshort_gi = {short_gi}\n\
             stations = [{{ mcs = {}, mcs_up = {} }}, {{ mcs = {}, mcs_up = {} }}]\n",
            question.rtt.as_nanos(),
            question.kind.line.mtu,
            self.mac,
            width.mhz(),
            mcs[0],
            mcs[1],
            far[0],
            far[1],
        )
    }

    fn reason(&self, _: &Question, advice: &Advice, _: f64) -> String {
        let mut text =
            "Both directions share the air, and the queue is also in the devices, so the shapers must be \
                        slow enough for both directions at once."
                .to_owned();
        let alone = [(0, "Without uploads, downloads get"), (1, "Without downloads, an upload gets")];
        for (side, what) in alone {
            // The mix in which this direction has the air for itself.
            let quiet = |mix: &&InMix| mix.today_goodput_bps[1 - side];
            let Some(mix) = advice.mixes.iter().min_by(|one, other| quiet(one).total_cmp(&quiet(other)))
            else {
                continue;
            };
            let today = mix.today_goodput_bps[side];
            let advised = mix.advised_goodput_bps[side];
            // A smaller change is shown as none, see `change`.
            if percent(today, advised) <= -1.0 {
                text += &format!(" {what} {}.", change(today, advised));
            }
        }
        let better = |mix: &&InMix| mix.instead_s.is_some_and(|instead| instead.max < mix.advised_s.min);
        let better: Vec<String> =
            advice.mixes.iter().filter(better).map(|mix| format!("\"{}\"", mix.name)).collect();
        if !better.is_empty() {
            text += &format!(
                " An access point that queues per flow is better in: {}. A shaper does not know that a far device makes \
                 the air slower.",
                better.join(", ")
            );
        }
        text
    }
}

/// How the devices send.
struct Air {
    width: Width,
    short_gi: bool,
    /// Modulation of the near device: down, up.
    mcs: [u8; 2],
    /// Modulation of the far device.
    far: [u8; 2],
}

impl Air {
    /// Returns the modulations with which TCP reaches about these rates, one direction at a time.
    fn from_rates(rates: [Rate; 2]) -> Self {
        let mut best: Option<(f64, Self)> = None;
        for width in [Width::Mhz20, Width::Mhz40] {
            for short_gi in [false, true] {
                let nearest = |bps: u64| {
                    modulations(|of, gi| of == width && gi == short_gi)
                        .map(|modulation| (distance(goodput_bps(modulation), bps), modulation.mcs()))
                        .min_by(|one, other| one.0.total_cmp(&other.0))
                        .unwrap_or_default()
                };
                let [down, up] = rates.map(|rate| nearest(rate.as_bps()));
                let apart = down.0 + up.0;
                if best.as_ref().is_none_or(|(least, _)| apart < *least) {
                    let far = rates.map(|rate| nearest(rate.as_bps() / FAR).1);
                    best = Some((apart, Self { width, short_gi, mcs: [down.1, up.1], far }));
                }
            }
        }
        // There always is a best one; the other value only avoids a panic.
        best.map_or(Self { width: Width::Mhz20, short_gi: false, mcs: [0; 2], far: [0; 2] }, |(_, air)| air)
    }
}

fn modulations(wanted: impl Fn(Width, bool) -> bool) -> impl Iterator<Item = Modulation> {
    let air = [Width::Mhz20, Width::Mhz40].into_iter().flat_map(|width| [(width, false), (width, true)]);
    air.filter(move |(width, short_gi)| wanted(*width, *short_gi)).flat_map(|(width, short_gi)| {
        (0..=Modulation::MAX_MCS).filter_map(move |mcs| Modulation::new(mcs, width, short_gi))
    })
}

/// Returns how far apart two rates are.
fn distance(one: u64, other: u64) -> f64 {
    // In logarithms half of a rate is as far away as its double.
    #[expect(clippy::cast_precision_loss, reason = "rates of a link")]
    let ratio = one as f64 / other as f64;
    libm::log(ratio).abs()
}

/// Returns what TCP gets in one direction: aggregates of data take turns with aggregates of
/// acknowledgements, one for two packets. Nothing is lost, and nobody else sends.
fn goodput_bps(modulation: Modulation) -> u64 {
    let data = subframe_bytes(mpdu_bytes(PACKET));
    let fitting = modulation.bytes_within(LONGEST).min(MAX_AMPDU_BYTES) / data;
    let packets = fitting.clamp(1, AGGREGATE);
    let acks = packets.div_ceil(2);
    let airtime = exchange(modulation, packets, data)
        + exchange(modulation, acks, subframe_bytes(mpdu_bytes(ACKNOWLEDGEMENT)));
    u64::from(packets) * PAYLOAD_BITS * 1_000_000_000 / airtime.as_nanos()
}

/// Returns the airtime of an aggregate with its channel access and its answer.
fn exchange(modulation: Modulation, frames: u32, bytes: u32) -> Duration {
    let edca = AccessCategory::Be.edca();
    // The mean backoff is half of the contention window. Twice the slots are whole numbers.
    let slots = u64::from(edca.aifsn) * 2 + u64::from(edca.cw_min);
    let access = SIFS + Duration::from_nanos(SLOT.as_nanos() * slots / 2);
    access + modulation.ppdu(frames * bytes) + SIFS + modulation.answer(frames > 1)
}

/// The wire behind the access point.
const WIRE: &str = "1gbit";
/// Packets in the driver of the access point: ath9k.
const DRIVER: u32 = 123;
/// Packets in the driver of a device: iwlwifi stops at 7/8 of a ring of 256.
const DEVICE_DRIVER: u32 = 224;
/// The far device has the rate of the near one divided by this.
const FAR: u64 = 2;
/// IP bytes of a full packet and of an acknowledgement, with timestamps.
const PACKET: u32 = 1500;
const ACKNOWLEDGEMENT: u32 = 52;
const PAYLOAD_BITS: u64 = 1448 * 8;
/// The defaults of `[wifi]` in scenarios.
const LONGEST: Duration = Duration::from_millis(4);
const AGGREGATE: u32 = 32;

impl Model<'_> {
    /// Returns the scenario: this line with each of the routers, for this traffic.
    pub(crate) fn scenario(&self, mix: &Mix, routers: &[Router], seed: u64) -> Result<Document, Diagnostic> {
        Document::parse("advise.toml", &self.text(mix, routers, seed), Path::new(""))
    }

    /// Returns that scenario as the text of a file.
    pub(crate) fn text(&self, mix: &Mix, routers: &[Router], seed: u64) -> String {
        let question = self.question;
        let seconds = self.span.total();
        let warmup = self.span.warmup_s;
        let mut text = format!(
            "name = 'advise'\ntitle = '{}, {} down, {} up: {}'\nduration = '{seconds:.1}s'\nwarmup = '{warmup:.1}s'\nseed = {seed}\nqdiscs = [\n",
            question.kind.line.title, question.rates[0], question.rates[1], mix.name
        );
        for router in routers {
            let [down, up] = &router.lines;
            // Writing to a string cannot fail. Labels and lines have no quotes.
            let _ = writeln!(text, "  {{ label = '{}', down = '{down}', up = '{up}' }},", router.label);
        }
        text += "]\n\n";
        text += &place(question.kind.bottleneck).links(self, seed);
        text += &mix.flows(question);
        text
    }
}

#[cfg(test)]
mod tests {
    use goodqueue_scenario::run::runs_of;
    use goodqueue_scenario::scenario::Names;
    use goodqueue_scenario::session::{NoWatch, Session};
    use goodqueue_scenario::sweep::Sweep;

    use super::*;

    #[test]
    fn a_path_with_any_characters_is_the_same_path_in_a_scenario() {
        let characters: String = (1..=0x9f).filter_map(char::from_u32).chain("é\u{2028}😀".chars()).collect();
        let toml = toml_text(&characters);
        let text = format!("[link]\ndown = {{ trace = {toml} }}\n");
        assert!(Document::parse("test.toml", &text, Path::new("")).is_ok(), "{toml}");
        assert!(!toml.contains('\u{7f}') && toml.ends_with("é\u{2028}😀\""), "{toml}");
    }

    /// What a speed test shows in this model: downloads on the near device.
    fn downloaded(rates: [Rate; 2]) -> f64 {
        let Air { width, short_gi, mcs, .. } = Air::from_rates(rates);
        let text = format!(
            "duration = '25s'\nwarmup = '5s'\nqdiscs = ['pfifo limit 1000']\nlink = {{ down = '1gbit', rtt = '20ms' }}\n\
             wifi = {{ width = {}, short_gi = {short_gi}, mcs = {}, mcs_up = {} }}\n[[flows]]\ncount = 4\n",
            width.mhz(),
            mcs[0],
            mcs[1]
        );
        let document = Document::parse("test.toml", &text, Path::new("")).unwrap();
        let point = Sweep::new(&document, &Names::default()).unwrap().point(0).unwrap();
        let session = Session::from_runs(runs_of(&[point], None).unwrap()).threads(1);
        session.run(&NoWatch).unwrap().runs()[0].goodput.down
    }

    #[test]
    fn a_speed_test_in_the_model_shows_the_rate_that_was_given() {
        for bps in [10_000_000, 60_000_000, 250_000_000] {
            let goodput = downloaded([Rate::from_bps(bps); 2]);
            #[expect(clippy::cast_precision_loss, reason = "a rate of a link")]
            let ratio = goodput / bps as f64;
            assert!((0.85..1.15).contains(&ratio), "{bps} bit/s: {goodput}");
        }
    }

    #[test]
    fn wifi_faster_than_the_model_is_refused() {
        let refused = Question::new("900mbit/400mbit", "wifi").unwrap_err().to_string();
        assert!(refused.contains("does not reach 900 Mbit/s"), "{refused}");
    }
}

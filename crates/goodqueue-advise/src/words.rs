//! The answer in words.

use std::fmt::Write as _;

use goodqueue_tc::units;

use crate::advice::{Advice, Measured, Spread};
use crate::question::Question;

/// Returns the first output: that the search begins.
#[must_use]
pub fn heading(question: &Question) -> String {
    format!("searching the best setting of a router for {} ...", question.kind.title)
}

/// Returns the line in words.
pub(crate) fn line(question: &Question) -> String {
    let [down, up] = question.rates.map(units::show_rate);
    let kind = if question.traces.is_some() { "a recorded line" } else { question.kind.title };
    format!("{down} down, {up} up, {kind}, base RTT {}", units::show_time(question.rtt))
}

/// Returns the reason in one sentence.
pub(crate) fn reason(question: &Question, today: &Measured, advised: &Measured, without: f64) -> String {
    if question.kind.varies() || question.traces.is_some() {
        return "The rate of this line changes, so a fixed shaper is too slow most of the time. A shaper that follows \
                the line, such as cake-autorate, wastes less."
            .to_owned();
    }
    if without > advised.latency_s.max + CLEAR_S {
        return format!(
            "The shaper moves the queue from the modem, which does not manage it, to the router, which does. Without \
             the overhead of the line in the settings, the modem's queue fills again: pings take {} longer.",
            milliseconds(without)
        );
    }
    if today.latency_s.mean - advised.latency_s.mean > 0.0 {
        "The shaper moves the queue from the modem, which does not manage it, to the router, which does."
            .to_owned()
    } else {
        "The buffers of this line are small.".to_owned()
    }
}

/// Returns the advice as text of at most 100 columns, except for the settings.
#[must_use]
pub fn words(advice: &Advice) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let buffers = advice.buffer_bytes.map(size);
    let from = if advice.is_measured { "from your pings" } else { "usual for such lines" };
    let _ =
        writeln!(text, "{}\nbuffers of {} down and {} up ({from})\n", advice.line, buffers[0], buffers[1]);
    let today = &advice.today;
    let _ = writeln!(
        text,
        "Today:  pings take {} under load, {} longer than on the idle line: grade {}.",
        milliseconds(today.ping_s),
        milliseconds(today.ping_s - idle(advice)),
        today.grade
    );
    if advice.keep {
        let _ = writeln!(
            text,
            "\nLeave the router as it is: no setting that was tried makes pings clearly shorter.\n\n{}",
            confidence(advice)
        );
        return text;
    }
    let advised = &advice.advised;
    let _ = writeln!(
        text,
        "Advice: pings take {} under load, {} longer: grade {}.\n        Downloads get {}, uploads {}.\n",
        milliseconds(advised.ping_s),
        milliseconds(advised.ping_s - idle(advice)),
        advised.grade,
        change(today.goodput_bps[0], advised.goodput_bps[0]),
        change(today.goodput_bps[1], advised.goodput_bps[1]),
    );
    for setting in &advice.settings {
        let _ = writeln!(text, "# {}\n{}", setting.place, setting.text);
    }
    let _ = writeln!(text, "{}\n{}", wrapped(&format!("Why: {}", advice.reason)), confidence(advice));
    text
}

/// Says how sure the result is.
fn confidence(advice: &Advice) -> String {
    let mut text = format!(
        "Verified with {} traffic mixes and {} that the search had not seen. Pings took longer by:\n",
        advice.mixes.len(),
        seeds(advice.mixes.first().map_or(0, |mix| mix.today_s.runs))
    );
    let widest = advice.mixes.iter().map(|mix| mix.name.len()).max().unwrap_or_default();
    let _ = writeln!(text, "  {:widest$}  {:>16}  {:>16}", "", "today", "advice");
    for mix in &advice.mixes {
        let range = |spread: &Spread| {
            let (least, most) = (plain(spread.min), plain(spread.max));
            if least == most { format!("{most} ms") } else { format!("{least} to {most} ms") }
        };
        let _ = writeln!(
            text,
            "  {:widest$}  {:>16}  {:>16}",
            mix.name,
            range(&mix.today_s),
            range(&mix.advised_s)
        );
    }
    text
}

fn idle(advice: &Advice) -> f64 {
    // The mean of the searched mix, so that both sentences above agree.
    let first = advice.mixes.first().map_or(0.0, |mix| mix.today_s.mean);
    advice.today.ping_s - first
}

fn change(before: f64, after: f64) -> String {
    let rate = units_rate(after);
    if before <= 0.0 {
        return rate;
    }
    let percent = (after / before - 1.0) * 100.0;
    if percent.abs() < 1.0 { format!("{rate} as today") } else { format!("{rate} ({percent:+.0} %)") }
}

/// Breaks lines at spaces.
fn wrapped(text: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        if width + word.len() >= COLUMNS {
            lines.push_str("\n     ");
            width = 5;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += word.len();
    }
    lines + "\n"
}

/// Width of a terminal.
const COLUMNS: usize = 80;
/// A difference that somebody feels.
const CLEAR_S: f64 = 0.020;

/// Returns a size in kB or MB of 1000.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let kilobytes = bytes as f64 / 1e3;
    if kilobytes >= 995.0 {
        format!("{} MB", three(kilobytes / 1e3))
    } else {
        format!("{} kB", three(kilobytes))
    }
}

fn units_rate(bps: f64) -> String {
    format!("{} Mbit/s", three(bps / 1e6))
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", plain(seconds))
}

fn plain(seconds: f64) -> String {
    three(seconds * 1e3)
}

/// Two or three digits: 843, 84, 8.4, 0.84.
fn three(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 9.95 => 0,
        value if value >= 0.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

fn seeds(count: usize) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}

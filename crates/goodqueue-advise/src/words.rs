//! The answer in words.

use std::fmt::Write as _;

use goodqueue::Rate;
use goodqueue_scenario::choice::starves;
use goodqueue_scenario::measure::{CONVERSATION_RTT_S, VOICE_CAPS, grade};
use goodqueue_scenario::number::with_digits;
use goodqueue_tc::units;

use crate::advice::{Advice, First, Measured, Spread};
use crate::question::Question;

/// Returns the first output: that the search begins.
#[must_use]
pub fn heading(question: &Question) -> String {
    format!("searching the best setting of a router for {} ...", question.kind.line.title)
}

/// Returns the first answer in one sentence.
#[must_use]
pub fn first_words(first: &First) -> String {
    let [down, up] = first.shaped_bps.map(|bps| units::show_rate(Rate::from_bps(bps)));
    format!(
        "first answer, not verified yet: {} at {down} down and {up} up; pings take {} longer instead of {}",
        first.discipline,
        milliseconds(first.latency_s[1]),
        milliseconds(first.latency_s[0])
    )
}

/// Returns the line in words.
pub(crate) fn line(question: &Question) -> String {
    let [down, up] = question.rates.map(units::show_rate);
    let kind = if question.traces.is_some() { "a recorded line" } else { question.kind.line.title };
    format!("{down} down, {up} up, {kind}, base RTT {}", units::show_time(question.rtt))
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
    let _ =
        writeln!(text, "Today:  {}: grade {}.", pings(advice, today, " than on the idle line"), today.grade);
    if advice.keep {
        text += &instead(advice);
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
        "Advice: {}: grade {}.{}\n        Downloads get {}, uploads {}.",
        pings(advice, advised, ""),
        advised.grade,
        worst(advice).map(|reason| format!("\n        {reason}")).unwrap_or_default(),
        change(today.goodput_bps[0], advised.goodput_bps[0]),
        change(today.goodput_bps[1], advised.goodput_bps[1]),
    );
    text += &beginning(advice);
    text += &instead(advice);
    text.push('\n');
    text += &steps(advice);
    for setting in advice.settings.iter().filter(|setting| setting.is_common) {
        let _ = writeln!(text, "# {}\n{}", setting.place, setting.words());
    }
    let others: Vec<&str> =
        advice.settings.iter().filter(|setting| !setting.is_common).map(|setting| setting.name).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "{}", wrapped(&format!("Other routers: --only {}", others.join(", ")), 15));
    }
    let _ = writeln!(text, "{}\n{}", wrapped(&format!("Why: {}", advice.reason), 5), confidence(advice));
    text
}

/// Says how long pings take under load, and how much longer.
fn pings(advice: &Advice, of: &Measured, than: &str) -> String {
    match (of.ping_s, added(advice, of)) {
        (Some(ping_s), Some(added_s)) => {
            format!("pings take {} under load, {} longer{than}", milliseconds(ping_s), milliseconds(added_s))
        }
        _ => NO_PING.to_owned(),
    }
}

/// What is said where a time would have no value.
pub(crate) const NO_PING: &str = "no ping came back under load";

/// Says why the grade with the advice is worse than the ping before it.
pub(crate) fn worst(advice: &Advice) -> Option<String> {
    let advised = &advice.advised;
    let added_s = added(advice, advised)?;
    if grade(added_s) == advised.grade {
        return None;
    }
    let call_mos = advised.call_mos.filter(|score| VOICE_CAPS.iter().any(|(bound, _)| score < bound));
    let is_late = advised.late_ping_s.is_some_and(|ping_s| ping_s > CONVERSATION_RTT_S);
    let reason = if grade(advised.worst_s) == advised.grade {
        format!("The grade is that of BBR senders, which add {}.", milliseconds(advised.worst_s))
    } else if let Some(score) = call_mos {
        format!("The grade is low because calls suffer: they score {score:.1} of 4.5.")
    } else if (0..2).any(|side| starves(advised.goodput_bps[side], advice.today.goodput_bps[side])) {
        "The grade is low because a direction loses more than half of its goodput.".to_owned()
    } else if is_late {
        format!(
            "The grade is low because with one of the loads 5 % of the pings take longer than {}.",
            milliseconds(CONVERSATION_RTT_S)
        )
    } else {
        return None;
    };
    Some(reason)
}

/// Says what the first seconds feel like, if they differ from what lasts.
fn beginning(advice: &Advice) -> String {
    let (Some(today_s), Some(advised_s)) = (advice.today.first_s, advice.advised.first_s) else {
        return String::new();
    };
    let lasting_s = added(advice, &advice.advised);
    if lasting_s.is_some_and(|lasting_s| advised_s < lasting_s * 2.0 + 0.005) {
        return String::new();
    }
    format!(
        "        In the first ten seconds of a load, pings take {} longer (today {}).\n",
        milliseconds(advised_s),
        milliseconds(today_s)
    )
}

/// Returns what to do before and after, numbered.
fn steps(advice: &Advice) -> String {
    let mut text = "Before you start\n".to_owned();
    for (number, step) in (1..).zip(&advice.steps) {
        let mut lines = step.lines();
        text += &wrapped(&format!("{number}. {}", lines.next().unwrap_or_default()), 3);
        // A command is one line, so that it can be copied.
        text.extend(lines.map(|command| format!("     {command}\n")));
    }
    text + "\n"
}

/// Says what other equipment would change.
fn instead(advice: &Advice) -> String {
    let Some(other) = &advice.instead else { return String::new() };
    let today = &advice.today;
    let measured = &other.measured;
    format!(
        "{}        With it, {}: grade {}.\n        Downloads get {}, uploads {}.\n",
        wrapped(&format!("Or:     {}:", other.equipment), 8),
        pings(advice, measured, ""),
        measured.grade,
        change(today.goodput_bps[0], measured.goodput_bps[0]),
        change(today.goodput_bps[1], measured.goodput_bps[1]),
    )
}

/// Says how sure the result is.
fn confidence(advice: &Advice) -> String {
    let mut text = format!(
        "Verified with {} traffic mixes, each with {} that the search had not seen.\nPings took longer by (ms):\n",
        advice.mixes.len(),
        seeds(advice)
    );
    let widest = advice.mixes.iter().map(|mix| mix.name.len()).max().unwrap_or_default();
    let range = |spread: &Spread| {
        let least = plain(spread.min);
        let most = plain(spread.max);
        if least == most { most } else { format!("{least} to {most}") }
    };
    let mut line = |name: &str, columns: [String; 3]| {
        let columns: String = columns.iter().map(|column| format!(" {column:>12}")).collect();
        // Text that is pasted from a terminal would carry the blanks along.
        let _ = writeln!(text, "{}", format!("  {name:widest$}{columns}").trim_end());
    };
    let instead = if advice.instead.is_some() { "per-flow AP" } else { "" };
    line("", ["today", "advice", instead].map(str::to_owned));
    for mix in &advice.mixes {
        let instead = mix.instead_s.as_ref().map(range).unwrap_or_default();
        line(mix.name, [range(&mix.today_s), range(&mix.advised_s), instead]);
    }
    text
}

/// Returns how much longer pings take under load than on the idle line; `None` if none came back.
pub(crate) fn added(advice: &Advice, of: &Measured) -> Option<f64> {
    // The mean of the searched mix, so that the sentences about today and the advice agree.
    let first = advice.mixes.first().map_or(0.0, |mix| mix.today_s.mean);
    let idle = advice.today.ping_s.map_or(advice.rtt_s, |ping_s| ping_s - first);
    Some(of.ping_s? - idle)
}

/// Says a rate, and by how much it differs from the one before.
pub(crate) fn change(before: f64, after: f64) -> String {
    let rate = units_rate(after);
    if before <= 0.0 {
        return rate;
    }
    let percent = percent(before, after);
    if percent.abs() < 1.0 { format!("{rate} as today") } else { format!("{rate} ({percent:+.0} %)") }
}

/// Returns the change in percent.
pub(crate) fn percent(before: f64, after: f64) -> f64 {
    (after / before - 1.0) * 100.0
}

/// Breaks lines at spaces, and indents all but the first.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        if width + word.len() >= COLUMNS {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            width = indent;
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
/// Returns a size in kB or MB of 1000.
pub(crate) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let kilobytes = bytes as f64 / 1e3;
    if kilobytes >= 995.0 {
        format!("{} MB", short(kilobytes / 1e3))
    } else {
        format!("{} kB", short(kilobytes))
    }
}

fn units_rate(bps: f64) -> String {
    format!("{} Mbit/s", short(bps / 1e6))
}

pub(crate) fn milliseconds(seconds: f64) -> String {
    format!("{} ms", plain(seconds))
}

fn plain(seconds: f64) -> String {
    short(seconds * 1e3)
}

/// Two or three digits: 843, 84, 8.4, 0.84.
fn short(value: f64) -> String {
    with_digits(value, 2, 2)
}

/// Returns the number of seeds of a mix.
pub(crate) fn seeds(advice: &Advice) -> String {
    let counts = || advice.mixes.iter().flat_map(|mix| [mix.today_s.runs, mix.advised_s.runs]);
    match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (1, 1) => "1 seed".to_owned(),
        (least, most) if least == most => format!("{most} seeds"),
        (least, most) => format!("{least} to {most} seeds"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use goodqueue_scenario::results::{Grade, Results};

    use super::*;
    use crate::advice::InMix;

    /// Returns values of a line whose idle ping is 20 ms.
    pub(crate) fn measured(added_s: f64, letter: Grade) -> Measured {
        let latency_s = Spread::from_values([added_s]);
        Measured {
            latency_s,
            goodput_bps: [20e6, 20e6],
            grade: letter,
            call_mos: None,
            ping_s: Some(0.020 + added_s),
            late_ping_s: Some(0.020 + added_s),
            first_s: None,
            worst_s: added_s,
        }
    }

    /// Returns advice that turns half a second into 10 ms.
    pub(crate) fn advice() -> Advice {
        let today = measured(0.5, Grade::F);
        let advised = measured(0.010, Grade::A);
        Advice {
            line: "40 Mbit/s down".to_owned(),
            sources: String::new(),
            rate_bps: [40_000_000; 2],
            rtt_s: 0.020,
            buffer_bytes: [100_000; 2],
            is_measured: false,
            keep: false,
            reason: String::new(),
            mixes: vec![InMix {
                name: "a load",
                today_s: today.latency_s,
                advised_s: advised.latency_s,
                instead_s: None,
                today_goodput_bps: today.goodput_bps,
                advised_goodput_bps: advised.goodput_bps,
            }],
            discipline: "cake".to_owned(),
            shaped_bps: [38_000_000; 2],
            lines: ["cake".to_owned(), "cake".to_owned()],
            steps: Vec::new(),
            settings: Vec::new(),
            today,
            advised,
            instead: None,
            tried: Vec::new(),
            scenario: String::new(),
            results: Results::default(),
        }
    }

    #[test]
    fn a_ping_that_never_came_back_has_no_time() {
        let mut advice = advice();
        assert!(words(&advice).contains("Today:  pings take 520 ms under load, 500 ms longer than on the"));
        advice.today.ping_s = None;
        let text = words(&advice);
        assert!(text.contains("Today:  no ping came back under load: grade F."), "{text}");
        // 30 ms without the 20 ms of the idle line.
        assert!(text.contains("Advice: pings take 30 ms under load, 10 ms longer: grade A."), "{text}");
        advice.advised.ping_s = None;
        let all = words(&advice) + &crate::page::html(&advice);
        assert!(all.contains("Advice: no ping came back under load: grade A."), "{all}");
        assert!(!all.contains("inf ms") && !all.contains("NaN"), "{all}");
    }

    #[test]
    fn a_low_grade_has_its_own_reason() {
        let mut advice = advice();
        assert_eq!(worst(&advice), None);
        advice.advised.grade = Grade::C;
        let reason = |advice: &Advice| worst(advice).unwrap_or_default();
        // Both directions carry what they carry today.
        advice.advised.late_ping_s = Some(0.35);
        let text = reason(&advice);
        assert!(text.contains("with one of the loads 5 % of the pings take longer than 300 ms"), "{text}");
        advice.advised.goodput_bps[1] = 9e6;
        assert!(reason(&advice).contains("a direction loses more than half of its goodput"));
        advice.advised.call_mos = Some(3.5);
        assert!(reason(&advice).contains("they score 3.5 of 4.5"));
        advice.advised.worst_s = 0.1;
        assert!(reason(&advice).contains("BBR senders, which add 100 ms"));
    }
}

//! A link as one line of text.

extern crate std;

use core::ops::Range;
use core::str::FromStr;
use std::borrow::ToOwned;
use std::vec::Vec;

use goodqueue::config::Link as LinkDefaults;
use goodqueue::{AnyConfig, Flow, Packet, Rate};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::access::{Preset, presets};
use crate::air::Air;
use crate::builder::LinkBuilder;
use crate::duplex::Duplex;

/// Reads `RATE [preset NAME] [FAULTS] [[DISCIPLINE]]`, such as
/// `20mbit delay 25ms loss 0.1% [fq_codel ecn]` or `40mbit preset cable [codel]`.
///
/// | part | form |
/// |---|---|
/// | rate | a rate with its unit, or `unlimited` |
/// | preset | `preset` and the name of a kind of line, see [`LinkBuilder::preset`] |
/// | faults | `delay`, `loss`, `reorder`, `duplicate`, ... as `netem` has them in tc; `jitter TIME` alone |
/// | discipline | a line in tc's grammar, in brackets; `pfifo limit 1000` or the buffer of the preset without |
///
/// A delay alone is the same for all packets. A time behind it is a jitter, as in tc.
impl FromStr for LinkBuilder {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let read = || match read(text)? {
            Ways { down, up: None } => Ok(down),
            Ways { up: Some(_), .. } => Err(Diagnostic::new("a link has one direction, and so one rate")
                .at(first_word(text))
                .help("make both directions with `Duplex::from_text`")),
        };
        read().map_err(|error| error.in_argument("link", text))
    }
}

impl<P: Packet + Flow> Duplex<P> {
    /// Reads a line in both directions: as a link, except that the rate may be two, as in
    /// `40mbit/10mbit preset dsl [fq_codel]`. The first one is that from the server to the client.
    /// Both directions have the faults and the discipline.
    ///
    /// # Errors
    /// The text is wrong, or a value is out of its range; the message says where.
    pub fn from_text(text: &str, seed: u64) -> Result<Self, Diagnostic> {
        let line = || {
            let Ways { down, up } = read(text)?;
            let build = |builder: &LinkBuilder| {
                builder.build().map_err(|error| Diagnostic::new(std::format!("{error}")))
            };
            // A text without words for the opposite direction describes both.
            let up = up.unwrap_or_else(|| down.clone());
            Ok(Self::new(build(&down.seed(seed))?, build(&up.seed(seed).with_other_seed())?))
        };
        line().map_err(|error: Diagnostic| error.in_argument("line", text))
    }
}

/// A value for one direction or for both.
struct Ways<T> {
    down: T,
    up: Option<T>,
}

/// Reads the link of one direction, or those of both.
fn read(text: &str) -> Result<Ways<LinkBuilder>, Diagnostic> {
    let outside = text.find('[').unwrap_or(text.len());
    let words = words_of(text.get(..outside).unwrap_or_default());
    let Some((first, rest)) = words.split_first() else {
        return Err(Diagnostic::new("a link needs a rate").at(0..text.len()).help(EXAMPLE));
    };
    let Ways { down, up } = rates(text, first)?;
    let mut builder = LinkBuilder::new();
    // The steps below need a builder for both directions; without a second rate this one is
    // dropped.
    let mut opposite = LinkBuilder::new();
    let faults = match rest.split_first() {
        Some((word, rest)) if text.get(word.clone()) == Some(PRESET) => {
            let preset = preset(text, word, rest.first(), down)?;
            if down == Rate::MAX {
                return Err(Diagnostic::new("an access line is not unlimited")
                    .at(first.clone())
                    .help("give the rate of its contract or its modem, such as `40mbit preset cable`"));
            }
            builder = builder.preset(preset, down);
            opposite = opposite.preset(preset, up.unwrap_or(down));
            // `preset` has read the name, and has refused its absence.
            rest.get(1..).unwrap_or_default()
        }
        _ => {
            builder = builder.rate(down);
            opposite = opposite.rate(up.unwrap_or(down));
            rest
        }
    };
    // Otherwise the delay of the preset stays.
    let has_delay = faults.iter().any(|word| text.get(word.clone()) == Some("delay"));
    let air = air(text, faults)?;
    let finish = |builder: LinkBuilder| -> Result<LinkBuilder, Diagnostic> {
        // `None` is a link without a limit here: no text describes a trace.
        let rate = builder.rate_now().unwrap_or(Rate::MAX);
        let builder = builder.air(air.clone(), has_delay);
        match text.get(outside..).filter(|rest| !rest.is_empty()) {
            Some(line) => {
                qdisc(line, rate).map(|qdisc| builder.qdisc(qdisc)).map_err(|error| error.shifted(outside))
            }
            None => Ok(builder),
        }
    };
    Ok(Ways { down: finish(builder)?, up: up.map(|_| finish(opposite)).transpose()? })
}

/// Reads the rate, or the rates of both directions.
fn rates(text: &str, word: &Range<usize>) -> Result<Ways<Rate>, Diagnostic> {
    let read = |range: Range<usize>| match text.get(range.clone()) {
        Some("unlimited") => Ok(Rate::MAX),
        part => units::rate(part.unwrap_or_default()).map_err(|error| error.at(range)),
    };
    match text.get(word.clone()).and_then(|word| word.find('/')) {
        None => Ok(Ways { down: read(word.clone())?, up: None }),
        Some(at) => {
            let middle = word.start + at;
            Ok(Ways { down: read(word.start..middle)?, up: Some(read(middle + 1..word.end)?) })
        }
    }
}

/// Returns the preset that the word at `place` names.
fn preset(
    text: &str,
    keyword: &Range<usize>,
    place: Option<&Range<usize>>,
    down: Rate,
) -> Result<&'static Preset, Diagnostic> {
    let names: Vec<&str> = presets::names().collect();
    let Some(place) = place else {
        return Err(Diagnostic::new("`preset` needs a name").at(keyword.clone()).allowed(names.join(", ")));
    };
    let name = text.get(place.clone()).unwrap_or_default();
    presets::named(name, down).ok_or_else(|| {
        Diagnostic::new(std::format!("there is no preset `{name}`")).at(place.clone()).one_of(name, &names)
    })
}

/// Reads a discipline in brackets.
fn qdisc(text: &str, rate: Rate) -> Result<AnyConfig, Diagnostic> {
    let trimmed = text.trim_end();
    let Some(inside) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Err(Diagnostic::new("the discipline ends without `]`").at(0..trimmed.len()).help(EXAMPLE));
    };
    // Some defaults of disciplines follow from the rate.
    let link = LinkDefaults { rate, ..LinkDefaults::default() };
    goodqueue_tc::parse(inside, &link).map_err(|error| error.shifted(1))
}

/// Reads the words of `netem`.
fn air(text: &str, words: &[Range<usize>]) -> Result<Air, Diagnostic> {
    if words.is_empty() {
        return Ok(Air::default());
    }
    // The line as tc has it, and for each word its place there and in `text`.
    let mut line = "netem".to_owned();
    let mut places = Vec::new();
    let mut jitter = None;
    let mut rest = words.iter();
    while let Some(place) = rest.next() {
        let word = text.get(place.clone()).unwrap_or_default();
        // tc knows a jitter only as the second time behind `delay`, so `netem` does not see this
        // word.
        if word == "jitter" {
            let value = rest.next().ok_or_else(|| {
                Diagnostic::new("`jitter` needs a time")
                    .at(place.clone())
                    .allowed("a time with its unit, such as `5ms`")
            })?;
            let time = units::time(text.get(value.clone()).unwrap_or_default());
            jitter = Some(time.map_err(|error| error.at(value.clone()))?);
            continue;
        }
        line.push(' ');
        places.push((line.len(), place.clone()));
        line.push_str(word);
    }
    let config = goodqueue_tc::parse(&line, &LinkDefaults::default())
        .map_err(|error| error.moved(|span| place_of(&places, &span)))?;
    let mut settings = config.to_settings();
    if let Some(jitter) = jitter {
        settings.set("delay.jitter", goodqueue::config::Value::Time(jitter));
    }
    Ok(Air::from_netem(&settings))
}

/// Returns the place in the text of a place in the line of `netem`.
fn place_of(places: &[(usize, Range<usize>)], span: &Range<usize>) -> Range<usize> {
    // The word `netem` is not in the text, and its errors are shown at the first word behind it.
    let word = places.iter().rev().find(|(start, _)| *start <= span.start).or(places.first());
    word.map_or(0..0, |(_, place)| place.clone())
}

fn first_word(text: &str) -> Range<usize> {
    words_of(text).into_iter().next().unwrap_or_default()
}

fn words_of(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    // A space behind the text ends its last word.
    for (index, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if !character.is_whitespace() {
            start.get_or_insert(index);
        } else if let Some(begin) = start.take() {
            words.push(begin..index);
        }
    }
    words
}

impl LinkBuilder {
    /// Sets the queue discipline from a line in tc's grammar, such as `fq_codel ecn`.
    ///
    /// # Errors
    /// The line names no discipline, or a parameter is wrong; the message says where.
    pub fn qdisc_line(self, line: &str) -> Result<Self, Diagnostic> {
        let link = self
            .rate_now()
            .map_or_else(LinkDefaults::default, |rate| LinkDefaults { rate, ..LinkDefaults::default() });
        let config = goodqueue_tc::parse(line, &link).map_err(|error| error.in_argument("qdisc", line))?;
        Ok(self.qdisc(config))
    }
}

const PRESET: &str = "preset";
const EXAMPLE: &str = "write `20mbit delay 25ms loss 0.1% [fq_codel ecn]`, for example";

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use goodqueue::{Datagram, Qdisc};

    use super::*;
    use crate::units::Units;

    fn link(text: &str) -> crate::Link<Datagram<u32>> {
        text.parse::<LinkBuilder>().unwrap().build().unwrap()
    }

    #[test]
    fn the_text_and_the_builder_describe_the_same_link() {
        let read: LinkBuilder = "20mbit delay 25ms loss 0.1% [fq_codel ecn]".parse().unwrap();
        let built =
            LinkBuilder::new().rate(20.mbit()).delay(25.ms()).loss(0.001).qdisc_line("fq_codel ecn").unwrap();
        let [read, built] = [read, built].map(|builder| builder.build::<Datagram<u32>>().unwrap());
        assert_eq!(read.qdisc().config(), built.qdisc().config());
        assert_eq!(read.capacity(), built.capacity());
        assert_eq!(std::format!("{read:?}"), std::format!("{built:?}"), "also in its path");
    }

    #[test]
    fn a_discipline_may_have_children_and_a_link_none() {
        let shaped = link("1gbit [tbf rate 10mbit burst 5000 [codel]]");
        assert_eq!(shaped.qdisc().kind().name, "tbf");
        assert_eq!(link("unlimited").qdisc().kind().name, "pfifo");
    }

    #[test]
    fn a_preset_has_a_buffer_and_a_delay_that_other_words_replace() {
        let built = |builder: LinkBuilder| std::format!("{:?}", builder.build::<Datagram<u32>>().unwrap());
        let cable = || LinkBuilder::new().preset(&presets::CABLE, 40.mbit());
        let read = |text: &str| built(text.parse().unwrap());
        assert_eq!(read("40mbit preset docsis"), built(cable()));
        assert_eq!(link("40mbit preset cable").qdisc().kind().name, "bfifo");
        assert_eq!(link("40mbit preset starlink").qdisc().kind().name, "pfifo_head_drop");
        let managed = cable().delay(3.ms()).loss(0.01).qdisc_line("codel").unwrap();
        assert_eq!(read("40mbit preset cable delay 3ms loss 1% [codel]"), built(managed));
        assert_eq!(read("40mbit preset cable loss 1%"), built(cable().loss(0.01)), "keeps the delay");
    }

    #[test]
    fn a_line_has_a_rate_for_each_direction() {
        let line: Duplex<Datagram<u32>> = Duplex::from_text("50mbit/10mbit preset dsl [codel]", 1).unwrap();
        let rate =
            |link: &crate::Link<Datagram<u32>>| link.capacity().rate_at(goodqueue::Instant::ZERO).unwrap().0;
        // VDSL both ways, because 50 Mbit/s are too fast for ADSL.
        assert_eq!(rate(&line.down), presets::VDSL.of_frames(50.mbit()));
        assert_eq!(rate(&line.up), presets::VDSL.of_frames(10.mbit()));
        let error = "50mbit/10mbit".parse::<LinkBuilder>().unwrap_err().to_string();
        assert!(error.contains("Duplex::from_text"), "{error}");
    }

    #[test]
    fn the_rate_of_a_line_that_varies_follows_from_the_seed() {
        let capacity = |seed| {
            let builder: LinkBuilder = "12mbit preset lte".parse().unwrap();
            builder.seed(seed).build::<Datagram<u32>>().unwrap().capacity().clone()
        };
        assert_eq!(capacity(1), capacity(1));
        assert_ne!(capacity(1), capacity(2));
    }

    #[test]
    fn errors_underline_the_word() {
        for (text, underlined, said) in [
            ("", "", "a link needs a rate"),
            ("20 delay 5ms", "20", "unit"),
            ("20mbit dealy 5ms", "dealy", "did you mean `delay`?"),
            ("20mbit delay 5ms loss 200%", "200%", "200%"),
            ("20mbit delay 5ms [fq_codle]", "fq_codle", "did you mean `fq_codel`?"),
            ("20mbit [codel target 5xs]", "5xs", "5xs"),
            ("20mbit preset", "preset", "starlink"),
            ("20mbit preset cabel", "cabel", "did you mean `cable`?"),
            ("unlimited preset cable", "unlimited", "not unlimited"),
            ("20mbit/5mbi", "5mbi", "5mbi"),
            ("20mbit [codel", "[codel", "ends without `]`"),
            ("20mbit jitter", "jitter", "needs a time"),
            ("20mbit jitter 5ms delay 1q", "1q", "1q"),
        ] {
            let error = text.parse::<LinkBuilder>().unwrap_err();
            let shown = error.to_string();
            assert!(shown.contains(said), "{text}: {shown}");
            let column = error.line_and_column().map(|place| place.1);
            let expected = text.find(underlined).map(|at| at + 1);
            assert_eq!(column, expected, "{text}: {shown}");
        }
    }

    #[test]
    fn what_the_text_leaves_open_the_builder_refuses() {
        let refused = "20mbit reorder 10%".parse::<LinkBuilder>();
        let text = refused.map_or_else(
            |error| error.to_string(),
            |builder| builder.build::<Datagram<u32>>().unwrap_err().to_string(),
        );
        assert!(text.contains("delay"), "{text}");
    }

    #[test]
    fn a_jitter_may_stand_behind_the_delay_or_alone() {
        let text = |text| std::format!("{:?}", link(text));
        assert_eq!(text("1mbit delay 20ms 5ms"), text("1mbit delay 20ms jitter 5ms"));
        assert_eq!(text("1mbit delay 20ms 5ms"), text("1mbit jitter 5ms delay 20ms"));
    }
}

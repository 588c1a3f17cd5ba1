//! A link as one line of text.

extern crate std;

use core::ops::Range;
use core::str::FromStr;
use std::borrow::ToOwned;
use std::vec::Vec;

use goodqueue::config::Link as LinkDefaults;
use goodqueue::{AnyConfig, Rate};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::air::Air;
use crate::builder::LinkBuilder;

/// Reads `RATE [FAULTS] [[DISCIPLINE]]`, such as `20mbit delay 25ms loss 0.1% [fq_codel ecn]`.
///
/// | part | form |
/// |---|---|
/// | rate | a rate with its unit, or `unlimited` |
/// | faults | `delay`, `loss`, `reorder`, `duplicate`, ... as `netem` has them in tc; `jitter TIME` alone |
/// | discipline | a line in tc's grammar, in brackets; `pfifo limit 1000` without |
///
/// A delay alone is the same for all packets. A time behind it is a jitter, as in tc.
impl FromStr for LinkBuilder {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        read(text).map_err(|error| error.in_argument("link", text))
    }
}

fn read(text: &str) -> Result<LinkBuilder, Diagnostic> {
    let outside = text.find('[').unwrap_or(text.len());
    let words = words_of(text.get(..outside).unwrap_or_default());
    let Some((first, faults)) = words.split_first() else {
        return Err(Diagnostic::new("a link needs a rate").at(0..text.len()).help(EXAMPLE));
    };
    let rate = match text.get(first.clone()) {
        Some("unlimited") => Rate::MAX,
        word => units::rate(word.unwrap_or_default()).map_err(|error| error.at(first.clone()))?,
    };
    let mut builder = LinkBuilder::new().rate(rate).air(air(text, faults)?);
    if let Some(discipline) = text.get(outside..).filter(|rest| !rest.is_empty()) {
        builder = builder.qdisc(qdisc(discipline, rate).map_err(|error| error.shifted(outside))?);
    }
    Ok(builder)
}

/// Reads a discipline in brackets.
fn qdisc(text: &str, rate: Rate) -> Result<AnyConfig, Diagnostic> {
    let trimmed = text.trim_end();
    let Some(inside) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Err(Diagnostic::new("the discipline ends without `]`").at(0..trimmed.len()).help(EXAMPLE));
    };
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
    let word = places.iter().rev().find(|(start, _)| *start <= span.start).or(places.first());
    word.map_or(0..0, |(_, place)| place.clone())
}

fn words_of(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
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
    fn errors_underline_the_word() {
        for (text, underlined, said) in [
            ("", "", "a link needs a rate"),
            ("20 delay 5ms", "20", "unit"),
            ("20mbit dealy 5ms", "dealy", "did you mean `delay`?"),
            ("20mbit delay 5ms loss 200%", "200%", "200%"),
            ("20mbit delay 5ms [fq_codle]", "fq_codle", "did you mean `fq_codel`?"),
            ("20mbit [codel target 5xs]", "5xs", "5xs"),
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

//! What metrics mean, in the words of their catalogue.

use goodqueue_scenario::measure::{CONVERSATION_RTT_S, GRADES, LATE_CAP, LOSS_CAPS, STARVED_CAP, VOICE_CAPS};

/// Returns the text without the links of the book.
pub(crate) fn plain(doc: &str) -> String {
    let Some((before, link)) = doc.split_once('[') else { return doc.to_owned() };
    match link.split_once("](") {
        Some((name, rest)) => {
            let after = rest.split_once(')').map_or("", |(_, after)| after);
            format!("{before}the book's page {name}{after}")
        }
        None => doc.to_owned(),
    }
}

/// Returns the bounds of the grades.
pub(crate) fn grades() -> String {
    let bounds = GRADES.iter().map(|(grade, bound)| {
        if bound.is_finite() {
            format!("{grade} below {:.0} ms", bound * 1e3)
        } else {
            format!("else {grade}")
        }
    });
    let lost = LOSS_CAPS
        .iter()
        .map(|(share, cap)| format!("{cap} if more than {:.0} % of the pings are lost", share * 100.0));
    let voice = VOICE_CAPS.iter().map(|(score, cap)| format!("{cap} if calls score below {score:.2}"));
    format!(
        "by the mean induced latency: {}; at best {}, {}, {LATE_CAP} if more than 5 % of the pings take longer than {:.0} ms \
         (unless the line alone is as bad for calls), and {STARVED_CAP} if the queue drops packets and its link is used \
         less than half of the time in which downloads or uploads without end are active",
        bounds.collect::<Vec<_>>().join(", "),
        lost.collect::<Vec<_>>().join(", "),
        voice.collect::<Vec<_>>().join(", "),
        CONVERSATION_RTT_S * 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_book_become_words() {
        assert_eq!(plain("see [Concepts](concepts.md), too"), "see the book's page Concepts, too");
    }
}

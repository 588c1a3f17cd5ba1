//! Remarks about packets that hops beside the bottleneck dropped. The tables show the bottleneck's
//! queues only.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use goodqueue_tc::brief;

use crate::results::{Packets, Run};
use crate::statistics::float;

/// Returns one sentence for each hop and direction in which any of `runs` dropped packets: how
/// many, under which of the compared disciplines.
#[must_use]
pub fn remarks(runs: &[&Run]) -> Vec<String> {
    let mut places: Vec<OtherQueue<'_>> = Vec::new();
    for run in runs {
        for (name, direction, queue) in queues(run) {
            // A reference from `find` would still borrow the list in the other arm.
            let place = match places.iter_mut().position(|one| (one.name, one.direction) == (name, direction))
            {
                Some(number) => &mut places[number],
                None => {
                    places.push(OtherQueue { name, direction, qdiscs: Vec::new(), counts: Vec::new() });
                    let last = places.len() - 1;
                    &mut places[last]
                }
            };
            place.add(&run.qdisc, &queue);
        }
    }
    places.iter().filter_map(OtherQueue::remark).collect()
}

/// A queue in one direction, over all runs.
struct OtherQueue<'r> {
    name: &'r str,
    direction: Direction,
    /// Its disciplines: more than one if it has the compared ones.
    qdiscs: Vec<&'r str>,
    /// The packets that arrived and were dropped under each compared discipline, and the reasons.
    counts: Vec<Counted<'r>>,
}

struct Counted<'r> {
    compared: &'r str,
    offered: u64,
    dropped: u64,
    reasons: BTreeMap<&'r str, u64>,
}

/// A queue of one run.
struct Queue<'r> {
    qdisc: &'r str,
    packets: &'r Packets,
    drops: &'r BTreeMap<String, u64>,
}

/// Returns the queues beside the bottleneck, with their names and directions.
fn queues(run: &Run) -> impl Iterator<Item = (&str, Direction, Queue<'_>)> {
    run.hops.iter().flat_map(|hop| {
        [(Direction::Down, &hop.down), (Direction::Up, &hop.up)].map(|(direction, link)| {
            let queue = Queue { qdisc: &link.qdisc, packets: &link.packets, drops: &link.drops };
            (hop.name.as_str(), direction, queue)
        })
    })
}

impl<'r> OtherQueue<'r> {
    fn add(&mut self, compared: &'r str, queue: &Queue<'r>) {
        if !self.qdiscs.contains(&queue.qdisc) {
            self.qdiscs.push(queue.qdisc);
        }
        let counted = match self.counts.iter().position(|one| one.compared == compared) {
            Some(number) => &mut self.counts[number],
            None => {
                self.counts.push(Counted { compared, offered: 0, dropped: 0, reasons: BTreeMap::new() });
                let last = self.counts.len() - 1;
                &mut self.counts[last]
            }
        };
        counted.offered += queue.packets.offered;
        counted.dropped += queue.packets.dropped;
        for (reason, count) in queue.drops {
            *counted.reasons.entry(reason).or_default() += count;
        }
    }

    fn remark(&self) -> Option<String> {
        let dropping: Vec<&Counted<'_>> = self.counts.iter().filter(|one| one.dropped > 0).collect();
        if dropping.is_empty() {
            return None;
        }
        let qdisc = match self.qdiscs[..] {
            [only] => format!(" ({only})"),
            _ => String::new(),
        };
        let mut told: Vec<String> = dropping.iter().take(MOST).map(|one| one.told()).collect();
        let beyond = dropping.len().saturating_sub(MOST);
        if beyond > 0 {
            told.push(format!("and {beyond} more"));
        }
        Some(format!(
            "Beside the bottleneck, `{}`{qdisc} dropped packets {}: {}.",
            self.name,
            self.direction.name(),
            told.join(", ")
        ))
    }
}

impl Counted<'_> {
    fn told(&self) -> String {
        // Counts begin after the warm-up, so a queue can drop packets although none was offered.
        let percent = 100.0 * float(self.dropped) / float(self.offered.max(1));
        let mut reasons: Vec<(&str, u64)> =
            self.reasons.iter().map(|(name, count)| (*name, *count)).collect();
        // The sort is stable: equally frequent reasons stay in the order of their names.
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let reasons: Vec<&str> = reasons.into_iter().map(|(name, _)| name).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(", {}", reasons.join(" and ")) };
        format!("{} {} ({percent:.2} %{reasons})", brief(self.compared), self.dropped)
    }
}

/// Disciplines in a sentence.
const MOST: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{HopResult, LinkResult};

    fn run(qdisc: &str, dropped: u64, in_modem: &str) -> Run {
        let link = |dropped| LinkResult {
            qdisc: in_modem.to_owned(),
            packets: Packets { offered: 10_000, dropped, ..Packets::default() },
            drops: [("overlimit".to_owned(), dropped)].into_iter().filter(|drop| drop.1 > 0).collect(),
            ..LinkResult::default()
        };
        let modem = HopResult { name: "modem".to_owned(), down: link(0), up: link(dropped) };
        Run { qdisc: qdisc.to_owned(), hops: vec![modem], ..Run::default() }
    }

    fn told(runs: &[Run]) -> Vec<String> {
        remarks(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_hop_that_drops_is_named_with_each_discipline_under_which_it_does() {
        let modem = "pfifo limit 1000p";
        let runs =
            [run("cake", 0, modem), run("codel", 410, modem), run("codel", 2, modem), run("red", 7, modem)];
        assert_eq!(
            // Both runs of codel together: 412 of 20,000 packets are 2.06 %.
            told(&runs),
            [
                "Beside the bottleneck, `modem` (pfifo limit 1000p) dropped packets up: codel 412 (2.06 %, overlimit), \
              red 7 (0.07 %, overlimit)."
            ]
        );
    }

    #[test]
    fn a_hop_that_drops_nothing_is_not_mentioned() {
        assert_eq!(told(&[run("cake", 0, "pfifo limit 1000p")]), Vec::<String>::new());
    }

    #[test]
    fn a_hop_with_the_compared_disciplines_has_no_discipline_of_its_own() {
        let told = told(&[run("cake", 1, "cake"), run("codel", 2, "codel")]);
        assert!(told[0].starts_with("Beside the bottleneck, `modem` dropped packets up: cake 1"), "{told:?}");
    }
}

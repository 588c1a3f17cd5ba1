//! `replay --explain`: the story of one packet of a recording.

use std::collections::BTreeMap;

use goodqueue::decision::Fate as Known;
use goodqueue::{Ecn, Instant};
use goodqueue_sim::story::Which;
use goodqueue_sim::witness::{self, Story, Watched, Witness};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::replay::{Arrival, Fate};

use super::input::Input;

/// Returns the story of a packet. The recording is replayed twice.
pub(super) fn story(input: &Input, text: &str) -> Result<Story, Diagnostic> {
    let which = crate::commands::story::which(text)?;
    let refused = |error: Diagnostic| error.in_argument("--explain", text);
    let packets = input.packets();
    let by_seq: BTreeMap<u64, &Arrival> = packets.iter().map(|packet| (packet.seq, packet)).collect();
    let mut found = None;
    let mut marked = 0_u64;
    input.replay(|fate| {
        let (Fate::Sent { seq, .. } | Fate::Dropped { seq, .. }) = fate;
        let Some(arrival) = by_seq.get(&seq) else { return };
        let known = match fate {
            Fate::Dropped { why, .. } => Known::Dropped(why),
            Fate::Sent { tos, .. } if is_ce(tos) && !is_ce(arrival.tos) => Known::Marked,
            Fate::Sent { .. } => Known::Sent,
        };
        marked += u64::from(known == Known::Marked);
        let is_it = match which {
            Which::Number(number) => seq == number,
            Which::FirstDropped => matches!(known, Known::Dropped(_)),
            Which::FirstMarked => known == Known::Marked,
        };
        if is_it && found.is_none() {
            found = Some((**arrival, fate.at(), known));
        }
    });
    let Some((arrival, ended, fate)) = found else {
        return Err(refused(not_found(which, &by_seq, input)));
    };
    let seq = arrival.seq;
    let at = |time: Instant| time + input.origin();
    let known = witness::Known { arrived: at(arrival.at), ended: at(ended), fate };
    let witness = Witness::new(known, move |packet: &Arrival| packet.seq == seq);
    // The first replay found the packet. Evidence is asked for around its decision only, because
    // each question costs time.
    let watched = input.replay_in(|qdisc| Watched { qdisc, witness }, |_| ()).qdisc;
    let what = format!("flow {}", arrival.flow);
    let story = watched.witness.story(seq, &input.qdisc(), &what);
    story.ok_or_else(|| refused(Diagnostic::new(format!("packet {seq} did not reach the discipline"))))
}

fn not_found(which: Which, packets: &BTreeMap<u64, &Arrival>, input: &Input) -> Diagnostic {
    let count = packets.len();
    match (which, packets.keys().next(), packets.keys().next_back()) {
        (Which::Number(number), _, _) if packets.contains_key(&number) => {
            Diagnostic::new(format!("packet {number} was still queued when the recording ended"))
        }
        (Which::Number(number), Some(first), Some(last)) => {
            Diagnostic::new(format!("{} contains no packet {number}", input.name))
                .allowed(format!("its {count} packets have numbers from {first} to {last}"))
        }
        (Which::FirstDropped, ..) => Diagnostic::new(format!("none of the {count} packets was dropped"))
            .help("give the number of a packet"),
        (Which::FirstMarked, ..) => Diagnostic::new(format!("none of the {count} packets was marked"))
            .help("give the number of a packet"),
        _ => Diagnostic::new(format!("{} contains no packets", input.name)),
    }
}

fn is_ce(tos: u8) -> bool {
    Ecn::from_bits(tos) == Ecn::Ce
}

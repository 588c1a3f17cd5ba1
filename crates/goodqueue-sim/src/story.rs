//! The story of one packet at the bottleneck: the run is made twice, once to find the packet and
//! once with a witness beside its queue.

use core::fmt;

use goodqueue::decision::Fate as Known;
use goodqueue::{Direction, Ecn, Instant, Packet as _};

use crate::config::Config;
use crate::observer::{Fate, Observer, Visit, identity};
use crate::outcome::RunError;
use crate::run::Run;
use crate::witness::{self, Story, Witness};

/// The packet whose story is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The packet of this running number, as in [`Visit::number`].
    Number(u64),
    /// The first packet that was dropped.
    FirstDropped,
    /// The first packet that was marked.
    FirstMarked,
}

/// Why there is no story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoStory {
    /// The run failed.
    Run(RunError),
    /// Only this number of packets arrived.
    TooFew(u64),
    /// No packet was dropped, of this number.
    NoneDropped(u64),
    /// No packet was marked, of this number.
    NoneMarked(u64),
    /// The packet was still queued when the run ended.
    StillQueued,
    /// The packet is a copy that the queue made of this packet.
    Copy(u64),
}

impl fmt::Display for NoStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::TooFew(arrived) => write!(f, "only {arrived} packets arrived at the bottleneck"),
            Self::NoneDropped(arrived) => write!(f, "none of the {arrived} packets was dropped"),
            Self::NoneMarked(arrived) => write!(f, "none of the {arrived} packets was marked"),
            Self::StillQueued => f.write_str("the packet was still queued when the run ended"),
            Self::Copy(original) => {
                write!(f, "the queue itself made this packet, as a copy of packet {original}")
            }
        }
    }
}

impl core::error::Error for NoStory {}

/// Returns the story of one packet of a run. `qdisc` names the disciplines of both directions in
/// the story.
///
/// # Errors
/// There is no such packet, or the run failed.
pub fn story(config: &Config, which: Which, qdisc: [&str; 2]) -> Result<Story, NoStory> {
    let mut finder = Finder { which, arrived: 0, found: None };
    Run::new(config).and_then(|run| run.to_end(|_| true, Some(&mut finder))).map_err(NoStory::Run)?;
    let (visit, ended, fate) = match (finder.found, which) {
        (Some(found), _) => found,
        (None, Which::Number(_)) => return Err(NoStory::TooFew(finder.arrived)),
        (None, Which::FirstDropped) => return Err(NoStory::NoneDropped(finder.arrived)),
        (None, Which::FirstMarked) => return Err(NoStory::NoneMarked(finder.arrived)),
    };
    if let Some(original) = visit.copy_of {
        return Err(NoStory::Copy(original));
    }
    let fate = match fate {
        Fate::Queued => return Err(NoStory::StillQueued),
        Fate::Dropped(why) => Known::Dropped(why),
        Fate::Sent if is_marked(&visit) => Known::Marked,
        Fate::Sent => Known::Sent,
    };
    let packet = visit.packet;
    let known = witness::Known { arrived: packet.queued_at, ended, fate };
    let properties = identity(&packet);
    let witness = Witness::new(known, move |other| identity(other) == properties);
    // Nobody reads the result of this finder, which ends the second run as early as the first.
    let mut again = Finder { which: Which::Number(visit.number), arrived: 0, found: None };
    let mut second = Run::new(config).map_err(NoStory::Run)?.witnessed(visit.direction, witness);
    second.go_to_end(|_| true, Some(&mut again)).map_err(NoStory::Run)?;
    let seen = second.take_witness(visit.direction);
    let what = format!("{}, {}", towards(visit.direction), contents(&visit));
    let story = seen.and_then(|seen| seen.story(visit.number, qdisc[visit.direction.index()], &what));
    // The second run is the first one again, so the packet comes.
    story.ok_or(NoStory::TooFew(finder.arrived))
}

fn towards(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "down",
        Direction::Up => "up",
    }
}

fn contents(visit: &Visit) -> String {
    let packet = &visit.packet;
    let ecn = match Ecn::from_bits(visit.tos) {
        Ecn::NotEct => "",
        Ecn::Ect1 => ", ECT(1)",
        Ecn::Ect0 => ", ECT(0)",
        Ecn::Ce => ", CE",
    };
    format!("{}{ecn}", packet.payload.words(packet.flow))
}

/// Returns true if the queue set the mark.
fn is_marked(visit: &Visit) -> bool {
    visit.packet.ecn() == Ecn::Ce && Ecn::from_bits(visit.tos) != Ecn::Ce
}

/// Finds the packet, and ends the run soon after its fate.
struct Finder {
    which: Which,
    arrived: u64,
    found: Option<(Visit, Instant, Fate)>,
}

impl Observer for Finder {
    fn arrived(&mut self, _: &Visit) {
        self.arrived += 1;
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        let is_it = match self.which {
            Which::Number(number) => visit.number == number,
            Which::FirstDropped => matches!(fate, Fate::Dropped(_)),
            // A packet that was marked and then dropped is a drop.
            Which::FirstMarked => fate == Fate::Sent && is_marked(visit),
        };
        if is_it && self.found.is_none() {
            self.found = Some((*visit, at, fate));
        }
    }

    fn goes_on(&self) -> bool {
        self.found.is_none()
    }
}

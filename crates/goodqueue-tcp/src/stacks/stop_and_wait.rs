//! An example of a stack that sends one segment per round trip. Only the tests have it.
//!
//! The file holds everything that the list of [`stacks`](super) has to know of it: its sender, its
//! description, and its settings. The rest is what the RFCs say.

use goodqueue::Instant;

use crate::answer::Standard;
use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::machinery::Core;
use crate::profile::Profile;
use crate::segment::Segment;
use crate::stack::{Listed, Stack};
use crate::stack_info::StackInfo;

/// A sender without a window, which counts the segments that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopAndWait {
    arrived: u64,
}

static INFO: StackInfo = StackInfo {
    name: "stop_and_wait",
    summary: "one segment per round trip, and timeouts for losses",
    ..StackInfo::PLAIN
};

impl Listed for StopAndWait {
    const INFO: &'static StackInfo = &INFO;
    const PROFILES: &'static [Profile] = &[Profile {
        name: "stop_and_wait",
        summary: "one segment per round trip",
        settings: Config { stack: &INFO, iw: 1, sack: false, ..Config::RFC },
        controllers: &[],
        sources: &["RFC 1350 §2"],
    }];

    type Receiver = Standard;
}

impl Stack for StopAndWait {
    fn new(_config: &Config) -> Self {
        Self { arrived: 0 }
    }

    fn on_ack(&mut self, core: &mut Core, now: Instant, segment: &Segment) {
        let mut news = core.news_of(segment);
        if news.acked > 0 {
            let done = core.acknowledge(segment.ack, &mut news);
            core.note_progress();
            self.arrived += 1;
            if let Some(sent) = done.sent {
                core.rtt.take(now.since(sent), segment.ack, core.snd_nxt);
            }
            core.restart_timer(now);
        }
        core.take_window(segment);
        core.cwnd = core.mss;
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::Duration;

    use super::*;
    use crate::{NewReno, Receiver, Sender};

    #[test]
    fn a_stack_of_one_file_and_one_line_is_listed_and_sends_one_segment_per_round_trip() {
        let profile = Profile::by_name("stop_and_wait").expect("listed");
        let mut sender = Sender::new(profile.settings, NewReno::default()).expect("valid");
        let mut receiver = Receiver::new(profile.settings).expect("valid");
        let mut now = Instant::ZERO;
        sender.write(10 * 1460);
        sender.close();
        sender.open(now);
        let mut round_trips = 0;
        while !sender.is_finished() {
            let mut count = 0;
            while let Some(segment) = sender.poll_transmit(now) {
                count += u32::from(segment.len > 0);
                receiver.on_segment(now + Duration::from_millis(10), &segment);
            }
            assert!(count <= 1);
            now += Duration::from_millis(20);
            // The receiver's timer for delayed ACKs has run out by then.
            let answered = now + Duration::from_millis(40);
            while let Some(segment) = receiver.poll_transmit(answered) {
                sender.on_segment(now, &segment);
            }
            round_trips += 1;
        }
        assert_eq!(receiver.delivered(), 10 * 1460);
        assert_eq!(round_trips, 1 + 10, "the handshake, then one for each segment");
    }
}

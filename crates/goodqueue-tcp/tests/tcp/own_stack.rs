//! A stack outside the crate: it sends one segment per round trip.
//!
//! The upper half of this file is all that such a stack consists of: its sender, its description,
//! and its settings. The rest is what the RFCs say.

use goodqueue::{Duration, Instant};
use goodqueue_tcp::machinery::Core;
use goodqueue_tcp::receiver_stack::Standard;
use goodqueue_tcp::stack::{Listed, Stack};
use goodqueue_tcp::{Catalogue, Config, NewReno, Origin, Profile, Receiver, Segment, Sender, StackInfo};

/// A sender without a window, which counts the segments that arrived.
#[derive(Clone, Copy, Debug)]
struct StopAndWait {
    arrived: u64,
}

static INFO: StackInfo = StackInfo {
    name: "stop_and_wait",
    summary: "one segment per round trip, and timeouts for losses",
    origin: Origin::new::<StopAndWait>(),
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

#[test]
fn a_stack_of_another_crate_is_found_by_name_and_sends_one_segment_per_round_trip() {
    let catalogue = Catalogue::new().with_stack::<StopAndWait>();
    let profile = catalogue.profile("stop_and_wait").expect("it was added");
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

#[test]
fn a_description_without_a_stack_is_refused() {
    static NOWHERE: StackInfo = StackInfo { name: "nowhere", ..StackInfo::PLAIN };
    let config = Config { stack: &NOWHERE, ..Config::RFC };
    let refused = Sender::new(config, NewReno::default()).map(|_| ()).map_err(|error| error.to_string());
    let message =
        "`stack nowhere` is not possible: allowed is a stack of goodqueue-tcp, or one with an `origin`";
    assert_eq!(refused, Err(message.to_owned()));
    assert!(Receiver::new(config).is_err());
}

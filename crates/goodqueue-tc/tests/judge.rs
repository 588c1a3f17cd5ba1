//! The judge, with the disciplines of this library as the queues of other projects.

use std::path::Path;

use goodqueue::config::Link;
use goodqueue::random::Source;
use goodqueue::{AnyQdisc, DropReason, Instant, Packet as _, Qdisc as _, Rate};
use goodqueue_tc::judge::{Judged, Sent, first_difference};
use goodqueue_tc::recording::Recording;
use goodqueue_tc::replay::Arrival;

struct Theirs(AnyQdisc<Arrival>);

impl Judged for Theirs {
    fn enqueue(&mut self, now: Instant, packet: &Arrival, dropped: &mut Vec<u64>) {
        self.0.enqueue(now, *packet, &mut |lost: Arrival, _: DropReason| dropped.push(lost.seq));
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<u64>) -> Option<Sent> {
        let packet = self.0.dequeue(now, &mut |lost: Arrival, _: DropReason| dropped.push(lost.seq))?;
        Some(Sent { packet: packet.seq, is_marked: packet.ecn() == goodqueue::Ecn::Ce })
    }
}

fn judged(recording: &str, line: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-testkit/recordings");
    let recording = Recording::open(&folder.join(recording).with_extension("jsonl.gz")).expect("a recording");
    let link = Link { rate: recording.header().rate().unwrap_or(Rate::from_bps(1)), ..Link::default() };
    let config = goodqueue_tc::parse(line, &link).expect("valid");
    let mut theirs = Theirs(AnyQdisc::new(config, 0, Source::seeded(0)));
    first_difference(recording, &mut theirs).expect("readable").map(|difference| difference.to_string())
}

#[test]
fn a_queue_that_decides_as_the_kernel_differs_nowhere() {
    for (recording, line) in [
        ("codel_default", "codel variant linux61"),
        ("codel_ecn", "codel ecn variant linux61"),
        ("codel_bursts", "codel variant linux61"),
        ("codel_light", "codel variant linux61"),
    ] {
        assert_eq!(judged(recording, line), None, "{recording}");
    }
}

#[test]
fn the_codel_of_the_rfc_differs_at_the_third_drop() {
    let difference = judged("codel_default", "codel variant rfc8289").expect("a difference");
    assert!(difference.contains("recorded: packet 313 is dropped at 265001563 ns"), "{difference}");
}

#[test]
fn a_forgotten_mark_is_a_difference() {
    let difference = judged("codel_ecn", "codel noecn variant linux61").expect("a difference");
    assert!(difference.contains("is sent with CE"), "{difference}");
}

#[test]
fn a_queue_that_never_sends_differs_at_the_first_packet() {
    struct Hole;

    impl Judged for Hole {
        fn enqueue(&mut self, _: Instant, _: &Arrival, _: &mut Vec<u64>) {}

        fn dequeue(&mut self, _: Instant, _: &mut Vec<u64>) -> Option<Sent> {
            None
        }
    }

    let text =
        b"{\"qdisc\": \"pfifo\", \"rate_bps\": 1000000}\n[\"A\", 0, 7, 0, 125, 0]\n[\"X\", 0, 7, 125, 0]\n";
    let recording = Recording::read("one", &text[..]).expect("a recording");
    let difference = first_difference(recording, &mut Hole).expect("readable").expect("a difference");
    assert_eq!(difference.to_string(), "decision 0: recorded: packet 7 is sent at 0 ns; yours: nothing");
}

#[test]
fn a_queue_that_never_gets_empty_differs_when_it_sends_a_packet_again() {
    struct Fountain;

    impl Judged for Fountain {
        fn enqueue(&mut self, _: Instant, _: &Arrival, _: &mut Vec<u64>) {}

        fn dequeue(&mut self, _: Instant, _: &mut Vec<u64>) -> Option<Sent> {
            Some(Sent { packet: 7, is_marked: false })
        }
    }

    // 125 bytes take 1 ms.
    let text =
        b"{\"qdisc\": \"pfifo\", \"rate_bps\": 1000000}\n[\"A\", 0, 7, 0, 125, 0]\n[\"X\", 0, 7, 125, 0]\n";
    let recording = Recording::read("one", &text[..]).expect("a recording");
    let difference = first_difference(recording, &mut Fountain).expect("readable").expect("a difference");
    assert_eq!(
        difference.to_string(),
        "decision 1: recorded: nothing; yours: packet 7 is sent at 1000000 ns"
    );
}

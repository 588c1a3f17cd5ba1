//! Google's congestion control of rtc-interceptor, with RFC 8888 feedback, beside a download.

use std::collections::VecDeque;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::quantiles::Quantiles;
use goodqueue_link::{Event, Link, LinkBuilder, Units};
use rtc_interceptor::{BandwidthEstimator as _, CcFeedbackRecorder, Gcc, History, convert_ccfb};
use rtc_rtcp::transport_feedbacks::cc_feedback_report::{CcFeedbackReport, Ecn as Marking};

// The adaptor begins here.
/// A sender of media at the rate that GCC allows, and its receiver.
struct Media {
    start: StdInstant,
    gcc: Gcc,
    history: History,
    received: CcFeedbackRecorder,
    next_packet: Instant,
    sent: u16,
}

impl Media {
    fn time(&self, at: Instant) -> StdInstant {
        self.start + StdDuration::from(at.since(Instant::ZERO))
    }

    /// Returns the next packet if it is due.
    fn transmit(&mut self, now: Instant) -> Option<u16> {
        if self.next_packet > now {
            return None;
        }
        let sequence = self.sent;
        self.sent = self.sent.wrapping_add(1);
        self.history.add_outgoing(SSRC, sequence, false, 0, MEDIA as usize, self.time(now));
        let seconds = f64::from(MEDIA) * 8.0 / self.gcc.target_bitrate();
        self.next_packet = now + Duration::from(StdDuration::from_secs_f64(seconds));
        Some(sequence)
    }

    fn receive(&mut self, at: Instant, sequence: u16, ecn: Ecn) {
        let marking = if ecn == Ecn::Ce { Marking::Ce } else { Marking::NotEct };
        self.received.add_packet(self.time(at), SSRC, sequence, marking);
    }

    /// Takes feedback that arrived at the sender.
    fn on_feedback(&mut self, now: Instant, report: &CcFeedbackReport) {
        let now = self.time(now);
        for acknowledgement in convert_ccfb(report).1.remove(&SSRC).unwrap_or_default() {
            self.history.on_ccfb_feedback(now, SSRC, acknowledgement);
        }
        self.gcc.on_reports(now, &self.history.take_reports());
    }
}
// The adaptor ends here.

/// The content of a packet.
#[derive(Clone, Copy, Debug)]
enum Content {
    Media { sequence: u16, sent: Instant },
    Download,
}

#[derive(Debug, PartialEq)]
struct Outcome {
    delay_p95: Duration,
    media_bytes: u64,
}

/// Sends media for 30 s beside a download that keeps 400 packets on their way.
fn call(line: &str) -> Outcome {
    let builder: LinkBuilder = line.parse().expect("valid");
    let mut link: Link<Datagram<Content>> = builder.seed(7).build().expect("valid");
    #[expect(clippy::disallowed_methods, reason = "the stack needs an origin; only differences count")]
    let start = StdInstant::now();
    let mut media = Media {
        start,
        // A call needs at most 2.5 Mbit/s, which is less than its share of the line.
        gcc: Gcc::new(1e6, 1e5, 2.5e6),
        history: History::new(),
        received: CcFeedbackRecorder::new(),
        next_packet: Instant::ZERO,
        sent: 0,
    };
    let flow =
        |port| FlowKey::new(([192, 0, 2, 1], port).into(), ([198, 51, 100, 7], port).into(), FlowKey::UDP);
    let mut reports: VecDeque<(Instant, CcFeedbackReport)> = VecDeque::new();
    let mut downloads: VecDeque<Instant> = std::iter::repeat_n(Instant::ZERO, 400).collect();
    let mut next_report = Instant::ZERO + INTERVAL;
    let mut delays = Quantiles::default();
    let mut media_bytes = 0;
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + 30.s() {
        while reports.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, report)) = reports.pop_front()
        {
            media.on_feedback(now, &report);
        }
        while let Some(sequence) = media.transmit(now) {
            let content = Content::Media { sequence, sent: now };
            link.send(now, Datagram::new(flow(1), MEDIA + HEADERS, content));
        }
        while downloads.front().is_some_and(|at| *at <= now) {
            downloads.pop_front();
            link.send(now, Datagram::new(flow(2), 1514, Content::Download));
        }
        while let Some(event) = link.poll(now) {
            match event {
                Event::Arrived {
                    at,
                    packet: Datagram { content: Content::Media { sequence, sent }, ecn, .. },
                } => {
                    media.receive(at, sequence, ecn);
                    delays.add(at.since(sent));
                    media_bytes += u64::from(MEDIA);
                }
                // The download sends another packet a round trip after each that arrived or was
                // lost.
                Event::Arrived { packet, .. }
                | Event::Dropped { packet, .. }
                | Event::Lost { packet, .. } => {
                    if matches!(packet.content, Content::Download) {
                        downloads.push_back(now + BACK);
                    }
                }
            }
        }
        if next_report <= now {
            let timestamp = u32::try_from(now.as_nanos() * 65_536 / 1_000_000_000).expect("30 s");
            let report = media.received.build_report(media.time(now), SSRC, timestamp, 1200);
            reports.push_back((now + BACK, report));
            next_report = now + INTERVAL;
        }
        let due = [reports.front().map(|next| next.0), downloads.front().copied(), link.next_event()];
        let next = due.into_iter().flatten().fold(media.next_packet.min(next_report), Instant::min);
        now = next.max(now + Duration::from_nanos(1));
    }
    Outcome { delay_p95: delays.p95(), media_bytes }
}

#[test]
fn a_call_beside_a_download_works_behind_fq_codel_and_not_behind_a_large_buffer() {
    let bloated = call("10mbit delay 25ms [bfifo limit 1mb]");
    assert!(bloated.delay_p95 > 300.ms(), "{bloated:?}");
    let managed = call("10mbit delay 25ms [fq_codel]");
    assert!(managed.delay_p95 < 60.ms(), "{managed:?}");
    assert!(managed.media_bytes >= bloated.media_bytes, "{managed:?} {bloated:?}");
    assert_eq!(call("10mbit delay 25ms [fq_codel]"), managed, "a repetition is the same");
}

const SSRC: u32 = 1;
/// Bytes of a packet of media, at the IP layer.
const MEDIA: u32 = 1200;
const HEADERS: u32 = 14;
/// Time from the receiver to the sender.
const BACK: Duration = Duration::from_millis(25);
/// Time between two reports.
const INTERVAL: Duration = Duration::from_millis(50);

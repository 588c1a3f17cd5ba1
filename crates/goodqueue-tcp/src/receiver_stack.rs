//! How a stack's receiver answers the segments that arrive.
//!
//! The provided methods do what the RFCs say. A stack overrides those in which its system differs.

use alloc::sync::Arc;
use core::fmt::Debug;

use goodqueue::Instant;

use crate::config::Config;
use crate::intake::{EarlySegment, InOrder, Intake, State};
use crate::reassembly::Reassembly;
use crate::segment::{Flags, Segment};

/// The receiver of some system.
pub trait ReceiverStack: Clone + Debug + Send + Sync + 'static {
    /// Returns the receiver of a new connection with these settings.
    fn new(config: &Config) -> Self;

    /// Returns the shared part of a new receiver.
    fn intake(config: Arc<Config>) -> Intake {
        Intake::new(config, Reassembly::default())
    }

    /// A segment arrived.
    #[inline(always)]
    fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.stats.segments += 1;
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(intake, segment);
            return;
        }
        intake.note_field(segment);
        if self.takes_data(intake, now, segment) && (segment.len > 0 || segment.flags.contains(Flags::FIN)) {
            self.on_data(intake, now, segment);
        }
    }

    /// A SYN arrived, which may be a repeated one.
    fn on_syn(&mut self, intake: &mut Intake, segment: &Segment) {
        intake.on_syn(segment);
    }

    /// True if the state of the connection allows the segment to carry data.
    #[inline]
    fn takes_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) -> bool {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = now;
        intake.state == State::Established || intake.is_established_by(segment)
    }

    /// Data, or a FIN, arrived.
    #[inline(always)]
    fn on_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        self.note_data(intake, now, segment);
        if !intake.is_acceptable(segment) {
            self.refuse(intake, now, segment);
            return;
        }
        self.take_header(intake, now, segment);
        if segment.seq > intake.rcv_nxt {
            self.on_early(intake, now, segment);
        } else {
            self.on_in_order(intake, now, segment);
        }
    }

    /// Data arrived, acceptable or not.
    #[inline]
    fn note_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let _ = now;
        intake.takes_reduction(segment);
    }

    /// Takes in the header of an acceptable segment.
    #[inline(always)]
    fn take_header(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.take_header(now, segment);
    }

    /// A segment arrived that has no new data, or lies outside the window.
    #[cold]
    fn refuse(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        if segment.end() <= intake.rcv_nxt {
            self.on_duplicate(intake, now, segment);
        } else {
            intake.note_refused();
        }
    }

    /// A segment without new data arrived.
    fn on_duplicate(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let _ = now;
        intake.answer_duplicate(segment);
    }

    /// A segment arrived in order.
    #[inline(always)]
    fn on_in_order(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let arrival = intake.advance(segment);
        intake.open_window();
        self.answer(intake, now, segment, &arrival);
    }

    /// Answers a segment in order, which was taken in.
    #[inline(always)]
    fn answer(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, arrival: &InOrder) {
        let _ = segment;
        intake.answer(now, arrival, intake.fin_received);
    }

    /// A segment came too early.
    fn on_early(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let held = intake.hold(segment);
        self.answer_early(intake, now, segment, held);
    }

    /// Answers a segment that came too early, and that was kept if there was room.
    fn answer_early(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, held: EarlySegment) {
        let _ = now;
        intake.report(segment, held);
        intake.ack_due = true;
    }

    /// Returns the next segment to send, if there is one, after running the timer if it is due.
    /// Called only while [`Intake::is_answer_due`].
    #[inline(always)]
    fn poll_transmit(&mut self, intake: &mut Intake, now: Instant) -> Option<Segment> {
        intake.ack_due |= intake.has_timed_out(now);
        if core::mem::take(&mut intake.is_early) {
            return Some(intake.early);
        }
        intake.ack_due.then(|| intake.acknowledgement(now))
    }

    /// An ACK leaves that covers everything.
    #[inline]
    fn on_acknowledged(&mut self) {}

    /// The application takes data at another pace.
    fn set_window(&mut self, intake: &mut Intake, window: u32) {
        intake.set_window(window);
        intake.grant(intake.window.into());
    }

    /// Data in the other direction leaves. Returns what it acknowledges and the timestamp that it
    /// echoes, if it acknowledges data.
    fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
        let _ = intake;
        None
    }
}

/// The receiver of the RFCs.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl ReceiverStack for Standard {
    fn new(_config: &Config) -> Self {
        Self
    }
}

//! How a stack's receiver answers what arrives.
//!
//! The provided methods are what the RFCs say, and Linux by its settings. A stack overrides those
//! in which its system differs.

use alloc::sync::Arc;

use goodqueue::Instant;

use crate::config::Config;
use crate::intake::{Held, InOrder, Intake, State};
use crate::reassembly::Reassembly;
use crate::segment::{Flags, Segment};

/// The receiver of some system.
pub(crate) trait Answer: Sized {
    /// The receiver of a new connection with these settings.
    fn new(config: &Config) -> Self;

    /// The shared part of a new receiver.
    fn intake(config: Arc<Config>) -> Intake {
        Intake::new(config, Reassembly::default())
    }

    /// A segment arrived.
    #[inline(always)]
    fn on_segment(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.stats.segments += 1;
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(intake, segment);
        } else if self.takes_data(intake, now, segment)
            && (segment.len > 0 || segment.flags.contains(Flags::FIN))
        {
            self.on_data(intake, now, segment);
        }
    }

    /// A SYN arrived, perhaps again.
    fn on_syn(&mut self, intake: &mut Intake, segment: &Segment) {
        intake.on_syn(segment);
    }

    /// True if the state of the connection allows the segment to carry data.
    #[inline]
    fn takes_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) -> bool {
        intake.state == State::Established || intake.is_established_by(now, segment)
    }

    /// Data, or a FIN, arrived.
    #[inline(always)]
    fn on_data(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.note_data(now, segment);
        if !intake.is_acceptable(segment) {
            self.refuse(intake, now, segment);
            return;
        }
        intake.take_header(now, segment);
        if segment.seq > intake.rcv_nxt {
            let held = intake.hold(now, segment);
            self.on_early(intake, now, segment, held);
        } else {
            let arrival = intake.advance(now, segment);
            self.on_in_order(intake, now, segment, &arrival);
        }
    }

    /// A segment arrived that brings nothing new, or lies outside the window.
    #[cold]
    fn refuse(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        intake.forget_marks();
        if segment.end() <= intake.rcv_nxt {
            self.on_duplicate(intake, now, segment);
        } else {
            intake.note_refused();
        }
    }

    /// A segment arrived of which nothing is new.
    fn on_duplicate(&mut self, intake: &mut Intake, now: Instant, segment: &Segment) {
        let _ = now;
        intake.answer_duplicate(segment);
    }

    /// A segment arrived in order.
    #[inline(always)]
    fn on_in_order(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, arrival: &InOrder) {
        intake.answer(now, segment, arrival, intake.fin_received);
    }

    /// A segment came too early, and was kept if there was room.
    fn on_early(&mut self, intake: &mut Intake, now: Instant, segment: &Segment, held: Held) {
        intake.answer_early(now, segment, held);
    }

    /// An ACK leaves.
    #[inline]
    fn on_acknowledged(&mut self) {}

    /// Data the other way sets out. Returns what it acknowledges and the timestamp that it echoes,
    /// if it acknowledges data.
    fn carry(&mut self, intake: &mut Intake) -> Option<(u64, u32)> {
        let _ = intake;
        None
    }
}

/// The receiver of the RFCs, and of Linux by its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standard;

impl Answer for Standard {
    fn new(_config: &Config) -> Self {
        Self
    }
}

//! The end that sends data: a stack, and the machinery that it borrows.

use alloc::sync::Arc;

use goodqueue::{ConfigError, Duration, Instant};

use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::congestion::parameter::Value;
use crate::machinery::{Core, FIRST_BYTE, Phase, State};
use crate::registry::AnyCongestionControl;
use crate::segment::{Flags, Segment};
use crate::stacks::AnyStack;

pub use crate::machinery::stats::SenderStats;

/// The sending end of a connection, with any congestion controller. See the [crate's page](crate)
/// for how to drive it. Timers run in [`poll_transmit`](Self::poll_transmit).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    core: Core,
    stack: AnyStack,
}

impl Sender {
    /// A connection that is not open yet.
    ///
    /// # Errors
    /// See [`Config::check`]; or the description of the stack has no code.
    pub fn new(
        config: impl Into<Arc<Config>>,
        controller: impl Into<AnyCongestionControl>,
    ) -> Result<Self, ConfigError> {
        let config = config.into();
        config.check()?;
        let (stack, core) = AnyStack::new(config, controller.into())?;
        Ok(Self { core, stack })
    }

    /// Opens the connection: [`poll_transmit`](Self::poll_transmit) gives a SYN. Does nothing a
    /// second time.
    pub fn open(&mut self, now: Instant) {
        if self.core.state == State::Closed {
            self.core.open(now);
            self.stack.on_open(&mut self.core);
        }
    }

    /// The application has `bytes` more to send; `u64::MAX` for a flow without end. Has no effect
    /// after [`close`](Self::close).
    pub fn write(&mut self, bytes: u64) {
        self.stack.on_write(&mut self.core);
        self.core.write(bytes);
    }

    /// The application takes back unsent data. Data that it writes later follows the data that was
    /// sent.
    pub fn take_back(&mut self) {
        let kept = self.stack.kept(&self.core);
        self.core.take_back(kept);
    }

    /// The application has no more to send: a FIN follows the data.
    pub fn close(&mut self) {
        self.core.close();
    }

    /// Takes in a segment that arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        // RFC 9293 §3.10.7.4 drops segments without ACK.
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        let Self { core, stack } = self;
        core.note_ack(segment);
        let is_syn = segment.flags.contains(Flags::SYN);
        match core.state {
            State::Closed => {}
            State::SynSent => stack.on_handshake(core, now, segment, is_syn),
            // A repeated SYN/ACK: our ACK of the first did not arrive (RFC 9293 §3.10.7.4).
            State::Established if is_syn => core.answer_again(segment),
            State::Established if segment.ack > core.snd_nxt => core.stats.invalid_acks += 1,
            State::Established if segment.ack < core.snd_una => {} // overtaken by a later one
            State::Established => {
                stack.on_ack(core, now, segment);
                // With a window of less than a segment nothing would leave.
                core.cwnd = core.cwnd.max(core.mss);
            }
        }
    }

    /// The host's own queue accepted and dropped `segment`, the last one that
    /// [`poll_transmit`](Self::poll_transmit) returned. The drop signals congestion, like an ECN
    /// mark (Linux `NET_XMIT_CN`, `tcp_enter_cwr`). The segment counts as sent, and is found lost
    /// in the usual way.
    #[cold]
    pub fn on_local_drop(&mut self, now: Instant, segment: &Segment) {
        self.stack.on_host_congestion(&mut self.core, now, u64::from(segment.len));
    }

    /// The host's own queue is full and did not accept `segment`, the last one that
    /// [`poll_transmit`](Self::poll_transmit) returned. The refusal signals congestion too (Linux
    /// `NET_XMIT_DROP`). With [`offers_again`](Config::offers_again) the segment was not sent. The
    /// next ACK or timer sends it, and nothing else leaves before.
    #[cold]
    pub fn on_refused(&mut self, now: Instant, segment: &Segment) {
        self.stack.on_refused(&mut self.core, now, segment);
    }

    /// Says how many segments of the connection wait in the host's own queue. Linux 3.x sends
    /// nothing again while too many do, and stacks with small queues nothing at all.
    pub fn set_in_host(&mut self, segments: u64) {
        self.core.host.waiting = segments;
    }

    /// Says that the host has a queue of its own in front of the network. A stack
    /// [with small queues](crate::Mechanism::SmallQueues) then keeps few segments in it; for other
    /// stacks nothing changes. `paces`: the queue holds each segment until its
    /// [departure](Self::departure), so segments are handed over before it (Linux: `fq`, which also
    /// paces controllers that do not pace themselves).
    ///
    /// Call [`set_in_host`](Self::set_in_host) before each
    /// [`poll_transmit`](Self::poll_transmit), and poll again when a segment has left the queue.
    pub fn set_host_queue(&mut self, paces: bool) {
        self.core.set_host_queue(paces);
    }

    /// Returns when the last segment may leave the host's queue; `None` if the queue does not pace.
    #[must_use]
    pub fn departure(&self) -> Option<Instant> {
        self.core.planned_departure()
    }

    /// True if the next segment waits until one has left the host's queue.
    #[must_use]
    pub const fn awaits_host(&self) -> bool {
        self.core.host.is_full
    }

    /// Returns the next segment to send, if there is one, and runs the timers that are due at
    /// `now`. Call it until it returns `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.stack.poll_transmit(&mut self.core, now)
    }

    /// Returns when [`poll_transmit`](Self::poll_transmit) has something to do if no segment
    /// arrives before.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Instant> {
        self.core.next_event()
    }
}

impl Sender {
    /// Changes a parameter of the congestion controller while the connection runs. Other state of
    /// the controller stays, except state that follows from the parameter.
    ///
    /// # Errors
    /// The controller has no parameter of this name, or the value is of another sort or out of
    /// range. Nothing has changed then.
    pub fn set_parameter(&mut self, parameter: &'static str, value: Value) -> Result<(), ConfigError> {
        self.core.controller.set(parameter, value)?;
        self.core.pacer.rate = self.core.controller.pacing().rate;
        Ok(())
    }
}

impl Sender {
    /// True once the handshake is done.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.core.state == State::Established
    }

    /// True once the FIN was acknowledged, and so everything before it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.core.fin_sent && self.core.snd_una == self.core.snd_nxt
    }

    /// The next sequence number that the other end expects, according to its last ACK (SND.UNA).
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.core.snd_una
    }

    /// Payload bytes that were cumulatively acknowledged.
    #[must_use]
    pub fn bytes_acked(&self) -> u64 {
        let fin = u64::from(self.is_finished());
        self.core.snd_una.saturating_sub(FIRST_BYTE + fin)
    }

    /// Prefetch hint: the memory that the next ACK will read beside the sender itself. These are
    /// records of segments that are out, a cache line apart: some from the oldest on, and the place
    /// of the next one.
    #[inline]
    pub fn records(&self) -> impl Iterator<Item = &impl Copy> {
        self.core.scoreboard.sample()
    }

    /// Congestion window in bytes; never below one full segment.
    #[must_use]
    pub const fn cwnd(&self) -> u64 {
        self.core.cwnd
    }

    /// Slow-start threshold in bytes.
    #[must_use]
    pub const fn ssthresh(&self) -> u64 {
        self.core.ssthresh
    }

    /// Smoothed RTT (RFC 6298 §2); `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.core.rtt.srtt()
    }

    /// Retransmission timeout in force, back-off included (RFC 6298 §2 and §5.5).
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.core.rtt.rto()
    }

    /// Estimate of the bytes in the network (RFC 6675 §4).
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.core.scoreboard.pipe()
    }

    /// Like [`pipe`](Self::pipe), but counted record by record. The time is proportional to the
    /// window, so this is for tests.
    #[must_use]
    pub fn recount_pipe(&self) -> u64 {
        self.core.scoreboard.recount_pipe()
    }

    /// Bytes sent and not cumulatively acknowledged (FlightSize, RFC 5681 §2).
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.core.scoreboard.outstanding()
    }

    /// True in fast recovery.
    #[must_use]
    pub fn is_in_recovery(&self) -> bool {
        self.core.phase == Phase::Recovery
    }

    /// True if both ends agreed on ECN.
    #[must_use]
    pub const fn uses_ecn(&self) -> bool {
        self.core.ecn
    }

    /// Bytes per second at which segments leave, if they are paced.
    #[must_use]
    pub const fn pacing_rate(&self) -> Option<u64> {
        self.core.pacer.rate
    }

    /// Returns the mean of the delivery rate that Linux would report (`tcpi_delivery_rate`), in
    /// bytes per second of payload: over the time from the first sample, or from
    /// [`restart_delivery_rate`](Self::restart_delivery_rate), to `until`. `None` without
    /// [`reports_rate`](Config::reports_rate), or if there was no sample.
    #[must_use]
    pub fn mean_delivery_rate(&self, until: Instant) -> Option<u64> {
        self.core.rates.as_ref()?.reported()?.mean(until)
    }

    /// Begins the mean of the reported delivery rate anew.
    pub fn restart_delivery_rate(&mut self, now: Instant) {
        if let Some(rates) = &mut self.core.rates {
            rates.restart_reported(now);
        }
    }

    /// The congestion controller.
    #[must_use]
    pub const fn controller(&self) -> &AnyCongestionControl {
        &self.core.controller
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.core.stats
    }
}

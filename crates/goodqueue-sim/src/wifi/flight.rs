//! A PPDU in the air: which of its MPDUs arrive, and when.

use goodqueue::{Duration, Instant};

use super::block_ack::{Mpdu, WINDOW};
use super::contention::AccessCategory;
use super::phy::SIFS;

/// A PPDU that is ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Aggregate<P> {
    pub(super) peer: usize,
    pub(super) category: AccessCategory,
    pub(super) frames: Vec<Mpdu<P>>,
    /// Time from the beginning of the PPDU to the last bit of each frame.
    pub(super) ends: Vec<Duration>,
    /// Duration of the PPDU.
    pub(super) ppdu: Duration,
    /// Duration of the answer.
    pub(super) answer: Duration,
}

/// A PPDU that is being sent.
#[derive(Clone, Debug)]
pub(super) struct Flight<P> {
    pub(super) node: usize,
    pub(super) peer: usize,
    pub(super) category: AccessCategory,
    begin: Instant,
    /// Frames that have not ended yet.
    frames: std::vec::IntoIter<Mpdu<P>>,
    ends: Vec<Duration>,
    /// Bit set of the frames that do not arrive, by their index.
    lost: u64,
    pub(super) collided: bool,
    ppdu: Duration,
    /// Duration of the PPDU and an answer, whether or not there is one.
    pub(super) exchange: Duration,
    /// Numbers of the frames that have arrived.
    pub(super) arrived: Vec<u64>,
    /// Frames that have ended without arriving.
    pub(super) failed: Vec<Mpdu<P>>,
}

impl<P> Aggregate<P> {
    /// Returns the duration of the PPDU, the space behind it, and the answer.
    pub(super) fn exchange(&self) -> Duration {
        self.ppdu + SIFS + self.answer
    }
}

impl<P> Flight<P> {
    /// Starts to send `aggregate` at `begin`. No frame is lost yet.
    pub(super) fn new(node: usize, aggregate: Aggregate<P>, begin: Instant) -> Self {
        let exchange = aggregate.exchange();
        let Aggregate { peer, category, frames, ends, ppdu, .. } = aggregate;
        Self {
            node,
            peer,
            category,
            begin,
            frames: frames.into_iter(),
            ends,
            lost: 0,
            collided: false,
            ppdu,
            exchange,
            arrived: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Returns the number of frames in the PPDU.
    pub(super) const fn count(&self) -> usize {
        self.ends.len()
    }

    /// Loses the frames in this bit set.
    pub(super) const fn lose(&mut self, places: u64) {
        self.lost = places;
    }

    /// Loses all frames in a collision.
    pub(super) const fn collide(&mut self) {
        self.collided = true;
        self.lost = self.all();
    }

    const fn all(&self) -> u64 {
        // A PPDU has 1 to 64 frames, so the shift is below 64.
        u64::MAX >> (WINDOW - self.count())
    }

    /// Returns the number of frames that do not arrive.
    pub(super) const fn losses(&self) -> u32 {
        self.lost.count_ones()
    }

    /// Returns true if the receiver answers, because at least one frame arrives.
    pub(super) const fn is_answered(&self) -> bool {
        self.lost != self.all()
    }

    /// Returns the time in the air, the answer included.
    pub(super) fn airtime(&self) -> Duration {
        if self.is_answered() { self.exchange } else { self.ppdu }
    }

    /// Returns the airtime that has passed by `now`.
    pub(super) fn passed(&self, now: Instant) -> Duration {
        now.since(self.begin).min(self.airtime())
    }

    /// Returns the end of the transmission, the answer included.
    pub(super) fn end(&self) -> Instant {
        self.begin + self.airtime()
    }

    /// Returns the time at which the next frame arrives.
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        let place = self.place();
        // Lost frames need no event: the call for the next frame that arrives passes them. Behind
        // the last frame the shift can be 64, which `checked_shr` allows.
        let lost =
            self.lost.checked_shr(u32::try_from(place).unwrap_or(u32::MAX)).unwrap_or(0).trailing_ones();
        self.ends.get(place + lost as usize).map(|end| self.begin + *end)
    }

    /// Gives `arrive` the frames whose last bit was received by `now`, except those that are lost.
    pub(super) fn arrive(&mut self, now: Instant, arrive: &mut impl FnMut(Mpdu<P>)) {
        while let Some(&end) = self.ends.get(self.place())
            && self.begin + end <= now
        {
            let is_lost = self.lost >> self.place() & 1 == 1;
            let Some(frame) = self.frames.next() else { return };
            if is_lost {
                self.failed.push(frame);
            } else {
                self.arrived.push(frame.number);
                arrive(frame);
            }
        }
    }

    /// Returns the index of the next frame.
    fn place(&self) -> usize {
        self.count() - self.frames.len()
    }

    /// Calls `show` for the packets that have not arrived.
    pub(super) fn for_each(&self, show: &mut impl FnMut(&P)) {
        self.frames.as_slice().iter().chain(&self.failed).for_each(|frame| show(&frame.packet));
    }
}

//! Proportional Rate Reduction (RFC 9937): how much each ACK may send in fast recovery.

/// State of one recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// Delivered to the receiver since recovery began.
    delivered: u64,
    /// Sent since recovery began.
    out: u64,
    /// Flight at the start of recovery that can still be delivered (RecoverFS).
    recover_fs: u64,
    /// Sizes are rounded up to segments.
    whole_segments: bool,
}

/// An ACK in recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Newly acknowledged, cumulatively or selectively (DeliveredData).
    pub delivered: u64,
    /// Estimate of the bytes in the network.
    pub pipe: u64,
    /// Slow-start threshold in bytes, to which the window falls.
    pub ssthresh: u64,
    /// Payload of a full segment in bytes.
    pub mss: u64,
    /// The ACK advanced and showed no further loss (SafeACK).
    pub safe: bool,
}

impl Prr {
    /// Recovery begins with `in_flight` bytes sent and not cumulatively acknowledged, of which
    /// `sacked` had been selectively acknowledged before the ACK that began it.
    pub fn begin(in_flight: u64, sacked: u64) -> Self {
        Self {
            delivered: 0,
            out: 0,
            // At least 1, because it divides.
            recover_fs: in_flight.saturating_sub(sacked).max(1),
            whole_segments: false,
        }
    }

    /// Recovery from a window of `cwnd` bytes, in whole segments, as Linux has it.
    pub fn begin_whole(cwnd: u64) -> Self {
        // The share of each ACK is divided by it.
        Self { delivered: 0, out: 0, recover_fs: cwnd.max(1), whole_segments: true }
    }

    /// Returns the window in bytes until the next ACK.
    pub fn on_ack(&mut self, ack: &Progress) -> u64 {
        self.delivered += ack.delivered;
        let send = if ack.pipe > ack.ssthresh {
            let share = self.delivered.saturating_mul(ack.ssthresh).div_ceil(self.recover_fs);
            // Linux computes in segments and rounds up (`tcp_cwnd_reduction()`).
            let share = if self.whole_segments { share.next_multiple_of(ack.mss) } else { share };
            share.saturating_sub(self.out)
        } else {
            // Conservative bound; one segment more if things go well (slow-start bound).
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let bound = if ack.safe { bound + ack.mss } else { bound };
            bound.min(ack.ssthresh - ack.pipe)
        };
        // The first ACK of a recovery always lets a retransmission out.
        let send = if self.out == 0 && send < ack.mss { ack.mss } else { send };
        ack.pipe.saturating_add(send)
    }

    /// A segment of `len` bytes was sent in recovery.
    #[inline]
    pub fn on_sent(&mut self, len: u64) {
        self.out += len;
    }

    /// It was not sent after all.
    pub fn take_back(&mut self, len: u64) {
        self.out = self.out.saturating_sub(len);
    }
}

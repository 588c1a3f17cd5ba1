//! The send buffer of Linux 3.2 and 3.14 on a host without segmentation offload (`tcp_sendmsg`,
//! `tcp_check_space`, `tcp_new_space`). Each segment has memory of its own. An application that
//! always has more data fills the buffer and sleeps until a third of it is free. The buffer grows
//! only if an ACK finds room in the congestion window, which means that too little was written. A
//! growing window is therefore often not used completely.

use crate::config::SegmentMemory;

/// The buffer has memory for this number of windows.
const WINDOWS: u64 = 2;
/// Most bytes of the buffer (`tcp_wmem`).
const MOST: u64 = 4 << 20;

/// State of the buffer; positions are sequence numbers.
#[derive(Clone, Debug)]
pub(crate) struct PlainBuffer {
    memory: SegmentMemory,
    /// Memory, in bytes.
    limit: u64,
    written: u64,
    /// The application sleeps until there is room.
    sleeps: bool,
    /// Something was acknowledged since room was last looked for.
    freed: bool,
}

impl PlainBuffer {
    /// Of a connection whose first byte of data is `first`.
    pub(crate) fn new(memory: SegmentMemory, first: u64) -> Self {
        let limit = u64::from(memory.first) * u64::from(memory.reserved);
        Self { memory, limit, written: first, sleeps: false, freed: false }
    }

    /// Up to here data can be sent.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    #[inline]
    pub(crate) fn on_acknowledged(&mut self) {
        self.freed = true;
    }

    /// The application took its unsent data back.
    pub(crate) fn take_back(&mut self, next: u64) {
        self.written = self.written.min(next);
        self.sleeps = false;
    }

    /// The application, if it does not sleep or wakes now, writes what there is up to `data_end` as
    /// far as there is room. `una` and `next` are SND.UNA and SND.NXT, `cwnd` the congestion
    /// window. Returns true if it wrote.
    pub(crate) fn write(&mut self, una: u64, next: u64, data_end: u64, mss: u64, cwnd: u64) -> bool {
        if self.sleeps {
            if !core::mem::replace(&mut self.freed, false) {
                return false;
            }
            // These kernels count `packets_out`, which includes SACKed and lost segments
            // (`tcp_should_expand_sndbuf()`).
            if (next - una).div_ceil(mss) < cwnd / mss {
                self.expand(cwnd / mss);
            }
            let taken = self.written.saturating_sub(una).div_ceil(mss) * self.segment();
            // Half of the taken memory must be free, which is a third of the buffer
            // (`sk_stream_min_wspace()`).
            if self.limit.saturating_sub(taken) < taken / 2 {
                return false;
            }
        }
        // A segment is begun while the memory is not all taken.
        let room = una.saturating_add(self.limit.div_ceil(self.segment()).saturating_mul(mss));
        let end = room.min(data_end).max(self.written);
        self.sleeps = end < data_end;
        let wrote = end > self.written;
        self.written = end;
        wrote
    }

    /// True if `segments` in the host's queue take more memory than the buffer has, or more than
    /// 5/4 of what is in the buffer. Linux then sends nothing again (`tcp_retransmit_skb`): copies
    /// of segments that wait already would only make the queue longer.
    pub(crate) fn is_full_of(&self, segments: u64, una: u64, mss: u64) -> bool {
        let queued = self.written.saturating_sub(una).div_ceil(mss) * self.segment();
        segments * self.segment() > (queued + queued / 4).min(self.limit)
    }

    /// Memory that a segment takes.
    fn segment(&self) -> u64 {
        // At least 1, because it divides.
        u64::from(self.memory.taken).max(1)
    }

    /// Makes the buffer fit a window of `segments`.
    fn expand(&mut self, segments: u64) {
        let wanted = segments.max(self.memory.least_window.into()) * u64::from(self.memory.reserved);
        self.limit = self.limit.max((WINDOWS * wanted).min(MOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const LINUX_314: SegmentMemory =
        SegmentMemory { taken: 4352, reserved: 4352, first: 20, least_window: 10 };
    const LINUX_32: SegmentMemory = SegmentMemory { taken: 4352, reserved: 2324, first: 10, least_window: 4 };

    fn at(segment: u64) -> u64 {
        1 + segment * MSS
    }

    fn write(buffer: &mut PlainBuffer, una: u64, next: u64, cwnd: u64) -> u64 {
        buffer.on_acknowledged();
        buffer.write(at(una), at(next), u64::MAX, MSS, cwnd * MSS);
        (buffer.written() - 1) / MSS
    }

    #[test]
    fn twenty_segments_are_written_at_first_in_3_14_and_six_in_3_2_as_recorded() {
        // 20 · 4352 bytes hold 20 segments; 10 · 2324 bytes are full with the sixth of 4352.
        for (memory, segments) in [(LINUX_314, 20), (LINUX_32, 6)] {
            let mut buffer = PlainBuffer::new(memory, 1);
            assert!(buffer.write(1, 1, u64::MAX, MSS, 10 * MSS));
            assert_eq!(buffer.written(), at(segments));
            assert!(!buffer.write(1, at(segments), u64::MAX, MSS, 10 * MSS), "nothing was acknowledged");
        }
    }

    #[test]
    fn the_application_wakes_when_a_third_is_free_and_the_buffer_grows_only_where_the_window_has_room() {
        let mut buffer = PlainBuffer::new(LINUX_314, 1);
        assert_eq!(write(&mut buffer, 0, 0, 10), 20);
        assert_eq!(write(&mut buffer, 6, 20, 14), 20, "the window is full, six of twenty are free");
        assert_eq!(write(&mut buffer, 7, 20, 13), 27, "seven are");
        assert_eq!(
            write(&mut buffer, 8, 27, 20),
            48,
            "a window of twenty has room for one: the buffer is for forty"
        );
    }

    #[test]
    fn what_the_application_has_at_most_is_written() {
        let mut buffer = PlainBuffer::new(LINUX_32, 1);
        assert!(buffer.write(1, 1, 1000, MSS, 10 * MSS));
        assert_eq!(buffer.written(), 1000);
        assert!(!buffer.write(1, 1000, 1000, MSS, 10 * MSS));
        assert!(buffer.write(1, 1000, 3000, MSS, 10 * MSS), "it writes more when it has more");
        assert_eq!(buffer.written(), 3000);
    }
}

//! Linux's send buffer: data that the application has handed over and the receiver has not
//! acknowledged (`tcp_sendmsg_locked`, `tcp_check_space`, `tcp_sndbuf_expand` of Linux 6.1). An
//! application that always has more data fills the buffer, sleeps until a third of it is free, and
//! fills it again. Bursts end where its pieces end, and its size bounds the data that is out in a
//! long recovery.

use alloc::collections::VecDeque;

// `sk_setup_caps` takes one byte more off than the headers have.
/// Most bytes of a piece: an IP packet less the room for headers (`GSO_LEGACY_MAX_SIZE`,
/// `MAX_TCP_HEADER`).
const PIECE: u64 = 65_536 - 257;
/// Memory that the buffer reserves for each segment: a power of two that holds a segment with its
/// headers, and its description.
const RESERVED: u64 = 2048 + 256;
/// Least number of segments that the buffer assumes of a window (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;
/// Most bytes of the buffer (`tcp_wmem`).
const MOST: u64 = 4 << 20;

/// A piece of written data that has not been sent to its end.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    /// Its last segment is to be handed over at once.
    push: bool,
}

/// The piece that is to be sent next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Front {
    pub(crate) end: u64,
    /// No piece is behind it.
    pub(crate) is_last: bool,
}

/// The data that is out: SND.UNA, SND.NXT, and the number of pieces in which the host keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) una: u64,
    pub(crate) next: u64,
    pub(crate) pieces: u64,
}

/// What may leave while the application writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// It does not write. All that the window allows.
    All,
    /// It has written half a window since it last paused. The same.
    Fill,
    /// A burst, as the first piece was completed.
    One,
    Nothing,
}

/// Whether a burst may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Permission {
    No,
    /// It is not to wait for the next ACK.
    Now,
    MayWait,
}

/// Whether segments leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Burst {
    Begins,
    /// It is better to wait for the next ACK.
    Waits,
    /// The application is to write more first.
    IsWritten,
}

/// State of the buffer; positions are sequence numbers, sizes bytes.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Memory that a piece, or a burst that was cut from one, takes beside its payload.
    overhead: u64,
    /// Memory for each segment of the window.
    per_segment: u64,
    limit: u64,
    written: u64,
    /// The receiver was asked to hand over all data up to this sequence number.
    pushed: u64,
    /// The application sleeps until there is room.
    sleeps: bool,
    /// An ACK has come since it fell asleep. Linux looks for room at no other time
    /// (`tcp_check_space()`).
    acked: bool,
    mode: Mode,
    pieces: VecDeque<Piece>,
}

impl SendBuffer {
    /// Of a connection whose first byte of data is `first`. A piece takes `overhead` bytes of
    /// memory beside its payload. The buffer has room for `windows` congestion windows.
    pub(crate) fn new(first: u64, overhead: u32, windows: u8) -> Self {
        let per_segment = u64::from(windows) * RESERVED;
        Self {
            overhead: u64::from(overhead),
            per_segment,
            limit: LEAST_SEGMENTS * per_segment,
            written: first,
            pushed: first,
            sleeps: false,
            acked: false,
            mode: Mode::All,
            pieces: VecDeque::new(),
        }
    }

    /// Up to here data can be sent.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The piece that is to be sent next.
    #[inline]
    pub(crate) fn front(&self) -> Option<Front> {
        self.pieces.front().map(|piece| Front { end: piece.end, is_last: self.pieces.len() == 1 })
    }

    /// The first piece reaches up to `end`, if the one behind it has as much. A piece that gives
    /// all it has is no longer one.
    pub(crate) fn fill(&mut self, end: u64) {
        // The last piece may still grow: the application takes its place.
        let Some(next) = self.pieces.get(1).copied() else { return };
        let Some(front) = self.pieces.front_mut().filter(|front| front.end < end) else { return };
        // Linux looks at one piece behind the first and no further (`tcp_grow_skb()`).
        front.end = end.min(next.end);
        if front.end == next.end {
            // The flags of a piece that was taken whole stay with its last byte
            // (`tcp_eat_one_skb()`).
            front.push |= next.push;
            self.pieces.remove(1);
        }
    }

    /// A segment that ends at `end` was sent. Returns whether it ends a piece to be pushed.
    #[inline]
    pub(crate) fn on_sent(&mut self, end: u64) -> bool {
        let Some(piece) = self.pieces.front().copied().filter(|piece| end >= piece.end) else { return false };
        self.pieces.pop_front();
        piece.push
    }

    /// Nothing that was not sent will be: the application took it back.
    pub(crate) fn take_back(&mut self, next: u64) {
        self.written = self.written.min(next);
        self.pieces.clear();
        self.mode = Mode::All;
    }

    /// An ACK arrived.
    #[inline]
    pub(crate) fn on_ack(&mut self) {
        self.acked = true;
    }

    /// The application may have something to write up to `data_end`: it does not sleep, or an ACK
    /// may wake it.
    #[inline]
    pub(crate) fn is_writable(&self, data_end: u64) -> bool {
        (!self.sleeps || self.acked) && self.written < data_end
    }

    /// The application sleeps no more if a third is free. `window`: segments of the congestion
    /// window, if that has room; the buffer is made to fit it.
    #[inline]
    pub(crate) fn make_room(&mut self, flight: Flight, window: impl FnOnce() -> Option<u64>) {
        if !self.sleeps || !self.acked {
            return;
        }
        if let Some(segments) = window() {
            let wanted = self.per_segment.saturating_mul(segments.max(LEAST_SEGMENTS));
            self.limit = self.limit.max(wanted.min(MOST));
        }
        let taken = self.taken(flight);
        // Linux `sk_stream_is_writeable()` wakes the application late, so that it writes much at
        // once.
        self.sleeps = self.limit.saturating_sub(taken) < taken / 2 || taken >= self.limit;
    }

    /// The application, if it does not sleep, completes a piece of whole segments of `mss` bytes,
    /// of at most half of the largest window that the receiver ever offered, from what there is up
    /// to `data_end`; what was not sent of the last piece is made whole first. Returns true if
    /// there is something to send.
    pub(crate) fn write(&mut self, flight: Flight, data_end: u64, mss: u64, max_window: u64) -> bool {
        let wrote = core::mem::replace(&mut self.mode, Mode::All) != Mode::All;
        if self.sleeps || self.written >= data_end {
            return wrote;
        }
        let half = max_window / 2;
        // A piece has at most half of the largest window (`tcp_bound_to_half_wnd()`).
        let goal = (PIECE.min(half) / mss).max(1) * mss;
        // Of a piece that was sent in part, the rest is a piece that can grow again. Linux cuts it
        // off when it sends the part (`tso_fragment()`).
        let start = match self.pieces.len().checked_sub(2) {
            Some(before) => self.pieces[before].end,
            None => flight.next,
        };
        let mut room = self.pieces.back().map_or(0, |last| goal.saturating_sub(last.end - start));
        if room == 0 {
            // Linux looks at the memory only for a new piece, so the last one may exceed the limit.
            if self.taken(flight) >= self.limit {
                self.sleeps = true;
                self.acked = false;
                self.push();
                return wrote;
            }
            self.pieces.push_back(Piece { end: self.written, push: false });
            room = goal;
        }
        self.written += room.min(data_end - self.written);
        if let Some(last) = self.pieces.back_mut() {
            last.end = self.written;
        }
        // Linux pushes after half of the largest window, too (`forced_push()`).
        if self.written == data_end || self.written > self.pushed.saturating_add(half) {
            self.push();
        }
        // Linux sends all that the window allows after half a window was written (`forced_push()`),
        // and one burst when the piece is the first unsent one (`tcp_push_one()`).
        self.mode = match self.pieces.len() {
            _ if self.pushed == self.written => Mode::Fill,
            1 => Mode::One,
            _ => Mode::Nothing,
        };
        true
    }

    /// The receiver is to hand over all that was written.
    fn push(&mut self) {
        if let Some(last) = self.pieces.back_mut() {
            last.push = true;
        }
        self.pushed = self.written;
    }

    /// Whether anything may leave.
    #[inline]
    pub(crate) fn permits(&self) -> bool {
        self.mode != Mode::Nothing
    }

    /// Whether a burst may leave, and if so whether it may wait for the next ACK; after one alone,
    /// none until more is written.
    #[inline]
    pub(crate) fn permission(&mut self) -> Permission {
        match self.mode {
            Mode::All | Mode::Fill => Permission::MayWait,
            Mode::Nothing => Permission::No,
            Mode::One => {
                self.mode = Mode::Nothing;
                Permission::Now
            }
        }
    }

    /// What is in the buffer.
    fn taken(&self, Flight { una, pieces, .. }: Flight) -> u64 {
        self.written.saturating_sub(una) + self.overhead * (pieces + self.pieces.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// All bursts are of two segments.
    fn flight(una: u64, next: u64) -> Flight {
        Flight { una: 1 + una * MSS, next: 1 + next * MSS, pieces: next.div_ceil(2) - una / 2 }
    }

    /// Sends single segments from `next` on up to `end`.
    fn send(buffer: &mut SendBuffer, segments: core::ops::Range<u64>) {
        for number in segments {
            buffer.on_sent(1 + (number + 1) * MSS);
        }
    }

    #[test]
    fn the_first_32_segments_take_as_much_memory_as_recorded() {
        // Linux 6.1.192: ten segments out and 22 to be sent took 54,016 bytes of a buffer of
        // 46,080.
        let mut buffer = SendBuffer::new(1, 1280, 2);
        let window = 64_128;
        assert!(buffer.write(flight(0, 0), u64::MAX, MSS, window));
        assert_eq!(buffer.permission(), Permission::Now, "a burst of the first piece at once");
        send(&mut buffer, 0..2);
        assert_eq!(buffer.permission(), Permission::No);
        assert!(buffer.write(flight(0, 2), u64::MAX, MSS, window));
        assert_eq!(buffer.permission(), Permission::MayWait, "half of the receiver's window was written");
        send(&mut buffer, 2..10);
        assert!(buffer.write(flight(0, 10), u64::MAX, MSS, window));
        assert!(!buffer.sleeps);
        assert!(buffer.write(flight(0, 10), u64::MAX, MSS, window), "what was written may leave");
        assert!(!buffer.write(flight(0, 10), u64::MAX, MSS, window));
        assert!(buffer.sleeps);
        // The limit is for two windows of ten segments, each with 2304 bytes.
        assert_eq!((buffer.written(), buffer.limit), (1 + 32 * MSS, 46_080));
        // Five bursts that are out and one piece have 1280 bytes each beside the 32 segments.
        assert_eq!(buffer.taken(flight(0, 10)), 54_016);
    }

    #[test]
    fn the_application_wakes_when_a_third_is_free_and_the_buffer_grows_only_where_the_window_has_room() {
        let mut buffer = SendBuffer { written: 1 + 32 * MSS, sleeps: true, ..SendBuffer::new(1, 1280, 2) };
        send(&mut buffer, 0..32);
        buffer.on_ack();
        buffer.make_room(flight(11, 32), || None);
        assert!(buffer.sleeps, "44,488 of 46,080 bytes are taken");
        buffer.make_room(flight(12, 32), || Some(22));
        assert!(!buffer.sleeps);
        // Two windows of 22 segments with 2304 bytes each.
        assert_eq!(buffer.limit, 101_376, "as recorded with a window of 22");
    }

    #[test]
    fn a_controller_can_ask_for_room_for_three_windows() {
        assert_eq!(SendBuffer::new(1, 1280, 3).limit, 69_120);
    }

    #[test]
    fn what_was_joined_takes_the_overhead_once() {
        // Recorded: 98 segments out, of which 55 were SACKed, took 196,944 bytes.
        let buffer = SendBuffer { written: 1 + 98 * MSS, ..SendBuffer::new(1, 1280, 2) };
        assert_eq!(buffer.taken(Flight { pieces: 43, ..flight(0, 98) }), 196_944);
    }

    fn buffer_with(pieces: [(u64, bool); 3]) -> SendBuffer {
        let pieces = pieces.map(|(segments, push)| Piece { end: 1 + segments * MSS, push });
        SendBuffer { written: pieces[2].end, pieces: pieces.into(), ..SendBuffer::new(1, 896, 2) }
    }

    fn end_of_front(buffer: &SendBuffer) -> Option<u64> {
        buffer.front().map(|front| front.end)
    }

    #[test]
    fn a_burst_that_needs_more_takes_it_from_the_piece_behind() {
        let mut buffer = buffer_with([(1, false), (3, true), (9, false)]);
        buffer.fill(1 + MSS);
        assert_eq!(end_of_front(&buffer), Some(1 + MSS), "it has enough");
        buffer.fill(1 + 2 * MSS);
        assert_eq!(end_of_front(&buffer), Some(1 + 2 * MSS));
        assert!(!buffer.on_sent(1 + 2 * MSS), "the piece to be pushed has a segment left");
        buffer.fill(1 + 5 * MSS);
        assert!(buffer.on_sent(1 + 5 * MSS), "with what it took, that piece is still to be pushed");
    }

    #[test]
    fn a_burst_takes_from_one_piece_only_and_with_its_last_byte_also_its_push() {
        let mut buffer = buffer_with([(1, false), (2, true), (9, false)]);
        buffer.fill(1 + 4 * MSS);
        assert_eq!((end_of_front(&buffer), buffer.pieces.len()), (Some(1 + 2 * MSS), 2));
        assert!(buffer.on_sent(1 + 2 * MSS));
    }
}

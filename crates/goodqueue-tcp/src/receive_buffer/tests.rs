use super::*;

const MSS: u32 = 1448;
const OVERHEAD: u64 = BufferTuning::LINUX_6.taken;

#[test]
fn a_round_trip_of_twenty_segments_after_one_of_eleven_gives_the_recorded_buffer() {
    // Linux 6.1.192: 28,960 bytes after 15,928 in 50 ms each gave 429,240 bytes of buffer and a
    // window of half of them.
    let mut buffer =
        ReceiveBuffer { space: 15_928, ..ReceiveBuffer::new(MSS, BufferTuning::LINUX_6, Instant::ZERO) };
    // Half of 131,072 bytes less a segment.
    assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
    buffer.time(MSS, 7, Duration::from_millis(50));
    assert!(!buffer.grow(MSS, 0), "nothing to grow into yet");
    buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
    // 147 segments with 2920 bytes each, of which half is window.
    assert_eq!((buffer.buffer, buffer.clamp), (429_240, 214_620));
    assert!(buffer.grow(MSS, buffer.of_segment(MSS)));
    assert_eq!(buffer.announced, 64_088 + 2 * 1448);
}

#[test]
fn linux_3_14_announces_twenty_segments_and_two_more_with_each_that_comes() {
    // Linux 3.14.1 announced 28,960 bytes, then 31,872, 34,816 and so on up to 179,456.
    let tuning = BufferTuning {
        growth: BufferGrowth::Stepwise,
        // 8 · 20 segments of 1460 bytes with 800 of overhead (`tcp_fixup_rcvbuf`).
        initial: 361_600,
        first_window: Some(20),
        overhead: 800,
        ..BufferTuning::LINUX_6
    };
    let mut buffer = ReceiveBuffer::new(MSS, tuning, Instant::ZERO);
    assert_eq!((buffer.buffer, buffer.clamp, buffer.announced), (361_600, 179_352, 28_960));
    buffer.time(MSS, 7, Duration::from_millis(50));
    let mut windows = Vec::new();
    while buffer.grow(MSS, buffer.of_segment(MSS)) {
        windows.push(buffer.window(0).0);
    }
    assert_eq!((windows.len(), windows[0], windows[1]), (52, 31_872, 34_816));
    assert_eq!(windows.last(), Some(&179_456));
    // Twice the data of the round trip and 16 segments. The buffer is for twice as much,
    // because the rate grew by more than half.
    buffer.on_read(Instant::from_nanos(50_000_000), 1 + 100_000);
    assert_eq!(buffer.clamp, 446_336);
}

#[test]
fn linux_3_2_begins_to_measure_with_the_first_read() {
    let tuning = BufferTuning {
        growth: BufferGrowth::TwoRoundTrips,
        // The default of `tcp_rmem` in Linux 3.2.
        initial: 87_380,
        first_window: Some(10),
        ..BufferTuning::LINUX_6
    };
    let mut buffer = ReceiveBuffer::new(MSS, tuning, Instant::ZERO);
    let first = buffer.buffer;
    let millis = |count: u64| Instant::from_nanos(count * 1_000_000);
    buffer.time(MSS, 7, Duration::from_millis(50));
    // The connection is a second old, but nothing was read before.
    buffer.on_read(millis(1000), 1 + 14_480);
    buffer.on_read(millis(1049), 1 + 14_480 + 100_000);
    assert_eq!(buffer.buffer, first, "within a round trip of the first read");
    buffer.on_read(millis(1050), 1 + 14_480 + 100_000);
    // A buffer for twice the data of the round trip: half of 2920 bytes holds a segment.
    assert_eq!(buffer.space, 200_000);
    assert_eq!(buffer.buffer, 200_000 / 1448 * 2920);
}

#[test]
fn kernels_before_4_x_measure_round_trips_in_whole_ticks() {
    // A round trip of 50 ms that began in the tick 10 is over in the tick 60 for Linux 3.14,
    // although half a millisecond is missing.
    for (growth, measures) in [(BufferGrowth::Stepwise, true), (BufferGrowth::Proportional, false)] {
        let tuning = BufferTuning { growth, ..BufferTuning::LINUX_6 };
        let began = Instant::from_nanos(10_900_000);
        let mut buffer = ReceiveBuffer::new(MSS, tuning, began);
        let first = buffer.buffer;
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(60_400_000), 1 + 100_000);
        assert_eq!(buffer.buffer > first, measures, "{growth:?}");
    }
}

#[test]
fn linux_7_3_opens_the_window_six_times_as_soon_as_it_knows_the_memory_of_a_segment() {
    // Linux 7.3.4 acknowledged the first 22 segments of a connection one by one, and 6.1 the
    // first 16: each time that the window opens, one more ACK is quick.
    let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_7, Instant::ZERO);
    assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
    let grown = (0..30).filter(|_| buffer.grow(MSS, buffer.of_segment(MSS))).count();
    assert_eq!((grown, buffer.share), (6, 158), "1448 of 2344 bytes are payload");
    // The segment that arrives takes 2344 bytes itself, so the window stays below its bound.
    assert_eq!((buffer.clamp, buffer.announced), (80_896, 79_449));
}

#[test]
fn linux_7_3_also_makes_room_for_the_data_beyond_a_gap() {
    let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_7, Instant::ZERO);
    buffer.time(MSS, 7, Duration::from_millis(50));
    buffer.grow(MSS, 0);
    buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
    // Twice 28,960, and twice as much again for each time that the rate doubled.
    let wanted = 2 * 28_960 + 4 * 28_960 * (28_960 - 14_480) / 14_480;
    assert_eq!(buffer.buffer, wanted * 256 / 158);
    buffer.hold(1 + 28_960 + 300_000, 1 + 28_960 + 301_448);
    assert_eq!(buffer.buffer, (2 * 28_960 + 301_448) * 256 / 158);
}

#[test]
fn within_a_round_trip_nothing_is_measured() {
    let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_6, Instant::ZERO);
    buffer.on_read(Instant::from_nanos(1_000_000_000), 1_000_000);
    assert_eq!(buffer.buffer, BufferTuning::LINUX_6.initial, "no RTT is known");
    buffer.time(MSS, 7, Duration::from_millis(50));
    buffer.on_read(Instant::from_nanos(49_999_999), 1_000_000);
    assert_eq!(buffer.buffer, BufferTuning::LINUX_6.initial);
}

#[test]
fn it_stops_growing_at_the_most_there_is() {
    let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_6, Instant::ZERO);
    buffer.time(MSS, 7, Duration::from_millis(50));
    buffer.on_read(Instant::from_nanos(50_000_000), u64::MAX / 4);
    assert_eq!(buffer.buffer, BufferTuning::LINUX_6.most);
    let own = buffer.of_segment(MSS);
    let grown = (0..10_000_u32).filter(|_| buffer.grow(MSS, own)).count();
    assert_eq!(grown, 1064, "by two segments at a time up to what the buffer is good for");
}

fn holding(numbers: impl IntoIterator<Item = u64>) -> ReceiveBuffer {
    let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_6, Instant::ZERO);
    for number in numbers {
        buffer.hold(1 + number * 1448, 1 + (number + 1) * 1448);
    }
    buffer
}

#[test]
fn what_follows_a_segment_out_of_order_takes_its_payload_only_up_to_17_pieces() {
    // Of these the one numbered 22, from 31,856 to 33,304, lies in two pages.
    assert_eq!(holding([30, 31]).taken(0), 2 * 1448 + OVERHEAD);
    assert_eq!(holding(23..40).taken(0), 17 * 1448 + OVERHEAD);
    assert_eq!(holding(23..41).taken(0), 18 * 1448 + 2 * OVERHEAD);
    assert_eq!(holding(22..38).taken(0), 16 * 1448 + OVERHEAD, "the first lies in two");
    assert_eq!(holding(22..39).taken(0), 17 * 1448 + 2 * OVERHEAD);
    assert_eq!(holding([25, 27, 26]).taken(0), 3 * 1448 + 2 * OVERHEAD, "not joined with what follows it");
}

#[test]
fn where_segments_are_not_joined_each_takes_its_memory_and_is_read_by_itself() {
    // Linux 3.14 and 3.2 without offloads: the memory of a segment is one block, which no other
    // segment can take over.
    let at = |number: u64| 1 + number * 1448;
    let tuning = BufferTuning { joins: false, ..BufferTuning::LINUX_6 };
    let mut buffer = ReceiveBuffer::new(MSS, tuning, Instant::ZERO);
    for number in 24..30 {
        buffer.hold(at(number), at(number + 1));
    }
    assert_eq!(buffer.taken(0), 6 * (1448 + OVERHEAD));
    assert_eq!(buffer.release(at(23), at(24), at(30)), (at(24), 7 * (1448 + OVERHEAD)));
}

#[test]
fn what_fills_a_gap_is_read_with_what_it_is_joined_to() {
    let at = |number: u64| 1 + number * 1448;
    let mut buffer = holding((24..30).chain(40..42));
    assert_eq!(buffer.release(at(23), at(24), at(30)), (at(30), 7 * 1448 + OVERHEAD));
    assert_eq!(buffer.taken(0), 2 * 1448 + OVERHEAD);
    let mut buffer = holding(24..41);
    assert_eq!(buffer.release(at(23), at(24), at(41)), (at(24), 18 * 1448 + 2 * OVERHEAD));
    assert_eq!(buffer.taken(0), 0);
}

//! Once a queue has seen its load, packets come and go without an allocation (I11), and what
//! arrives above the limit is dropped without one (H49). For every discipline that is registered.

#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use goodqueue::config::Kind;
use goodqueue::random::Source;
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Instant, Qdisc, Settings, config::Value};
use goodqueue_testkit::edge::{accepted, default_config};
use goodqueue_testkit::operation::TestPacket;

/// The system's allocator, and how often this thread has asked it for memory: tests run side by
/// side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn count() {
    // At the end of a thread the counter may be gone already.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A queue, its clock, and the packets that go through it.
struct Load {
    queue: AnyQdisc<TestPacket>,
    now: Instant,
    offered: u64,
    dropped: u64,
}

impl Load {
    fn new(config: AnyConfig) -> Self {
        let queue = AnyQdisc::new(config, 1, Source::seeded(1));
        Self { queue, now: Instant::ZERO, offered: 0, dropped: 0 }
    }

    fn offer(&mut self) {
        let flow = u32::try_from(self.offered % 97).unwrap_or(0);
        let ecn = if self.offered % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        let packet =
            TestPacket { id: self.offered, len: 1514, flow, class: None, came_with: ecn, ecn, at: self.now };
        self.offered += 1;
        let dropped = &mut self.dropped;
        self.queue.enqueue(self.now, packet, &mut |_, _| *dropped += 1);
    }

    fn take(&mut self) {
        let dropped = &mut self.dropped;
        let _ = self.queue.dequeue(self.now, &mut |_, _| *dropped += 1);
    }

    /// One packet comes, one goes; a standing queue of `queued` packets.
    fn pairs(&mut self, pairs: u64, queued: u64) {
        for _ in 0..queued {
            self.offer();
        }
        for _ in 0..pairs {
            // 1514 bytes take so long at 10 Mbit/s.
            self.now += Duration::from_nanos(1_211_200);
            self.offer();
            self.take();
        }
        while !self.queue.is_empty() {
            self.now = self.queue.next_event(self.now).unwrap_or(self.now);
            self.take();
        }
    }
}

/// Those whose many short lists each grow to the longest that they have met, which they meet later
/// and later: a few doublings, never one per packet.
const GROWS_LATE: &[&str] = &["qfq"];

/// The most that a discipline may hold in these tests: few enough packets to be reached at once.
fn small(kind: &Kind) -> AnyConfig {
    let limits = [Value::Packets(100), Value::Bytes(150_000)];
    let limited = |limit: &Value| accepted(kind, &Settings::new().with("limit", limit.clone()));
    limits.iter().find_map(limited).unwrap_or_else(|| default_config(kind))
}

#[test]
fn packets_come_and_go_without_an_allocation() {
    for kind in KINDS {
        let mut load = Load::new(default_config(kind));
        // Warm: pools and lists have grown to what this load needs.
        for _ in 0..3 {
            load.pairs(60_000, 100);
        }
        let before = allocations();
        load.pairs(100_000, 100);
        let made = allocations() - before;
        let few = if GROWS_LATE.contains(&kind.name) { 32 } else { 0 };
        assert!(made <= few, "{}: {made} allocations in 10^5 pairs", kind.name);
        assert!(load.offered > 160_000);
    }
}

#[test]
fn arrivals_above_the_limit_allocate_nothing() {
    let attempts: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    for kind in KINDS {
        let mut load = Load::new(small(kind));
        let mut held = 0;
        // Full: the queue has stopped growing.
        while load.offered < 60_000 || load.queue.len() > held {
            held = load.queue.len();
            for _ in 0..1_000 {
                load.offer();
            }
        }
        let before = allocations();
        for _ in 0..attempts {
            load.offer();
        }
        let made = allocations() - before;
        assert_eq!(made, 0, "{}: allocations in {attempts} arrivals", kind.name);
        assert!(load.dropped > 0, "{}", kind.name);
    }
}

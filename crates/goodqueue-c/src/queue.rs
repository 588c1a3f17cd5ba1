//! Queue disciplines alone, for simulators that have links of their own.

use std::collections::VecDeque;
use std::ffi::c_char;
use std::ptr;

use goodqueue::config::Link as LinkDefaults;
use goodqueue::random::{Random as _, Source};
use goodqueue::{AnyQdisc, DropReason, Instant, Qdisc as _, Rate};
use goodqueue_link::tagged::Tagged;

use crate::packet::GqPacket;
use crate::text;
use crate::time::GQ_NEVER;

/// A queue discipline. The caller is the link.
pub struct GqQueue {
    /// Packets with the numbers of their arrivals, because identities of the caller may repeat.
    qdisc: AnyQdisc<Tagged<u64, GqPacket>>,
    arrivals: u64,
    /// The packet that leaves next, if somebody looked at it.
    next: Option<GqPacket>,
    /// Dropped packets that nobody collected.
    dropped: VecDeque<GqPacket>,
    now: Instant,
}

impl GqQueue {
    fn advance(&mut self, now_ns: u64) -> Instant {
        self.now = self.now.max(Instant::from_nanos(now_ns));
        self.now
    }

    /// Takes the next packet out of the discipline, whose decision this is.
    fn decide(&mut self, now_ns: u64) {
        let now = self.advance(now_ns);
        if self.next.is_none() {
            let dropped = &mut self.dropped;
            let mut drops = |lost: Tagged<u64, GqPacket>, _: DropReason| dropped.push_back(lost.packet);
            self.next = self.qdisc.dequeue(now, &mut drops).map(|next| next.packet);
        }
    }
}

/// Returns a discipline that `line` describes in the grammar of tc, such as `codel target 15ms`, in
/// front of a link of this rate; null if it is wrong. `error` is as in `gq_link_new`.
///
/// The time of a queue does not go back: a call with a time before that of the latest call happens
/// at the time of the latest call. The time 0 therefore repeats the latest time.
///
/// # Safety
/// `line` is a string, and `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_new(
    line: *const c_char,
    bits_per_second: u64,
    seed: u64,
    error: *mut c_char,
    error_size: usize,
) -> *mut GqQueue {
    let link = LinkDefaults { rate: Rate::from_bps(bits_per_second), ..LinkDefaults::default() };
    // SAFETY: as promised by the caller.
    let line = unsafe { text::read(line) };
    let config = line.and_then(|line| {
        goodqueue_tc::parse(line, &link).map_err(|error| error.in_argument("line", line).to_string())
    });
    match config {
        Ok(config) => {
            let mut random = Source::seeded(seed);
            let salt = random.next_u32();
            let qdisc = AnyQdisc::new(config, salt, random);
            Box::into_raw(Box::new(GqQueue {
                qdisc,
                arrivals: 0,
                next: None,
                dropped: VecDeque::new(),
                now: Instant::ZERO,
            }))
        }
        Err(message) => {
            // SAFETY: as promised by the caller.
            unsafe { text::write(&message, error, error_size) };
            ptr::null_mut()
        }
    }
}

/// Ends a queue. Null does nothing.
///
/// # Safety
/// `queue` is null, or a queue that has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_free(queue: *mut GqQueue) {
    if !queue.is_null() {
        // SAFETY: `gq_queue_new` made it with `Box::into_raw`, and the caller gives it back.
        drop(unsafe { Box::from_raw(queue) });
    }
}

/// A packet arrives at `now_ns`. Returns false if the discipline dropped this packet at once; it is
/// then not among those of `gq_queue_dropped`.
///
/// # Safety
/// `queue` is null or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_enqueue(queue: *mut GqQueue, now_ns: u64, packet: GqPacket) -> bool {
    // SAFETY: as promised by the caller.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return false };
    let now = queue.advance(now_ns);
    let number = queue.arrivals;
    queue.arrivals += 1;
    let mut is_queued = true;
    let dropped = &mut queue.dropped;
    let arrival = Tagged { tag: number, packet };
    queue.qdisc.enqueue(now, arrival, &mut |lost: Tagged<u64, GqPacket>, _: DropReason| {
        // A discipline may drop an older packet instead.
        if lost.tag == number {
            is_queued = false;
        } else {
            dropped.push_back(lost.packet);
        }
    });
    is_queued
}

/// Writes the packet that leaves next to `packet`, and keeps it. The discipline decides about it
/// now: look when the link is free for it, and not before. Returns false if no packet may leave.
///
/// # Safety
/// `queue` is null or a queue, and `packet` is null or a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_peek(queue: *mut GqQueue, now_ns: u64, packet: *mut GqPacket) -> bool {
    // SAFETY: as promised by the caller.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return false };
    queue.decide(now_ns);
    // SAFETY: as promised by the caller.
    give(queue.next, unsafe { packet.as_mut() })
}

/// As `gq_queue_peek`, and takes the packet out of the queue.
///
/// # Safety
/// `queue` is null or a queue, and `packet` is null or a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_dequeue(queue: *mut GqQueue, now_ns: u64, packet: *mut GqPacket) -> bool {
    // SAFETY: as promised by the caller.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return false };
    queue.decide(now_ns);
    // SAFETY: as promised by the caller.
    give(queue.next.take(), unsafe { packet.as_mut() })
}

/// Writes the next packet to `packet` that was dropped after it had been queued. Returns false if
/// there is none left.
///
/// # Safety
/// `queue` is null or a queue, and `packet` is null or a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_dropped(queue: *mut GqQueue, packet: *mut GqPacket) -> bool {
    // SAFETY: as promised by the caller.
    let dropped = unsafe { queue.as_mut() }.and_then(|queue| queue.dropped.pop_front());
    // SAFETY: as promised by the caller.
    give(dropped, unsafe { packet.as_mut() })
}

/// Returns the number of queued packets.
///
/// # Safety
/// `queue` is null or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_len(queue: *const GqQueue) -> usize {
    // SAFETY: as promised by the caller.
    unsafe { queue.as_ref() }.map_or(0, |queue| queue.qdisc.len() + usize::from(queue.next.is_some()))
}

/// Returns the time at which a queue that gave no packet may give one, or `GQ_NEVER`: only an
/// arrival can change the answer.
///
/// # Safety
/// `queue` is null or a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_queue_next_event(queue: *const GqQueue) -> u64 {
    // SAFETY: as promised by the caller.
    let next = unsafe { queue.as_ref() }.and_then(|queue| queue.qdisc.next_event(queue.now));
    next.map_or(GQ_NEVER, Instant::as_nanos)
}

fn give(found: Option<GqPacket>, to: Option<&mut GqPacket>) -> bool {
    if let (Some(found), Some(to)) = (found, to) {
        *to = found;
    }
    found.is_some()
}

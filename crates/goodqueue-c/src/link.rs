//! Links.

use std::ffi::c_char;
use std::fs::File;
use std::io::BufWriter;
use std::ptr;

use goodqueue::{Duration, Instant, Rate};
use goodqueue_link::{Event, Link, LinkBuilder};

use crate::packet::GqPacket;
use crate::text;
use crate::time::GQ_NEVER;

/// One direction of a bottleneck: a queue discipline, a rate, and a path with delay and faults.
pub struct GqLink(Link<GqPacket>);

/// The packet reached the other side.
pub const GQ_ARRIVED: u8 = 0;
/// The queue discipline dropped the packet.
pub const GQ_DROPPED: u8 = 1;
/// The path behind the queue lost the packet.
pub const GQ_LOST: u8 = 2;

/// The fate of a packet.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct GqEvent {
    /// Time of the event.
    pub at_ns: u64,
    /// The packet; with `GQ_CE` in its TOS byte if it was marked.
    pub packet: GqPacket,
    /// `GQ_ARRIVED`, `GQ_DROPPED` or `GQ_LOST`.
    pub fate: u8,
}

/// Measurements of a link since its beginning.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct GqStatistics {
    /// Packets that left the queue.
    pub sent: u64,
    /// Packets that `gq_link_poll` returned as arrived.
    pub arrived: u64,
    /// Packets that the discipline dropped.
    pub dropped: u64,
    /// Packets that the discipline marked.
    pub marked: u64,
    /// Packets that the path lost.
    pub lost: u64,
    /// Median of the time in the queue; the largest number without a packet, as the following ones.
    pub sojourn_p50_ns: u64,
    /// 95th percentile.
    pub sojourn_p95_ns: u64,
    /// 99th percentile.
    pub sojourn_p99_ns: u64,
    /// Longest time.
    pub sojourn_max_ns: u64,
}

/// Returns a link that `description` describes, such as `20mbit delay 25ms [fq_codel ecn]`; null if
/// it is wrong. `error` then has the reason, cut to `error_size` bytes; it may be null.
///
/// # Safety
/// `description` is a string, and `error` is null or has `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_new(
    description: *const c_char,
    seed: u64,
    error: *mut c_char,
    error_size: usize,
) -> *mut GqLink {
    // SAFETY: as promised by the caller.
    let description = unsafe { text::read(description) };
    let built = description.and_then(|description| {
        let builder: LinkBuilder = description.parse().map_err(|error| format!("{error}"))?;
        builder.seed(seed).build().map_err(|error| error.to_string())
    });
    match built {
        Ok(link) => Box::into_raw(Box::new(GqLink(link))),
        Err(message) => {
            // SAFETY: as promised by the caller.
            unsafe { text::write(&message, error, error_size) };
            ptr::null_mut()
        }
    }
}

/// Ends a link. Null does nothing.
///
/// # Safety
/// `link` is null, or a link that has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_free(link: *mut GqLink) {
    if !link.is_null() {
        // SAFETY: `gq_link_new` made it with `Box::into_raw`, and the caller gives it back.
        drop(unsafe { Box::from_raw(link) });
    }
}

/// Offers a packet to the queue at `now_ns`.
///
/// # Safety
/// `link` is null or a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_send(link: *mut GqLink, now_ns: u64, packet: GqPacket) {
    // SAFETY: as promised by the caller.
    if let Some(link) = unsafe { link.as_mut() } {
        link.0.send(Instant::from_nanos(now_ns), packet);
    }
}

/// Writes the next event until `now_ns` to `event`, in order of time. Returns false if there is
/// none left.
///
/// # Safety
/// `link` is null or a link, and `event` is null or an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_poll(link: *mut GqLink, now_ns: u64, event: *mut GqEvent) -> bool {
    // SAFETY: as promised by the caller.
    let polled = unsafe { link.as_mut() }.and_then(|link| link.0.poll(Instant::from_nanos(now_ns)));
    let Some(next) = polled else { return false };
    // SAFETY: as promised by the caller.
    if let Some(event) = unsafe { event.as_mut() } {
        *event = in_c(next);
    }
    true
}

fn in_c(event: Event<GqPacket>) -> GqEvent {
    let at_ns = event.at().as_nanos();
    match event {
        Event::Arrived { packet, .. } => GqEvent { at_ns, packet, fate: GQ_ARRIVED },
        Event::Dropped { packet, .. } => GqEvent { at_ns, packet, fate: GQ_DROPPED },
        Event::Lost { packet, .. } => GqEvent { at_ns, packet, fate: GQ_LOST },
    }
}

/// Returns the time at which `gq_link_poll` has something to do next, or `GQ_NEVER`. It is after
/// the time of a `gq_link_poll` that returned false.
///
/// # Safety
/// `link` is null or a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_next_event(link: *const GqLink) -> u64 {
    // SAFETY: as promised by the caller.
    let next = unsafe { link.as_ref() }.and_then(|link| link.0.next_event());
    next.map_or(GQ_NEVER, Instant::as_nanos)
}

/// Changes the rate at `now_ns`, in bit/s. The packet in transmission keeps the old rate. Rate 0
/// blocks the link.
///
/// # Safety
/// `link` is null or a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_set_rate(link: *mut GqLink, now_ns: u64, bits_per_second: u64) {
    // SAFETY: as promised by the caller.
    if let Some(link) = unsafe { link.as_mut() } {
        link.0.set_rate(Instant::from_nanos(now_ns), Rate::from_bps(bits_per_second));
    }
}

/// Sends nothing from `now_ns` until `until_ns`, as a radio during a hand-over.
///
/// # Safety
/// `link` is null or a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_gap(link: *mut GqLink, now_ns: u64, until_ns: u64) {
    // SAFETY: as promised by the caller.
    if let Some(link) = unsafe { link.as_mut() } {
        link.0.gap(Instant::from_nanos(now_ns), Instant::from_nanos(until_ns));
    }
}

/// Writes every packet of the queue from now on to the file `path` for `goodqueue replay`, until
/// `gq_link_free`. Returns false if the file cannot be written; `error` is as in `gq_link_new`.
///
/// # Safety
/// `link` is null or a link, `path` a string, and `error` null or of `error_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_record(
    link: *mut GqLink,
    path: *const c_char,
    error: *mut c_char,
    error_size: usize,
) -> bool {
    // SAFETY: as promised by the caller.
    let Some(link) = (unsafe { link.as_mut() }) else { return false };
    // SAFETY: as promised by the caller.
    let path = unsafe { text::read(path) };
    let begun = path.and_then(|path| {
        let failed = |error| format!("`{path}` cannot be written: {error}");
        let file = File::create(path).map_err(failed)?;
        link.0.record(BufWriter::new(file)).map_err(failed)
    });
    // SAFETY: as promised by the caller.
    begun.map_err(|message| unsafe { text::write(&message, error, error_size) }).is_ok()
}

/// Returns what the link measured.
///
/// # Safety
/// `link` is null or a link.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gq_link_statistics(link: *const GqLink) -> GqStatistics {
    // SAFETY: as promised by the caller.
    let Some(link) = (unsafe { link.as_ref() }) else { return GqStatistics::default() };
    let measured = link.0.stats();
    let sojourn = measured.sojourn;
    GqStatistics {
        sent: measured.sent.packets,
        arrived: measured.arrived.packets,
        dropped: measured.queue.dropped().packets,
        marked: measured.queue.marked.packets,
        lost: measured.lost.packets,
        sojourn_p50_ns: Duration::as_nanos(sojourn.p50()),
        sojourn_p95_ns: Duration::as_nanos(sojourn.p95()),
        sojourn_p99_ns: Duration::as_nanos(sojourn.p99()),
        sojourn_max_ns: Duration::as_nanos(sojourn.max()),
    }
}

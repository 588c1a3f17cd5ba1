//! Links `goodqueue` and `goodqueue-link` without the standard library. If any of them used `std`,
//! this would define a second panic handler and not build.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

use goodqueue::config::{Configure, Link, Settings};
use goodqueue::codel::{Codel, CodelConfig};
use goodqueue::{Datagram, DropReason, Ecn, FlowKey, Instant, Packet, Qdisc};
use goodqueue_link::Units;

struct Frame(u32);

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.0
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) -> bool {
        false
    }
}

/// Queues one frame and takes it out again.
#[unsafe(no_mangle)]
pub extern "C" fn goodqueue_once(now: u64) -> u32 {
    let Ok(config) = CodelConfig::from_settings(&Settings::new(), &Link::default()) else { return 0 };
    let mut queue = Codel::new(config);
    let mut drops = |_: Frame, _: DropReason| ();
    queue.enqueue(Instant::from_nanos(now), Frame(1514), &mut drops);
    queue.dequeue(Instant::from_nanos(now), &mut drops).map_or(0, |frame| frame.len())
}

/// Sends one packet over a link.
#[unsafe(no_mangle)]
pub extern "C" fn goodqueue_link_once(now: u64) -> u32 {
    let Ok(mut link) = goodqueue_link::Link::builder().rate(20.mbit()).delay(25.ms()).build() else { return 0 };
    let address = ([192, 0, 2, 1], 443).into();
    link.send(Instant::from_nanos(now), Datagram::new(FlowKey::new(address, address, FlowKey::UDP), 1514, ()));
    let arrived = link.next_event().and_then(|next| link.poll(next)?.arrived());
    arrived.map_or(0, |packet| packet.bytes)
}

struct NoMemory;

// SAFETY: it never hands out memory, so no rule about memory can be broken.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: NoMemory = NoMemory;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {}
}

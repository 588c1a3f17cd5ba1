//! Disciplines inside disciplines: a shaper with two priority bands. How long does a call wait
//! behind a full-speed upload?
//!
//! ```sh
//! cargo run --package goodqueue --example nesting
//! ```
//!
//! The types say what is inside what: `Tbf<Prio<FqCodel>>`. A discipline that is chosen at run time
//! would be an `AnyQdisc` instead.

use goodqueue::fq_codel::{FqCodel, FqCodelConfig};
use goodqueue::prio::{Prio, PrioConfig};
use goodqueue::random::Source;
use goodqueue::tbf::{Tbf, TbfConfig};
use goodqueue::{ConfigError, Datagram, Duration, FlowKey, Instant, Qdisc, Rate};

type Packet = Datagram<Instant>;
type Shaper = Tbf<Packet, Prio<Packet, FqCodel<Packet>>>;

fn main() -> Result<(), ConfigError> {
    let inside = FqCodelConfig::default().with_limit(500)?;
    let bands = PrioConfig::default().with_band(1, &inside)?.with_band(2, &inside)?;
    let config =
        TbfConfig::default().with_rate(Rate::from_bps(5_000_000))?.with_burst(3_000)?.with_inner(&bands)?;
    // The salt and the seed come from the system's random generator in a real program.
    let mut queue = Shaper::new(config, 7, Source::seeded(7));

    let key = |port: u16| FlowKey::new(([10, 0, 0, 1], port).into(), ([192, 0, 2, 1], 443).into(), 17);
    let mut longest = [Duration::ZERO; 2];
    let mut dropped = 0;
    for micros in 0..2_000_000 {
        let now = Instant::ZERO + Duration::from_micros(micros);
        let mut lost = |_: Packet, _| dropped += 1;
        // 10 Mbit/s of upload, in the default band.
        if micros % 1_200 == 0 {
            queue.enqueue(now, Datagram::new(key(1), 1_500, now), &mut lost);
        }
        // 50 voice packets per second. Expedited forwarding (46) counts as interactive: band 1.
        if micros % 20_000 == 0 {
            let voice = Datagram { dscp: 46, ..Datagram::new(key(2), 200, now) };
            queue.enqueue(now, voice, &mut lost);
        }
        while let Some(sent) = queue.dequeue(now, &mut lost) {
            let class = &mut longest[usize::from(sent.dscp == 46)];
            *class = (*class).max(now.since(sent.content));
        }
    }
    println!("longest wait of the upload: {} ms", longest[0].as_nanos() / 1_000_000);
    println!("longest wait of the call:   {} ms", longest[1].as_nanos() / 1_000_000);
    println!("packets dropped: {dropped}");
    assert!(longest[1] < Duration::from_millis(5), "one packet of the upload at most is ahead");
    Ok(())
}

//! Random operations on links with any discipline and path.

use std::collections::BTreeMap;

use goodqueue::{Datagram, Duration, Ecn, Instant, Rate};
use goodqueue_link::capacity::{Capacity, Opportunities};
use goodqueue_link::{Event, Link, LinkBuilder};

use super::choices::{Choices, Packet, flow};

/// Makes operations with extreme times, sizes and rates on a link with any discipline. Every packet
/// must have at most one fate, times must not decrease, and a link that has nothing to do must not
/// ask to be polled.
///
/// # Errors
/// The first rule that is broken.
pub fn any_link(bytes: &[u8]) -> Result<(), String> {
    let mut choices = Choices { bytes };
    let text = [choices.of(RATES), choices.of(FAULTS), choices.of(DISCIPLINES)].join(" ");
    let builder: LinkBuilder = text.parse().map_err(|error| format!("{error}"))?;
    let mut link: Link<Packet> = builder.seed(choices.number()).build().map_err(|error| error.to_string())?;
    let mut now = Instant::ZERO;
    let mut fates = BTreeMap::new();
    let mut number = 0;
    while !choices.bytes.is_empty() {
        // Without the shift, the first extreme would move the clock to the end of time.
        now += Duration::from_nanos(choices.extreme() >> choices.of(&[10, 20, 30, 40]));
        match choices.byte() % 10 {
            0..=4 => {
                let bytes = u32::try_from(choices.extreme()).unwrap_or(1514);
                let ecn = Ecn::from_bits(choices.byte());
                link.send(now, Datagram { ecn, ..Datagram::new(flow(number), bytes, number) });
                number += 1;
            }
            5 => link.set_capacity(now, capacity(&mut choices)),
            6 => link.gap(now, now + Duration::from_nanos(choices.extreme())),
            7 => {
                // A probability above 1 is refused, and nothing changes.
                let _ = link.set_loss(now, f64::from(choices.byte()) / 100.0);
                let _ = link.set_delay(now, Duration::from_nanos(choices.extreme()));
            }
            8 => {
                let line = choices.of(DISCIPLINES);
                // Without the brackets.
                let inside = line.get(1..line.len() - 1).unwrap_or_default();
                let config = goodqueue_tc::parse(inside, &goodqueue::Link::default());
                link.set_qdisc(now, config.map_err(|error| error.to_string())?);
            }
            _ => collect(&mut link, now, &mut fates)?,
        }
    }
    collect(&mut link, now, &mut fates)?;
    collect(&mut link, now + Duration::from_secs(10), &mut fates)?;
    // A copy has the number of its original.
    let copies = text.contains("duplicate");
    match fates.iter().find(|(_, count)| **count > 1 && !copies) {
        Some((packet, count)) => Err(format!("{text}: packet {packet} has {count} fates")),
        None => Ok(()),
    }
}

fn capacity(choices: &mut Choices<'_>) -> Capacity {
    let times = || vec![0, 1, 1, 7, 30];
    match choices.byte() % 4 {
        0 => Capacity::UNLIMITED,
        1 => Opportunities::new(times()).map_or(Capacity::UNLIMITED, |all| Capacity::Trace(all.into())),
        2 => Capacity::Schedule(vec![(Instant::ZERO, Rate::from_bps(choices.extreme()))]),
        _ => Capacity::Constant(Rate::from_bps(choices.extreme())),
    }
}

fn collect(link: &mut Link<Packet>, now: Instant, fates: &mut BTreeMap<u64, u32>) -> Result<(), String> {
    let mut last = Instant::ZERO;
    while let Some(event) = link.poll(now) {
        let at = event.at();
        if at < last || at > now {
            return Err(format!("an event of {at:?} comes after {last:?}, at {now:?}"));
        }
        last = at;
        let (Event::Arrived { packet, .. } | Event::Dropped { packet, .. } | Event::Lost { packet, .. }) =
            event;
        *fates.entry(packet.content).or_default() += 1;
    }
    match link.next_event() {
        Some(next) if next <= now => Err(format!("the next event is at {next:?} after a poll at {now:?}")),
        _ => Ok(()),
    }
}

const RATES: &[&str] = &["unlimited", "1bit", "9kbit", "20mbit", "400gbit"];
const FAULTS: &[&str] = &[
    "",
    "delay 25ms",
    "delay 3600s loss 10%",
    "loss gemodel 1% 10%",
    "delay 10ms 9ms",
    "delay 10ms reorder 50% duplicate 5%",
    "corrupt 10%",
];
const DISCIPLINES: &[&str] = &[
    "[pfifo limit 30]",
    "[fq_codel ecn limit 40]",
    "[cake bandwidth 1mbit]",
    "[tbf rate 1mbit burst 3000 latency 50ms]",
    "[prio [1: pfifo limit 3] [2: codel]]",
    "[netem delay 5ms 1ms]",
    "[dualpi2]",
    "[fq maxrate 1mbit]",
];

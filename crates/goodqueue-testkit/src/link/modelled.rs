//! A link beside its model.

use goodqueue::{Datagram, Instant, Rate};
use goodqueue_link::{Event, Link, Units};

use super::choices::{Choices, Fate, Packet, flow};
use super::model::Model;

/// Makes operations from `bytes` on a link with a FIFO, and on its model. Both must say the same of
/// every packet.
///
/// # Errors
/// The first difference.
pub fn link_and_model(bytes: &[u8]) -> Result<(), String> {
    let mut choices = Choices { bytes };
    let mut now = Instant::ZERO;
    let [rate, delay] = [choices.number() * 1000, choices.number()];
    let limit = u32::from(choices.byte()).max(1);
    let queue = goodqueue::fifo::PfifoConfig::new(limit).map_err(|error| error.to_string())?;
    let builder = Link::builder().rate(Rate::from_bps(rate)).delay(delay.us()).qdisc(queue);
    let mut link = builder.build().map_err(|error| error.to_string())?;
    let mut model = Model::new(Rate::from_bps(rate), delay.us(), limit as usize);
    let mut number = 0;
    // The time of the latest call: an earlier one counts as equal to it.
    let mut latest = now;
    while !choices.bytes.is_empty() {
        now += choices.number().us();
        match choices.byte() % 8 {
            0..=3 => {
                let bytes = u32::try_from(choices.number() * 8).unwrap_or(u32::MAX);
                // Now and then a caller is late.
                let told = if choices.byte().is_multiple_of(16) { now - 1.s() } else { now };
                link.send(told, packet(number, bytes));
                latest = latest.max(told);
                model.send(latest, number, bytes);
                number += 1;
                continue;
            }
            4 => {
                let rate = Rate::from_bps(choices.number() * 1000);
                link.set_rate(now, rate);
                model.set_rate(now, rate);
            }
            5 => {
                let until = now + choices.number().us();
                link.gap(now, until);
                model.gap(now, until);
            }
            6 => {
                let delay = choices.number().us();
                link.set_delay(now, delay).map_err(|error| error.to_string())?;
                model.set_delay(now, delay);
            }
            _ => agree(&mut link, &mut model, now)?,
        }
        latest = now;
    }
    agree(&mut link, &mut model, now)?;
    agree(&mut link, &mut model, now + 100_000.s())?;
    let stats = link.stats();
    let sent = stats.queue.dequeued.packets + stats.queue.dropped().packets + model.queued() as u64;
    if sent != number { Err(format!("{number} packets have {sent} fates")) } else { Ok(()) }
}

/// Compares everything until `now`.
fn agree(link: &mut Link<Packet>, model: &mut Model, now: Instant) -> Result<(), String> {
    let mut ours: Vec<Fate> = Vec::new();
    let mut last = Instant::ZERO;
    while let Some(event) = link.poll(now) {
        if event.at() < last || event.at() > now {
            return Err(format!("an event of {:?} comes after {last:?}, at {now:?}", event.at()));
        }
        last = event.at();
        let arrived = matches!(event, Event::Arrived { .. });
        let (Event::Arrived { at, packet }
        | Event::Dropped { at, packet, .. }
        | Event::Lost { at, packet, .. }) = event;
        ours.push((at, packet.content, arrived));
    }
    if link.next_event().is_some_and(|next| next <= now) {
        return Err(format!("the next event is at {:?} after a poll at {now:?}", link.next_event()));
    }
    let mut theirs = model.until(now);
    // Events of the same instant may come in any order.
    theirs.sort_unstable();
    ours.sort_unstable();
    if ours == theirs { Ok(()) } else { Err(format!("until {now:?}: link {ours:?}, model {theirs:?}")) }
}

fn packet(number: u64, bytes: u32) -> Packet {
    Datagram::new(flow(number), bytes, number)
}

//! How many delays of probes a run keeps one by one.

use goodqueue::{Duration, Instant};

use crate::config::FlowConfig;
use crate::outcome::RunError;
use crate::traffic::Room;

/// Returns the room for the samples of each flow of a run: for all of them, if there are few, or
/// for some of each flow, whose others are summed up.
///
/// # Errors
/// Even the sums would take too much memory.
pub(crate) fn room_for(flows: &[FlowConfig], duration: Duration) -> Result<Room, RunError> {
    let counts = flows.iter().filter_map(|flow| {
        // The least that a source allows, against an interval of zero.
        let interval = flow.traffic.probe_interval()?.as_nanos().max(1000);
        // A flow that is stopped after the end of the run sends only until there.
        let end = flow.stop.unwrap_or(Instant::MAX).as_nanos().min(duration.as_nanos());
        // One more, because the first packet is sent at the start.
        Some(end.saturating_sub(flow.start.as_nanos()) / interval + 1)
    });
    let counts: Vec<u64> = counts.collect();
    let all = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
    if all <= MOST_SAMPLES {
        return Ok(Room::UNLIMITED);
    }
    // Not 0, because there are samples.
    let probes = counts.len() as u64;
    // A flow may fill eight times its room while packets may still arrive (`MOST_HALVES`).
    let samples = (MOST_SAMPLES / 8 / probes).max(LEAST_ROOM);
    // A flow begins to sum up when it has twice its room.
    let summed = counts.iter().filter(|count| **count > 2 * samples).count();
    if summed > MOST_SUMMED {
        return Err(RunError::TooManyProbes { flows: summed, samples: all, most: MOST_SUMMED });
    }
    let digits = if summed > MOST_FINE { 2 } else { 3 };
    Ok(Room { samples: usize::try_from(samples).unwrap_or(usize::MAX), digits })
}

/// Samples that a run keeps one by one. Each takes 24 bytes while the run lasts, and about 80 more
/// at its end.
const MOST_SAMPLES: u64 = 4_000_000;
/// Samples that each flow keeps in any case.
const LEAST_ROOM: u64 = 256;
/// Flows whose samples are summed up. Sums take 75 kB, most of it for the samples in figures.
const MOST_SUMMED: usize = 4096;
/// Flows whose sums have three digits, and take 250 kB.
const MOST_FINE: usize = 512;

#[cfg(test)]
mod tests {
    use goodqueue::Direction;

    use super::*;
    use crate::traffic::{PingSettings, Traffic, VoipSettings};

    fn flows(count: usize, traffic: &Traffic, start_s: u64) -> Vec<FlowConfig> {
        let flow = FlowConfig {
            traffic: traffic.clone(),
            rtt: Duration::from_millis(50),
            access: Duration::ZERO,
            access_rate: None,
            host_qdisc: None,
            joins: 0,
            dscp: 0,
            client: 0,
            server: 0,
            start: Instant::ZERO + Duration::from_secs(start_s),
            stop: None,
        };
        vec![flow; count]
    }

    #[test]
    fn few_samples_are_kept_and_many_are_summed_up_unless_the_sums_are_too_many() {
        let ping =
            Traffic::Ping(PingSettings { interval: Duration::from_millis(200), bytes: 64, l4s: false });
        let interval = Duration::from_millis(20);
        let call = Traffic::Voip(VoipSettings { direction: Direction::Up, interval, bytes: 200, ecn: false });
        let room =
            |count, traffic, seconds| room_for(&flows(count, traffic, 0), Duration::from_secs(seconds));
        assert_eq!(room(1, &ping, 600), Ok(Room::UNLIMITED));
        assert_eq!(room(100, &call, 300), Ok(Room::UNLIMITED));
        // An eighth of the 4,000,000 samples, divided by the flows.
        assert_eq!(room(100, &call, 20_000), Ok(Room { samples: 5000, digits: 3 }));
        assert_eq!(room(1000, &call, 20_000), Ok(Room { samples: 500, digits: 2 }));
        // A packet each 20 ms in 100 s, and the one at the beginning.
        let samples = 100_000 * 5001;
        assert_eq!(
            room(100_000, &call, 100),
            Err(RunError::TooManyProbes { flows: 100_000, samples, most: MOST_SUMMED })
        );
        // In its last second each of them sends 51 packets, and all together 510,000.
        let late = flows(10_000, &call, 99);
        assert_eq!(room_for(&late, Duration::from_secs(100)), Ok(Room::UNLIMITED));
    }
}

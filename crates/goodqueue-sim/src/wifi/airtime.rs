//! Deficit round robin over stations, in units of airtime ("Ending the Anomaly", USENIX ATC 2017,
//! §3.2).
//!
//! A station with a deficit above 0 may send. The airtime of its transmissions is charged when they
//! end; retries and the station's own uploads count. Stations that have just become active go
//! first, once, as sparse flows do in FQ-CoDel. A station's debt is forgotten once it is paid and
//! nothing is queued for the station. mac80211 keeps debts indefinitely.

use std::collections::VecDeque;

use goodqueue::Duration;

use super::demand::Demand;

/// The round of the stations of one access category.
#[derive(Clone, Debug)]
pub(crate) struct Airtime {
    stations: Vec<Station>,
    /// Active stations that have not had their turn.
    new: VecDeque<usize>,
    /// The other active stations.
    old: VecDeque<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Airtime left in this round, in nanoseconds.
    deficit: i64,
    /// Airtime that a round adds, in nanoseconds.
    quantum: i64,
    /// True if the station is in one of the lists.
    listed: bool,
}

/// Weight of a station without a configured one (mac80211 `IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub const DEFAULT_WEIGHT: u32 = 256;

impl Airtime {
    /// Creates a round in which a station of the default weight may use `quantum`.
    pub(crate) fn new(quantum: Duration, weights: &[u32]) -> Self {
        let station = |weight: &u32| {
            let nanos = quantum.as_nanos().saturating_mul(u64::from(*weight)) / u64::from(DEFAULT_WEIGHT);
            // A quantum of 0 would never pay a debt.
            let share = i64::try_from(nanos).unwrap_or(i64::MAX).max(1);
            Station { deficit: share, quantum: share, listed: false }
        };
        Self { stations: weights.iter().map(station).collect(), new: VecDeque::new(), old: VecDeque::new() }
    }

    /// Adds a station to which there is something to send.
    pub(crate) fn activate(&mut self, index: usize) {
        let station = &mut self.stations[index];
        if !station.listed {
            station.listed = true;
            station.deficit = station.quantum;
            self.new.push_back(index);
        }
    }

    /// Charges airtime to a station.
    pub(crate) fn charge(&mut self, index: usize, airtime: Duration) {
        let nanos = i64::try_from(airtime.as_nanos()).unwrap_or(i64::MAX);
        let station = &mut self.stations[index];
        station.deficit = station.deficit.saturating_sub(nanos);
    }

    /// Returns the station whose turn it is. It keeps its turn until its deficit is used up.
    pub(crate) fn next(&mut self, demand: impl Fn(usize) -> Demand) -> Option<usize> {
        self.skip_fruitless_rounds();
        let mut blocked = 0;
        // Once every listed station has been blocked, none can send.
        while blocked <= self.new.len() + self.old.len() {
            let from_new = !self.new.is_empty();
            let others = !self.old.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let station = &mut self.stations[index];
            if station.deficit <= 0 {
                // A debt is paid before the station may send again; the station waits at the end of
                // the old list meanwhile, as in FQ-CoDel (RFC 8290 §4.2).
                station.deficit = station.deficit.saturating_add(station.quantum);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            match demand(index) {
                Demand::Ready => return Some(index),
                Demand::Blocked => {
                    list.pop_front();
                    self.old.push_back(index);
                    blocked += 1;
                }
                // An empty station passes once through the list of old stations. Otherwise it could
                // become new again and again, and starve the others.
                Demand::Nothing if from_new && others => {
                    self.new.pop_front();
                    self.old.push_back(index);
                }
                Demand::Nothing => {
                    list.pop_front();
                    station.listed = false;
                }
            }
        }
        None
    }

    /// Skips the rounds in which every station would only pay its debt.
    fn skip_fruitless_rounds(&mut self) {
        let listed = || self.new.iter().chain(&self.old);
        let rounds = listed()
            .map(|&index| {
                let station = &self.stations[index];
                // One station with a deficit above 0 makes the next round fruitful.
                if station.deficit > 0 { 0 } else { station.deficit.saturating_neg() / station.quantum }
            })
            .min()
            .unwrap_or(0);
        if rounds > 0 {
            for &index in self.new.iter().chain(&self.old) {
                let station = &mut self.stations[index];
                station.deficit = station.deficit.saturating_add(station.quantum.saturating_mul(rounds));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTUM: Duration = Duration::from_micros(300);

    fn serve(airtime: &mut Airtime, costs: &[u64], turns: usize) -> Vec<u64> {
        let mut used = vec![0; costs.len()];
        for _ in 0..turns {
            let index = airtime.next(|_| Demand::Ready).expect("all are backlogged");
            airtime.charge(index, Duration::from_micros(costs[index]));
            used[index] += costs[index];
        }
        used
    }

    #[test]
    fn stations_with_long_and_short_transmissions_use_the_same_airtime() {
        let mut airtime = Airtime::new(QUANTUM, &[DEFAULT_WEIGHT; 3]);
        (0..3).for_each(|index| airtime.activate(index));
        let used = serve(&mut airtime, &[100, 700, 4_000], 10_000);
        let most = used.iter().max().expect("three");
        let least = used.iter().min().expect("three");
        // The stations differ by at most a quantum and a transmission.
        assert!(most - least <= 300 + 4_000, "{used:?}");
    }

    #[test]
    fn a_station_of_twice_the_weight_uses_twice_the_airtime() {
        let mut airtime = Airtime::new(QUANTUM, &[DEFAULT_WEIGHT, 2 * DEFAULT_WEIGHT]);
        (0..2).for_each(|index| airtime.activate(index));
        let used = serve(&mut airtime, &[500, 500], 10_000);
        assert!((2 * used[0]).abs_diff(used[1]) <= 4 * 500, "{used:?}");
    }

    #[test]
    fn a_sparse_station_goes_before_the_backlogged_ones() {
        let mut airtime = Airtime::new(QUANTUM, &[DEFAULT_WEIGHT; 2]);
        airtime.activate(0);
        serve(&mut airtime, &[4_000, 0], 1);
        airtime.activate(1);
        assert_eq!(airtime.next(|_| Demand::Ready), Some(1));
    }

    #[test]
    fn a_blocked_station_lets_the_others_pass_and_keeps_its_place() {
        let mut airtime = Airtime::new(QUANTUM, &[DEFAULT_WEIGHT; 2]);
        (0..2).for_each(|index| airtime.activate(index));
        let zero_waits = |index| if index == 0 { Demand::Blocked } else { Demand::Ready };
        assert_eq!(airtime.next(zero_waits), Some(1));
        assert_eq!(airtime.next(|_| Demand::Blocked), None);
        airtime.charge(1, Duration::from_secs(100));
        assert_eq!(airtime.next(|_| Demand::Ready), Some(0), "a long debt is not counted off round by round");
    }
}

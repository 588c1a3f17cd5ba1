//! The multi-stage filter that finds heavy hitters, and the table that remembers them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Thresholds of the filter and of the table. Times are in jiffies of 1 ms, as Linux counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Thresholds {
    pub(super) hh_limit: u32,
    pub(super) reset_timeout: u64,
    pub(super) admit_bytes: u32,
    pub(super) evict_timeout: u64,
}

/// The counters of all flows, and the heavy hitters.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// Bytes since the last reset, by stage and place.
    counters: Box<[[u32; PLACES]; STAGES]>,
    /// Heavy hitters by the low bits of their hash, in the order in which they were added.
    table: Vec<Vec<Hitter>>,
    reset_at: u64,
    pub(super) tally: Tally,
}

/// What Linux counts for `tc -s`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Tally {
    /// Flows that were not added because the table was full.
    pub(super) refused: u64,
    /// Flows added so far.
    pub(super) added: u64,
    /// Entries in the table, expired ones included.
    pub(super) entries: u32,
}

/// A flow in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hitter {
    hash: u32,
    /// When its last packet arrived.
    seen_at: u64,
}

/// What the filter says of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    /// Its flow is in the table.
    Known,
    /// The smallest counter of its flow, with this packet, exceeds `admit_bytes`. The flow is added
    /// to the table.
    Added { smallest: u32 },
    /// The same, but the table is full.
    Refused { smallest: u32 },
    /// The smallest counter of its flow, with this packet, does not exceed `admit_bytes`.
    Small { smallest: u32 },
}

impl Finding {
    /// Returns true if the packet belongs to a heavy hitter.
    pub(super) const fn is_heavy(self) -> bool {
        matches!(self, Self::Known | Self::Added { .. })
    }
}

impl Hitter {
    /// Linux `hhf_time_before()`: strictly later than the timeout.
    const fn is_expired(&self, now: u64, thresholds: &Thresholds) -> bool {
        self.seen_at.saturating_add(thresholds.evict_timeout) < now
    }
}

impl Filter {
    /// Counters at zero and an empty table.
    pub(super) fn new(now: u64) -> Self {
        Self {
            counters: Box::new([[0; PLACES]; STAGES]),
            table: vec![Vec::new(); PLACES],
            reset_at: now,
            tally: Tally::default(),
        }
    }

    /// Classifies a packet of `bytes` of the flow with this hash.
    pub(super) fn classify(&mut self, now: u64, hash: u32, bytes: u32, thresholds: &Thresholds) -> Finding {
        if self.is_reset_due(now, thresholds) {
            self.clear_counters();
            self.reset_at = now;
        }
        if self.find(now, hash, thresholds) {
            return Finding::Known;
        }
        let smallest = self.smallest_counter(hash, bytes);
        if smallest > thresholds.admit_bytes {
            // The counters stay as they are. A heavy hitter therefore does not fill counters that
            // other flows share ("shielding", Estan & Varghese 2002 §3.3.1).
            return if self.add(now, hash, thresholds) {
                Finding::Added { smallest }
            } else {
                Finding::Refused { smallest }
            };
        }
        // A counter above the smallest one belongs to other flows, too ("conservative update",
        // Estan & Varghese 2002 §3.3.2).
        for (stage, place) in self.counters.iter_mut().zip(places(hash)) {
            // A place has ten bits, and a stage as many counters, so this never fails.
            if let Some(counter) = stage.get_mut(place) {
                *counter = smallest.max(*counter);
            }
        }
        Finding::Small { smallest }
    }

    /// Returns what [`Self::classify`] would return, and changes nothing.
    pub(super) fn preview(&self, now: u64, hash: u32, bytes: u32, thresholds: &Thresholds) -> Finding {
        let hitters = self.table.get(slot(hash)).map_or(&[][..], Vec::as_slice);
        if hitters.iter().any(|hitter| hitter.hash == hash && !hitter.is_expired(now, thresholds)) {
            return Finding::Known;
        }
        let smallest =
            if self.is_reset_due(now, thresholds) { bytes } else { self.smallest_counter(hash, bytes) };
        if smallest <= thresholds.admit_bytes {
            return Finding::Small { smallest };
        }
        // The look-up deletes expired entries, but for one at the end, which is used again.
        let expired = hitters.iter().filter(|hitter| hitter.is_expired(now, thresholds)).count();
        let left = (self.tally.entries as usize).saturating_sub(expired);
        let is_reused = hitters.last().is_some_and(|hitter| hitter.is_expired(now, thresholds));
        if is_reused || left < thresholds.hh_limit as usize {
            Finding::Added { smallest }
        } else {
            Finding::Refused { smallest }
        }
    }

    /// Forgets all flows. The tally of added flows stays.
    pub(super) fn clear(&mut self, now: u64) {
        self.clear_counters();
        for hitters in &mut self.table {
            hitters.clear();
        }
        // Linux keeps what it counted since the start for `tc -s`, and what is in the table begins
        // anew.
        self.tally.entries = 0;
        self.reset_at = now;
    }

    fn clear_counters(&mut self) {
        for stage in self.counters.iter_mut() {
            stage.fill(0);
        }
    }

    const fn is_reset_due(&self, now: u64, thresholds: &Thresholds) -> bool {
        self.reset_at.saturating_add(thresholds.reset_timeout) < now
    }

    /// Looks the flow up and notes that it sent. Deletes the expired entries on the way.
    fn find(&mut self, now: u64, hash: u32, thresholds: &Thresholds) -> bool {
        let Some(hitters) = self.table.get_mut(slot(hash)) else { return false };
        let mut index = 0;
        while let Some(hitter) = hitters.get_mut(index) {
            if hitter.is_expired(now, thresholds) {
                // As in Linux, an expired entry at the end stays, and the next new flow takes it.
                if index + 1 == hitters.len() {
                    return false;
                }
                hitters.remove(index);
                self.tally.entries = self.tally.entries.saturating_sub(1);
            } else if hitter.hash == hash {
                hitter.seen_at = now;
                return true;
            } else {
                index += 1;
            }
        }
        false
    }

    /// Adds the flow to the table. False if the table is full.
    fn add(&mut self, now: u64, hash: u32, thresholds: &Thresholds) -> bool {
        let Some(hitters) = self.table.get_mut(slot(hash)) else { return false };
        let new = Hitter { hash, seen_at: now };
        // An expired entry is used again before the limit counts, so a full table still takes
        // flows.
        if let Some(expired) = hitters.iter_mut().find(|hitter| hitter.is_expired(now, thresholds)) {
            *expired = new;
        } else if self.tally.entries < thresholds.hh_limit {
            hitters.push(new);
            self.tally.entries += 1;
        } else {
            self.tally.refused = self.tally.refused.wrapping_add(1);
            return false;
        }
        self.tally.added = self.tally.added.wrapping_add(1);
        true
    }

    /// Returns the smallest counter of the flow after a packet of `bytes`.
    fn smallest_counter(&self, hash: u32, bytes: u32) -> u32 {
        let counters = self.counters.iter().zip(places(hash)).filter_map(|(stage, place)| stage.get(place));
        // Linux adds in 32 bits, too: only an `admit_bytes` close to 4 GiB lets the sum wrap.
        counters.map(|counter| counter.wrapping_add(bytes)).min().unwrap_or(bytes)
    }
}

/// Returns the place of a flow's counter in each stage: three parts of ten bits of its hash, and
/// what all of its bits give when they are folded.
const fn places(hash: u32) -> [usize; STAGES] {
    let [first, second, third] = [hash & MASK, (hash >> BITS) & MASK, (hash >> (2 * BITS)) & MASK];
    let folded = first ^ second ^ third ^ (hash >> (3 * BITS));
    [first as usize, second as usize, third as usize, folded as usize]
}

/// Returns the list of the table that holds the flow.
const fn slot(hash: u32) -> usize {
    (hash & MASK) as usize
}

/// Stages of the filter (Linux `HHF_ARRAYS_CNT`).
const STAGES: usize = 4;
/// Counters of a stage, and lists of the table (Linux `HHF_ARRAYS_LEN` and `HH_FLOWS_CNT`).
const PLACES: usize = 1 << BITS;
const BITS: u32 = 10;
const MASK: u32 = (1 << BITS) - 1;
/// Entries that the table may have (Linux: twice its lists).
pub(super) const MOST_HITTERS: u64 = 2 * PLACES as u64;

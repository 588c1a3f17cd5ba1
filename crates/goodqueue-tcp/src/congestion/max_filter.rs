//! The most of the last rounds.

/// The most of the last rounds, as Linux estimates it from three samples (Nichols' windowed
/// filter): the best, the best of those that came a quarter of the window later, and of those half
/// a window later.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MaxFilter {
    /// Round and value; the best first.
    best: [(u64, f64); 3],
}

impl MaxFilter {
    pub(super) fn value(&self) -> f64 {
        self.best[0].1
    }

    /// Takes the `value` of a `round`. Counts what came in the last `window` rounds.
    pub(super) fn take(&mut self, round: u64, value: f64, window: u64) {
        let new = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let [first, second, third] = self.best;
        if round - first.0 > window {
            self.best = [second, third, new];
            if round - second.0 > window {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && round - first.0 > window / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if third.0 == second.0 && round - first.0 > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_last_rounds_is_followed_by_the_best_of_their_later_quarters() {
        let mut most = MaxFilter::default();
        for (round, value) in [(1, 10.0), (2, 5.0), (5, 7.0), (8, 6.0), (9, 4.0)] {
            most.take(round, value, 10);
            assert!((most.value() - 10.0).abs() < 1e-9);
        }
        most.take(12, 3.0, 10);
        assert!((most.value() - 7.0).abs() < 1e-9, "the ten of eleven rounds ago are gone");
        most.take(17, 3.0, 10);
        assert!(most.value() < 7.0);
        most.take(18, 20.0, 10);
        assert!((most.value() - 20.0).abs() < 1e-9);
    }
}

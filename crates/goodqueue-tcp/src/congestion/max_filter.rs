//! The most of the last rounds.

/// The most of the last rounds, as Linux estimates it from three samples (Nichols' windowed
/// filter): the best, the best of those that came a quarter of the window later, and of those half
/// a window later.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MaxFilter<T> {
    /// Round and value; the best first.
    best: [(u64, T); 3],
}

impl<T: Copy + PartialOrd> MaxFilter<T> {
    pub(super) fn value(&self) -> T {
        self.best[0].1
    }

    /// Takes the `value` of a `round`. Counts what came in the last `window` rounds.
    pub(super) fn take(&mut self, round: u64, value: T, window: u64) {
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
        for (round, value) in [(1, 10), (2, 5), (5, 7), (8, 6), (9, 4)] {
            most.take(round, value, 10);
            assert_eq!(most.value(), 10);
        }
        most.take(12, 3, 10);
        assert_eq!(most.value(), 7, "the ten of eleven rounds ago are gone");
        most.take(17, 3, 10);
        assert!(most.value() < 7);
        most.take(18, 20, 10);
        assert_eq!(most.value(), 20);
    }
}

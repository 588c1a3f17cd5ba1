//! Thinning of long series that keeps their peaks.

/// Returns the number of samples to merge into one so that at most `max` remain.
pub(crate) fn bucket(len: usize, max: usize) -> usize {
    len.div_ceil(max.max(1)).max(1)
}

/// Returns the mean of the samples present in each bucket.
pub(crate) fn means(values: &[Option<f64>], bucket: usize) -> Vec<Option<f64>> {
    each(values, bucket, |present| present.iter().sum::<f64>() / crate::metric::count(present.len()))
}

/// Returns the largest of the samples present in each bucket.
pub(crate) fn maxima(values: &[Option<f64>], bucket: usize) -> Vec<Option<f64>> {
    each(values, bucket, |present| present.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn each(values: &[Option<f64>], bucket: usize, merge: fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    let chunk = |c: &[Option<f64>]| {
        let present: Vec<f64> = c.iter().flatten().copied().filter(|v| v.is_finite()).collect();
        (!present.is_empty()).then(|| merge(&present))
    };
    // `chunks` panics at zero.
    values.chunks(bucket.max(1)).map(chunk).collect()
}

/// Returns the first lost, the shortest and the longest ping of each bucket, in the order of their
/// send times.
pub(crate) fn pings(pings: &[(f64, Option<f64>)], max: usize) -> Vec<(f64, Option<f64>)> {
    if pings.len() <= max {
        return pings.to_vec();
    }
    // A bucket keeps up to three pings.
    let size = bucket(pings.len(), (max / 3).max(1));
    let keep = |chunk: &[(f64, Option<f64>)]| {
        let answered = || chunk.iter().enumerate().filter_map(|(i, p)| Some((i, p.1?)));
        let mut kept: Vec<usize> = Vec::new();
        kept.extend(answered().min_by(|a, b| a.1.total_cmp(&b.1)).map(|a| a.0));
        kept.extend(answered().max_by(|a, b| a.1.total_cmp(&b.1)).map(|a| a.0));
        kept.extend(chunk.iter().position(|p| p.1.is_none()));
        // A line through pings must go forward in time, whichever of them is the shortest.
        kept.sort_unstable();
        // A single answered ping is both the shortest and the longest.
        kept.dedup();
        kept.into_iter().map(|i| chunk[i]).collect::<Vec<_>>()
    };
    pings.chunks(size).flat_map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_the_limit() {
        assert_eq!(bucket(0, 100), 1);
        assert_eq!(bucket(100, 100), 1);
        assert_eq!(bucket(101, 100), 2);
        assert_eq!(bucket(5, 0), 5);
    }

    #[test]
    fn empty_steps_stay_empty() {
        let v = [Some(1.0), Some(3.0), None, None, Some(5.0)];
        assert_eq!(means(&v, 2), [Some(2.0), None, Some(5.0)]);
        assert_eq!(maxima(&v, 2), [Some(3.0), None, Some(5.0)]);
    }

    #[test]
    fn the_longest_ping_and_the_losses_survive() {
        let mut all: Vec<(f64, Option<f64>)> = (0..1000).map(|i| (f64::from(i), Some(0.01))).collect();
        all[500].1 = Some(2.0);
        all[777].1 = None;
        let few = pings(&all, 90);
        assert!(few.len() <= 90, "{}", few.len());
        assert!(few.contains(&(500.0, Some(2.0))) && few.contains(&(777.0, None)));
        assert!(few.windows(2).all(|w| w[0].0 < w[1].0));
    }
}

//! Ranges that leave the outliers out, so that one of them does not squeeze all the rest.

use crate::reproduce::picture::Picture;

use super::plane::Axis;

/// The range of an axis, and whether something lies outside.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cut {
    /// What is drawn large.
    pub axis: Axis,
    /// Everything.
    pub whole: Axis,
}

impl Cut {
    pub(super) fn is_cut(&self) -> bool {
        let shown = self.axis.range;
        let whole = self.whole.range;
        let length = shown.1 - shown.0;
        whole.1 > shown.1 + length * SEEN || whole.0 < shown.0 - length * SEEN
    }
}

/// Returns the range of an axis: the paper's if it has one; otherwise that of all disciplines but
/// one that goes much further than all others. `values` are those of a discipline, by its place in
/// `labels`.
pub(super) fn cut(
    picture: &Picture,
    paper: Option<(f64, f64)>,
    log: bool,
    values: &dyn Fn(&str) -> Vec<f64>,
) -> Cut {
    let mut labels: Vec<&str> = Vec::new();
    for trace in &picture.traces {
        if !labels.contains(&trace.label.as_str()) {
            labels.push(&trace.label);
        }
    }
    let of_each: Vec<Vec<f64>> = labels.iter().map(|label| values(label)).collect();
    let whole = Axis::over(of_each.iter().flatten().copied(), log);
    let given = whole.with(paper);
    // The paper's range wins, and a logarithmic axis has room for an outlier.
    if given != whole || log {
        return Cut { axis: given, whole };
    }
    let most = |values: &Vec<f64>| values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let mut sizes: Vec<(f64, usize)> = of_each.iter().map(most).zip(0..).collect();
    sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let axis = match sizes.as_slice() {
        // Of two disciplines neither is the outlier.
        [(first, outlier), (second, _), _, ..] if *second > 0.0 && *first > FAR * second => {
            let rest = of_each.iter().enumerate().filter(|(number, _)| number != outlier);
            Axis::over(rest.flat_map(|(_, values)| values).copied(), log)
        }
        _ => whole,
    };
    Cut { axis, whole }
}

/// A discipline is an outlier if it goes this many times further than all others.
const FAR: f64 = 2.5;
/// Share of an axis that is not seen to be missing.
const SEEN: f64 = 0.07;

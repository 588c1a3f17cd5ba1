//! How far the disciplines at one point of a sweep are apart, pair by pair over equal seeds, for
//! the terminal and for the page.

use goodqueue_scenario::metrics::{Column, Group};
use goodqueue_scenario::results::{Aggregate, Difference, Estimate};

/// A table of differences.
pub(crate) struct Differences<'g> {
    /// One metric each.
    pub(crate) columns: Vec<Column<'g>>,
    /// One pair each.
    pub(crate) rows: Vec<Row<'g>>,
}

/// The differences of a pair.
pub(crate) struct Row<'s> {
    /// The discipline.
    pub(crate) qdisc: &'s str,
    /// The discipline whose metrics are subtracted.
    pub(crate) from: &'s str,
    /// One difference for each column, in SI units.
    pub(crate) figures: Vec<Option<Estimate>>,
}

impl<'g> Differences<'g> {
    /// Returns the differences in `summary`, which is that of one point of the sweep, for the
    /// metrics of `groups` by which runs are compared; `None` if there are none.
    pub(crate) fn new(summary: &[&'g Aggregate], groups: &'g [Group]) -> Option<Self> {
        let mut pairs: Vec<_> = summary
            .iter()
            .flat_map(|one| one.differences.iter().map(|from| (one.qdisc.as_str(), from)))
            .collect();
        if pairs.len() > MOST_PAIRS {
            let first = pairs[0].1.from.as_str();
            pairs.retain(|(_, difference)| difference.from == first);
        }
        // Compared columns have one metric each, although others may join several.
        let key = |column: &Column<'_>| column.parts[0].0.key_of(column.parts[0].1);
        let has_values = |column: &Column<'_>| {
            key(column).is_some_and(|key| pairs.iter().any(|pair| pair.1.figures.contains_key(&key)))
        };
        let columns = groups.iter().flat_map(Group::columns);
        let columns: Vec<Column<'g>> =
            columns.flat_map(|column| column.compared().collect::<Vec<_>>()).filter(has_values).collect();
        let row = |&(qdisc, difference): &(&'g str, &'g Difference)| Row {
            qdisc,
            from: &difference.from,
            figures: columns.iter().map(|column| difference.figures.get(&key(column)?).copied()).collect(),
        };
        let rows = pairs.iter().map(row).collect();
        (!columns.is_empty()).then_some(Self { columns, rows })
    }
}

/// Pairs of six disciplines. With more disciplines a table has the differences from the first.
const MOST_PAIRS: usize = 15;

//! Results of runs in a store.

use goodqueue_tc::diagnostic::Diagnostic;

use super::measured::Measured;
use crate::run::RunSpec;
use crate::run::series::SeriesUse;
use crate::store::{Store, StoredRun};

/// The stored result of a run, if it has all that the run wants.
///
/// # Errors
/// The store cannot be reached.
pub(super) fn stored<M: Measured>(run: &RunSpec, store: &Store) -> Result<StoredRun<M>, Diagnostic> {
    // A store has no packets, so the run is simulated again.
    if !run.packets.is_empty() {
        return Ok(StoredRun::Absent);
    }
    let mut found: StoredRun<M> = match (run.series, run.config.series_step) {
        (SeriesUse::AnyStep | SeriesUse::ThisStep, Some(step)) => {
            let any_step = run.series == SeriesUse::AnyStep;
            let found = store.load_with_series::<M, _>(&run.key, step.as_nanos(), any_step)?;
            found.and_then(|(mut kept, series)| {
                kept.run_mut().series = Some(series);
                Some(kept)
            })
        }
        _ => store.load(&run.key)?,
    };
    if let StoredRun::Whole(kept) = &mut found {
        // The metrics are the same, but the labels in this scenario may differ.
        let labelled = kept.run_mut();
        labelled.qdisc.clone_from(&run.labels.qdisc);
        labelled.sweep.clone_from(&run.labels.sweep);
        drop_unwanted(run, kept);
    }
    Ok(found)
}

/// True if a run may be in the store without all that is wanted of it.
pub(super) const fn wants_parts(run: &RunSpec) -> bool {
    !run.packets.is_empty() || matches!(run.series, SeriesUse::AnyStep | SeriesUse::ThisStep)
}

/// Frees the parts of a result that nobody wants until all runs have finished.
pub(super) fn drop_unwanted(run: &RunSpec, measured: &mut impl Measured) {
    if !run.wanted.tc_stats {
        measured.run_mut().tc_stats = None;
    }
}

/// Keeps the result of a run in the store. The result loses time series that are for the store
/// only.
///
/// # Errors
/// The store cannot be written.
pub(super) fn keep<M: Measured>(run: &RunSpec, measured: &mut M, store: &Store) -> Result<(), Diagnostic> {
    if run.series == SeriesUse::InResult {
        return store.save(&run.key, measured);
    }
    let Some((step, series)) = run.config.series_step.zip(measured.run_mut().series.take()) else {
        return store.save(&run.key, measured);
    };
    store.save_with_series(&run.key, measured, step.as_nanos(), &series)?;
    measured.run_mut().series = Some(series).filter(|_| run.series.is_in_result());
    Ok(())
}

//! Makes one run: takes its result from the store, or simulates it and keeps the result.

use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;

use super::measured::Measured;
use super::stored::{drop_unwanted, keep, stored, wants_parts};
use super::tracker::Tracker;
use crate::export::packets::PacketLog;
use crate::run::RunSpec;
use crate::store::{Store, StoredRun};

/// Makes the run of this number. `None` if the watch cancels it.
///
/// # Errors
/// The simulator refuses the run, or the store cannot be used.
pub(super) fn make<M: Measured>(
    number: usize,
    run: &RunSpec,
    store: Option<&Store>,
    tracker: &Tracker<'_>,
) -> Result<Option<M>, Diagnostic> {
    if let Some(store) = store {
        match stored::<M>(run, store)? {
            StoredRun::Whole(kept) => {
                tracker.finished(number, kept.run(), true);
                return Ok(Some(kept));
            }
            StoredRun::Damaged(file) => tracker.damaged(&file),
            // The run is there without its series in this step, or its packets are wanted.
            StoredRun::Absent if wants_parts(run) && store.has(&run.key)? => tracker.repeated(),
            StoredRun::Absent => {}
        }
    }
    // The key of a run is that of its whole duration, so a store must not hold a run that ended
    // early.
    let Some(outcome) = simulate(number, run, store.is_none(), tracker)? else { return Ok(None) };
    let mut measured = M::measure(run, &outcome.of);
    measured.run_mut().engine.cpu_s = outcome.cpu_s;
    // All samples of the run are in it, and only the result is needed from here on.
    drop(outcome);
    if let Some(store) = store {
        keep(run, &mut measured, store)?;
    }
    drop_unwanted(run, &mut measured);
    tracker.finished(number, measured.run(), false);
    Ok(Some(measured))
}

/// A simulated run.
pub(super) struct Simulated {
    pub(super) of: sim::Outcome,
    /// CPU time in seconds, if it is measured.
    cpu_s: Option<f64>,
}

/// Simulates a run. `None` if the watch cancels it.
///
/// # Errors
/// The simulator refuses the run, or its packets cannot be written.
pub(super) fn simulate(
    number: usize,
    run: &RunSpec,
    may_end_early: bool,
    tracker: &Tracker<'_>,
) -> Result<Option<Simulated>, Diagnostic> {
    let watch = tracker.watch;
    watch.started(number, run);
    // Before the first event, nothing else looks whether the user has interrupted the command.
    for flow in &run.config.flows {
        if watch.is_cancelled() {
            return Ok(None);
        }
        flow.traffic.prepare();
    }
    let begun = watch.cpu_time();
    // Only a program can ask for a run without duration, which must not divide by zero.
    let total = run.config.duration.as_nanos().max(1);
    let mut cancelled = false;
    let mut watched = |so_far: sim::SoFar<'_>| {
        cancelled = watch.is_cancelled();
        tracker.advanced(number, fraction(so_far.now().as_nanos(), total));
        let is_known = may_end_early && watch.knows_enough(number, so_far);
        !(cancelled || is_known)
    };
    let simulated = sim::Run::new(&run.config);
    let outcome = if run.packets.is_empty() {
        simulated.and_then(|simulated| simulated.to_end(watched, None))
    } else {
        let mut packets = PacketLog::create(run)?;
        let outcome = simulated.and_then(|simulated| simulated.to_end(&mut watched, Some(&mut packets)));
        // Otherwise the files never get their names.
        if !cancelled {
            packets.finish()?;
        }
        outcome
    };
    let of = outcome.map_err(|error| refused(run, &error))?;
    let cpu_s = begun.zip(watch.cpu_time()).map(|(begin, end)| end - begin);
    Ok((!cancelled).then_some(Simulated { of, cpu_s }))
}

/// Returns the error of a run that the simulator refuses.
#[must_use]
pub fn refused(run: &RunSpec, error: &sim::RunError) -> Diagnostic {
    let message = Diagnostic::new(error.to_string());
    match error {
        sim::RunError::Config(_) => message,
        sim::RunError::TooManyProbes { .. } => message.help(
            "have fewer pings and calls, longer intervals between their packets, or a shorter duration",
        ),
        sim::RunError::TooManyPackets(_) => message
            .prefixed(&format!("the run with `{}` and seed {}", run.labels.qdisc, run.config.seed))
            .help("lower the `limit` of the discipline, the rates of the flows, or the delays"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a fraction for a progress bar")]
fn fraction(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

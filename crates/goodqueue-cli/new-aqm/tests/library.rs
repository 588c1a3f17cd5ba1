//! The simulator as a library call: your discipline beside the built-in ones, in a test of yours.

use goodqueue::Disciplines;
use goodqueue_report::terminal;
use goodqueue_scenario::scenario::{Document, Overrides};
use goodqueue_tc::diagnostic::Diagnostic;
use own_discipline::Ramp;

#[test]
fn ramp_keeps_a_ping_below_that_of_tail_drop() -> Result<(), Diagnostic> {
    let mut document = Document::default().with_disciplines(Disciplines::new().with_aqm::<Ramp>());
    document.apply(&Overrides {
        time: Some("20s".into()),
        qdiscs: ["ramp", "pfifo limit 100"].map(str::to_owned).to_vec(),
        ..Overrides::default()
    })?;
    let results = goodqueue_scenario::simulate(&document)?;
    let ping = |run: usize| results.runs[run].induced_latency_s.mean.expect("the default load has pings");
    assert!(ping(0) < 0.5 * ping(1), "{}", terminal::tables(&results, terminal::View::Wide));
    Ok(())
}

//! Runs that end as soon as their values are known.

use std::path::Path;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session, Watch};
use goodqueue_scenario::store::Store;
use goodqueue_scenario::sweep;
use goodqueue_sim::SoFar;

/// Has seen enough after 12 s, if a download has delivered something by then.
struct Twelve;

impl Watch for Twelve {
    fn knows_enough(&self, _: usize, so_far: SoFar<'_>) -> bool {
        let answered = so_far.round_trips(1).iter().filter(|ping| ping.time.is_some()).count();
        so_far.now().as_nanos() >= 12_000_000_000 && so_far.delivered(0) > 1_000_000 && answered > 10
    }
}

fn run(watch: &dyn Watch, duration: &str, store: Option<&Store>) -> Run {
    let text = format!(
        "duration = '{duration}'\nwarmup = '2s'\nqdiscs = ['pfifo limit 500']\nlink = {{ down = '5mbit', rtt = '20ms' }}\n\
         [[flows]]\n[[flows]]\nkind = 'ping'\n[[flows]]\nkind = 'voip'\n"
    );
    let document = Document::parse("enough.toml", &text, Path::new("")).expect("valid");
    let points = sweep::expand(&document, &Names::default()).expect("one point");
    let runs = runs_of(&points, None).expect("valid");
    let session = Session::from_runs(runs).threads(1).with_store(store.cloned());
    session.run(watch).expect("runs").runs().remove(0)
}

/// Behind a queue of a second, many pings and voice packets are on their way at the end.
#[test]
fn a_run_that_has_seen_enough_has_the_values_of_a_run_that_was_planned_so() {
    let early = run(&Twelve, "60s", None);
    // 12 s without the warm-up of 2 s.
    assert!((10.0..10.2).contains(&early.duration_s), "{}", early.duration_s);
    let planned = run(&NoWatch, &format!("{:.9}s", early.duration_s + 2.0), None);
    assert_eq!(early.goodput, planned.goodput);
    assert_eq!(early.induced_latency_s.mean, planned.induced_latency_s.mean);
    assert_eq!(early.probes, planned.probes, "what is on its way at the end is not lost");
    assert_eq!(early.grade, planned.grade);
}

#[test]
fn a_run_whose_result_is_stored_goes_on_to_its_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::of_program(folder.path(), 1).expect("made");
    assert!((run(&Twelve, "20s", Some(&store)).duration_s - 18.0).abs() < 1e-9);
}

//! The delivery rate of flows that ask for it.

use std::path::Path;

use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::runs_of;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::session::{NoWatch, Session};
use goodqueue_scenario::sweep;

/// Two downloads that share 10 Mbit/s after a warm-up.
fn run(qdisc: &str, flow: &str) -> Run {
    let text = format!(
        "name = \"rates\"\nduration = \"20s\"\nwarmup = \"5s\"\nqdiscs = [\"{qdisc}\"]\n\
         [link]\ndown = \"10mbit\"\nup = \"10mbit\"\nrtt = \"20ms\"\n[[flows]]\ncount = 2\n{flow}"
    );
    let document = Document::parse("load.toml", &text, Path::new("")).expect("a table");
    let points = sweep::expand(&document, &Names::default()).expect("valid");
    let session = Session::from_runs(runs_of(&points, None).expect("valid")).threads(1);
    session.run(&NoWatch).expect("runs").runs().remove(0)
}

#[test]
fn a_flow_that_always_has_a_queue_reports_nearly_its_goodput() {
    for cc in ["cubic", "reno", "bbr"] {
        let run = run("fq_codel", &format!("cc = \"{cc}\"\ndelivery_rate = true"));
        for flow in &run.flows {
            let rate = flow.delivery_rate_bps.expect("asked for");
            // The mean over time of samples of a round trip is not exactly the goodput.
            assert!((rate / flow.goodput_bps - 1.0).abs() < 0.05, "{cc}: {rate} of {}", flow.goodput_bps);
        }
    }
}

#[test]
fn a_run_changes_in_nothing_else_if_flows_report_their_rates() {
    for cc in ["cubic", "reno", "bbr"] {
        let silent = run("pfifo limit 30", &format!("cc = \"{cc}\""));
        let mut reports = run("pfifo limit 30", &format!("cc = \"{cc}\"\ndelivery_rate = true"));
        for flow in &mut reports.flows {
            assert!(flow.delivery_rate_bps.take().is_some(), "{cc}");
        }
        assert_eq!(reports.flows, silent.flows, "{cc}");
        assert_eq!(reports.bottleneck, silent.bottleneck, "{cc}");
        let written = serde_json::to_string(&silent.flows).expect("JSON");
        assert!(!written.contains("delivery_rate"), "a flow that is not asked does not say so");
    }
}

//! Adaptive video as its viewers see it.

use goodqueue::Instant;
use goodqueue_sim::FlowOutcome;
use goodqueue_sim::{Config, FlowConfig};

use crate::results::{FlowResult, VideoResult};
use crate::statistics::{float, seconds};

/// One viewer, in the time measured.
pub(super) fn viewer(run: &Config, flow: &FlowConfig, outcome: &FlowOutcome) -> Option<VideoResult> {
    let playback = outcome.playback.as_ref()?;
    let warm_at = Instant::ZERO + run.warmup;
    let end = Instant::ZERO + run.duration;
    let end = flow.stop.map_or(end, |stop| stop.min(end));
    let mut result = VideoResult {
        shown_after_s: playback.shown_from.map(|at| seconds(at.since(flow.start))),
        ..VideoResult::default()
    };
    let mut before = None;
    let mut bits = 0.0;
    for segment in &playback.segments {
        // Also for segments of the warm-up: the first one measured may be a switch.
        let is_switch = before.replace(segment.rate).is_some_and(|before| before != segment.rate);
        if segment.begun_at >= warm_at && segment.ended_at.is_some() {
            result.segments += 1;
            result.switches += u64::from(is_switch);
            bits += float(segment.rate.as_bps());
        }
    }
    result.bitrate_bps = (result.segments > 0).then(|| bits / float(result.segments));
    for &(begun_at, ended_at) in &playback.stalls {
        // A stall that has not ended counts up to the end.
        let ended_at = ended_at.unwrap_or(end);
        if ended_at > warm_at {
            result.stalls += 1;
            result.stalled_s += seconds(ended_at.since(begun_at.max(warm_at)));
        }
    }
    Some(result)
}

/// Returns all viewers together: sums of counts and durations, means of rates and times per viewer.
pub(super) fn together(flows: &[FlowResult]) -> Option<VideoResult> {
    let viewers: Vec<&VideoResult> = flows.iter().filter_map(|flow| flow.video.as_deref()).collect();
    let mean = |of: fn(&VideoResult) -> Option<f64>| {
        let values: Vec<f64> = viewers.iter().filter_map(|viewer| of(viewer)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len() as u64))
    };
    let sum = |of: fn(&VideoResult) -> u64| viewers.iter().map(|viewer| of(viewer)).sum();
    (!viewers.is_empty()).then(|| VideoResult {
        segments: sum(|viewer| viewer.segments),
        bitrate_bps: mean(|viewer| viewer.bitrate_bps),
        switches: sum(|viewer| viewer.switches),
        stalls: sum(|viewer| viewer.stalls),
        stalled_s: viewers.iter().map(|viewer| viewer.stalled_s).sum(),
        shown_after_s: mean(|viewer| viewer.shown_after_s),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::results::Run;
    use crate::run::runs_of;
    use crate::scenario::{Document, Names};
    use crate::session::{NoWatch, Session};

    fn run(down: &str, keys: &str, flows: &str) -> Run {
        let text =
            format!("duration = \"60s\"\n{keys}\nqdiscs = \"fq_codel\"\n[link]\ndown = \"{down}\"\n{flows}");
        let document = Document::parse("load.toml", &text, Path::new("")).expect("toml");
        let points = crate::sweep::expand(&document, &Names::default()).expect("valid");
        let session = Session::from_runs(runs_of(&points, None).expect("valid")).threads(1);
        let runs = session.run(&NoWatch).expect("runs").runs();
        runs.into_iter().next().expect("one run")
    }

    #[test]
    fn a_viewer_is_told_of_in_the_time_measured() {
        let film = "[[flows]]\nkind = \"video\"\nstart = \"1s\"";
        let all = run("20mbit", "", film).probes.video.expect("a viewer");
        // 59 s are seen and 30 ahead; from the lowest of six steps to the highest.
        assert!((43..=45).contains(&all.segments) && all.switches == 5 && all.stalls == 0, "{all:?}");
        let warm = run("20mbit", "warmup = \"30s\"", film).probes.video.expect("a viewer");
        assert_eq!((warm.switches, warm.shown_after_s), (0, all.shown_after_s));
        // The highest step of the default ladder.
        assert!(warm.bitrate_bps == Some(4.3e6) && (14..=16).contains(&warm.segments), "{warm:?}");
        assert!(all.shown_after_s.is_some_and(|after| after < 1.0), "counted from its start");
    }

    #[test]
    fn stalls_count_for_as_long_as_they_last_within_the_time_measured() {
        let film = "[[flows]]\nkind = \"video\"\nladder = [\"1mbit\"]";
        // The only step is 1 Mbit/s, twice the rate of the line.
        let seen = run("500kbit", "warmup = \"20s\"", film).probes.video.expect("a viewer");
        // Half of the time at least: 2 s of film need 4.
        assert!(seen.stalls > 3 && (15.0..30.0).contains(&seen.stalled_s), "{seen:?}");
        // A segment of 2 s at 1 Mbit/s needs 200 s at this rate, more than the run has.
        let never = run("10kbit", "", film).probes.video.expect("a viewer");
        assert_eq!(
            (never.segments, never.bitrate_bps, never.shown_after_s, never.stalls),
            (0, None, None, 0)
        );
    }

    #[test]
    fn several_viewers_are_told_of_each_and_together() {
        let run = run("20mbit", "", "[[flows]]\nkind = \"video\"\ncount = 2");
        let each: Vec<_> = run.flows.iter().filter_map(|flow| flow.video.clone()).collect();
        let all = run.probes.video.expect("viewers");
        assert_eq!((each.len(), all.segments), (2, each[0].segments + each[1].segments));
    }
}

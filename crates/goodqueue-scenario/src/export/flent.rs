//! A run as a data file of Flent (`.flent.gz`, format 4): `flent -i FILE` and `flent-gui` plot it
//! beside measured ones.
//!
//! Flent can only plot its own tests. A run therefore takes the name of the most similar test and
//! gives its series the names that this test uses: `rrul` where the flows carry the labels of that
//! test, otherwise `rrul_be` (four TCP flows each way), `rrul_be_nflows` (any others each way),
//! `tcp_ndown`, `tcp_nup`, or `ping`. Rates are in Mbit/s and times in milliseconds, as in Flent.
//! Flent's tests have no load in the first and last five seconds. A run without such seconds is
//! placed between five seconds without samples. The queues of the bottleneck appear as Flent's
//! statistics of qdiscs (plots `delay` and `drops`). The clock is invented. The metadata key
//! `GOODQUEUE` describes the run.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use goodqueue_sim::Direction;
use serde_json::{Map, Value, json};

use super::samples;
use crate::results::{QueueSeries, Results, Run, Series};
use crate::statistics::float;
use crate::summary::series::pings_per_step;

/// Writes the file of a run; nothing if the run has no series.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &mut (dyn Write + Send), results: &Results, run: &Run) -> io::Result<()> {
    let Some(series) = &run.series else { return Ok(()) };
    let text = document(results, run, series).to_string();
    // Without the time of writing: the same run gives the same bytes.
    let mut gz = GzBuilder::new().write(file, Compression::default());
    gz.write_all(text.as_bytes())?;
    gz.finish().map(drop)
}

/// Returns the contents of the file.
fn document(results: &Results, run: &Run, series: &Series) -> Value {
    let test = Test::from_run(run, series);
    let steps = series.queues.down.throughput_bps.len();
    // Time without load around the run, in whole steps.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "five seconds in steps of a millisecond or more"
    )]
    let idle = if test.has_idle_ends { 0 } else { (IDLE_S / series.step_s).ceil() as usize };
    let total = steps + 2 * idle;
    let clock: Vec<f64> = samples::times(series.step_s).take(total).collect();
    let shift = clock.get(idle).copied().unwrap_or_default();
    let padded = |values: Vec<Option<f64>>| -> Vec<Option<f64>> {
        let before = std::iter::repeat_n(None, idle);
        let after = std::iter::repeat(None);
        // In Flent's format each series has a value or null for every time.
        before.chain(values).chain(after).take(total).collect()
    };

    let mut shown = Map::new();
    let mut raw = Map::new();
    let mut meta = Map::new();
    let mut add = |name: &str, unit: &str, values: Vec<Option<f64>>, own: Option<Vec<Value>>| {
        let values = padded(values);
        let at = |(t, value): (&f64, &Option<f64>)| Some(json!({ "t": EPOCH_S + t, "val": (*value)? }));
        let raw_values = own.unwrap_or_else(|| clock.iter().zip(&values).filter_map(at).collect());
        shown.insert(name.to_owned(), json!(values));
        raw.insert(name.to_owned(), Value::Array(raw_values));
        meta.insert(name.to_owned(), json!({ "UNITS": unit }));
    };
    for flow in &series.goodput_bps {
        // Flent plots only the series that its test knows.
        if let Some(name) = test.flows.get(&flow.id) {
            add(name, "Mbits/s", flow.values.iter().map(|bps| Some(bps / 1e6)).collect(), None);
        }
    }
    if !series.pings.is_empty() {
        let per_step = pings_per_step(&series.pings, series.step_s, steps);
        let each = (1_u64..).zip(&series.pings).filter_map(|(seq, (t, rtt))| {
            Some(json!({ "t": EPOCH_S + shift + t, "val": (*rtt)? * 1e3, "seq": seq }))
        });
        add(PING, "ms", in_ms(&per_step), Some(each.collect()));
    }
    for (direction, queue) in [("down", &series.queues.down), ("up", &series.queues.up)] {
        let name = format!("qdisc_stats_{direction}");
        let own = queue_samples(queue, clock.get(idle..).unwrap_or_default());
        let drops = queue.drops.iter().map(|drops| Some(float(*drops))).collect();
        add(&format!("{name}::delay"), "ms", in_ms(&queue.sojourn_mean_s), None);
        add(&format!("{name}::dropped"), "packets", drops, None);
        add(&name, "misc", vec![None; steps], Some(own));
    }
    let metadata = metadata(results, run, &test, series.step_s, clock.len(), Value::Object(meta));
    json!({ "version": 4, "x_values": clock, "results": shown, "raw_values": raw, "metadata": metadata })
}

fn metadata(results: &Results, run: &Run, test: &Test, step_s: f64, steps: usize, series: Value) -> Value {
    let total_s = samples::times(step_s).nth(steps).unwrap_or_default();
    let host = results.scenario.name().unwrap_or("goodqueue");
    json!({
        "NAME": test.name,
        "TITLE": run.qdisc,
        "NOTE": run.qdisc_resolved,
        "HOST": host,
        "HOSTS": [host],
        "LOCAL_HOST": "goodqueue",
        "IP_VERSION": 4,
        // Flent's `LENGTH` is the time with load.
        "LENGTH": total_s - 2.0 * IDLE_S,
        "TOTAL_LENGTH": total_s,
        "STEP_SIZE": step_s,
        "TIME": EPOCH,
        "T0": EPOCH,
        "FLENT_VERSION": "2.3.0",
        "TEST_PARAMETERS": {
            "upload_streams": test.uploads.to_string(),
            "download_streams": test.downloads.to_string(),
            "qdisc_stats_hosts": "down,up",
            "qdisc_stats_interfaces": "down,up",
        },
        "SERIES_META": series,
        "GOODQUEUE": {
            "version": results.goodqueue,
            "qdisc": run.qdisc,
            "qdisc_resolved": run.qdisc_resolved,
            "seed": run.seed,
            "sweep": run.sweep,
            "scenario": results.scenario,
        },
    })
}

/// Returns the queue at each step in the form in which Flent stores tc's statistics. Drops are
/// those of the step.
fn queue_samples(queue: &QueueSeries, clock: &[f64]) -> Vec<Value> {
    let steps = clock.iter().zip(&queue.queue_packets).zip(queue.drops.iter().zip(&queue.sojourn_mean_s));
    let sample = |((t, packets), (drops, delay)): ((&f64, &f64), (&u64, &Option<f64>))| {
        let mut sample = json!({ "t": EPOCH_S + t, "backlog_pkts": packets, "dropped": drops });
        if let Some(delay) = delay {
            sample["delay"] = json!(delay * 1e3);
        }
        sample
    };
    steps.map(sample).collect()
}

/// The test of Flent that a run is most like.
struct Test {
    name: &'static str,
    /// Name of each flow in the test.
    flows: BTreeMap<u32, String>,
    uploads: usize,
    downloads: usize,
    /// The first and last five seconds are without load already.
    has_idle_ends: bool,
}

impl Test {
    fn from_run(run: &Run, series: &Series) -> Self {
        let known = |id: u32| run.flows.iter().find(|flow| flow.id == id);
        let ids = |direction: Direction| -> Vec<u32> {
            let ids = series.goodput_bps.iter().map(|flow| flow.id);
            ids.filter(|id| known(*id).is_some_and(|flow| flow.direction == direction)).collect()
        };
        let up = ids(Direction::Up);
        let down = ids(Direction::Down);
        let uploads = up.len();
        let downloads = down.len();
        let named = |up: &[u32], down: &[u32], of: &dyn Fn(&str, usize) -> String| {
            let one = |direction: &'static str| {
                move |(number, id): (usize, &u32)| (*id, of(&format!("TCP {direction}"), number))
            };
            let ups = up.iter().enumerate().map(one("upload"));
            ups.chain(down.iter().enumerate().map(one("download"))).collect::<BTreeMap<_, _>>()
        };
        let labelled: BTreeMap<u32, String> = up
            .iter()
            .chain(&down)
            .filter_map(|id| Some((*id, known(*id)?.label.clone()?)))
            .filter(|(_, label)| RRUL.contains(&label.as_str()))
            .collect();
        // Another TCP flow would have no name in this test.
        let is_rrul = labelled.len() == RRUL.len() && uploads + downloads == RRUL.len();
        let (name, flows) = match (uploads, downloads) {
            _ if is_rrul => ("rrul", labelled),
            (0, 0) => ("ping", BTreeMap::new()),
            (0, _) => ("tcp_ndown", named(&up, &down, &|tcp, number| format!("{tcp}::{}", number + 1))),
            (_, 0) => ("tcp_nup", named(&up, &down, &|tcp, number| format!("{tcp}::{}", number + 1))),
            (4, 4) => (
                "rrul_be",
                // Flent numbers the series of this test from the second one on: BE, BE2, BE3, BE4.
                named(&up, &down, &|tcp, number| match number {
                    0 => format!("{tcp} BE"),
                    _ => format!("{tcp} BE{}", number + 1),
                }),
            ),
            _ => ("rrul_be_nflows", named(&up, &down, &|tcp, number| format!("{tcp} BE::{}", number + 1))),
        };
        Self { name, flows, uploads, downloads, has_idle_ends: is_rrul }
    }
}

fn in_ms(seconds: &[Option<f64>]) -> Vec<Option<f64>> {
    seconds.iter().map(|s| s.map(|s| s * 1e3)).collect()
}

/// The series of the test `rrul` over TCP.
const RRUL: [&str; 8] = [
    "TCP upload BE",
    "TCP upload BK",
    "TCP upload CS5",
    "TCP upload EF",
    "TCP download BE",
    "TCP download BK",
    "TCP download CS5",
    "TCP download EF",
];
const PING: &str = "Ping (ms) ICMP";
/// Time without load at the beginning and the end of Flent's tests.
const IDLE_S: f64 = 5.0;
/// Start of every run, in Flent's format and in seconds since 1970.
const EPOCH: &str = "2000-01-01T00:00:00.000000Z";
const EPOCH_S: f64 = 946_684_800.0;

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::export::tests::{results, run};

    fn data_file(results: &Results, run: &Run) -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, results, run).expect("memory");
        file
    }

    fn read(file: &[u8]) -> Value {
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn a_data_file_has_what_flent_insists_on() {
        let all = results(vec![run("pie", 7)]);
        let file = data_file(&all, &all.runs[0]);
        assert_eq!(file, data_file(&all, &all.runs[0]), "the same bytes again");
        let data = read(&file);
        assert_eq!(data["version"], 4);
        let metadata = data["metadata"].as_object().unwrap();
        for key in ["NAME", "TITLE", "HOST", "LOCAL_HOST", "LENGTH", "STEP_SIZE", "TIME", "T0", "HOSTS"] {
            assert!(!metadata[key].is_null(), "{key}");
        }
        assert_eq!(
            (&metadata["NAME"], &metadata["GOODQUEUE"]["seed"]),
            (&json!("rrul_be_nflows"), &json!(7))
        );
        assert_eq!(metadata["TEST_PARAMETERS"]["upload_streams"], "1");
        // Five idle seconds of 0.1 s on either side of the two steps.
        let steps = data["x_values"].as_array().unwrap().len();
        assert_eq!(steps, 102);
        for (name, values) in data["results"].as_object().unwrap() {
            assert_eq!(values.as_array().unwrap().len(), steps, "{name}");
            assert!(data["raw_values"][name].is_array(), "{name}");
        }
        let upload = &data["results"]["TCP upload BE::1"];
        assert_eq!(
            (&upload[49], &upload[50], &upload[51], &upload[52]),
            (&json!(null), &json!(4.0), &json!(5.0), &json!(null))
        );
        assert_eq!(data["results"][PING][50], 62.5);
        let pings = data["raw_values"][PING].as_array().unwrap();
        // The second of three pings was lost: the list leaves it out, but its number is used up.
        assert_eq!((pings.len(), &pings[1]["val"], &pings[1]["seq"]), (2, &json!(75.0), &json!(3)));
        assert_eq!(data["raw_values"]["qdisc_stats_up"][0]["backlog_pkts"], 3.0);
    }

    #[test]
    fn a_run_is_the_test_of_flent_that_it_is_most_like() {
        let with = |directions: &[Direction], labels: &[&str]| {
            let mut run = run("pie", 1);
            let flow = run.flows[0].clone();
            let series = run.series.as_mut().unwrap();
            series.goodput_bps = (0..)
                .zip(directions)
                .map(|(id, _)| crate::results::FlowSeries { id, values: vec![1e6; 2] })
                .collect();
            run.flows = (0..)
                .zip(directions)
                .map(|(id, direction)| crate::results::FlowResult {
                    id,
                    direction: *direction,
                    label: labels.get(id as usize).map(|label| (*label).to_owned()),
                    ..flow.clone()
                })
                .collect();
            let test = Test::from_run(&run, run.series.as_ref().unwrap());
            (test.name, test.flows.into_values().collect::<Vec<_>>().join(", "))
        };
        assert_eq!(with(&[], &[]), ("ping", String::new()));
        assert_eq!(with(&[Direction::Up; 2], &[]), ("tcp_nup", "TCP upload::1, TCP upload::2".to_owned()));
        assert_eq!(with(&[Direction::Down], &[]), ("tcp_ndown", "TCP download::1".to_owned()));
        let each_way = [
            Direction::Down,
            Direction::Down,
            Direction::Down,
            Direction::Down,
            Direction::Up,
            Direction::Up,
            Direction::Up,
            Direction::Up,
        ];
        assert_eq!(with(&each_way, &[]).0, "rrul_be");
        let labels: Vec<&str> = RRUL[4..].iter().chain(&RRUL[..4]).copied().collect();
        assert_eq!(with(&each_way, &labels), ("rrul", labels.join(", ")));
        assert_eq!(
            with(&[Direction::Down, Direction::Down, Direction::Up], &[]).1,
            "TCP download BE::1, TCP download BE::2, TCP upload BE::1"
        );
    }
}

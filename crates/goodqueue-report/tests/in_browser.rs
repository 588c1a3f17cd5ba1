//! The page in a real browser: every chart is drawn, and no script error occurs.
//!
//! The tests need Chromium or Chrome in `PATH`. Without it they say that they are skipped.

use goodqueue_report::{Options, html};
use goodqueue_scenario::results::{PerDirection, Probes, Results, ScenarioRecord, Summary};

mod browser;
#[path = "../examples/synthetic_report/invented.rs"]
mod invented;

use browser::{chromium, dump_dom};

#[test]
fn six_disciplines_and_five_seeds_are_drawn() {
    let Some(root) = render(&invented::results(5, &[10.0]), "") else { return };
    // Six charts stand on every page. Six disciplines have a panel of goodput and one of sojourn
    // times each.
    assert_drawn(&root, 6 + 6 + 6);
}

#[test]
fn dark_linear_and_the_other_link_are_drawn() {
    let Some(root) = render(&invented::results(1, &[10.0]), "#theme=dark&scale=linear&link=up") else {
        return;
    };
    assert!(root.contains("data-theme=\"dark\""), "{root}");
    assert_drawn(&root, 6 + 6 + 6);
}

#[test]
fn a_sweep_is_drawn() {
    let Some(root) = render(&invented::results(2, &[2.0, 50.0]), "#point=1") else { return };
    assert_drawn(&root, 6 + 6 + 6);
}

#[test]
fn the_axis_of_a_sweep_has_the_keys_and_the_values_with_their_units() {
    let mut results = invented::results(2, &[2.0, 50.0]);
    let Some(one) = dom(&results, &Options::default(), "") else { return };
    for text in [">bottleneck.rate</text>", ">2 Mbit/s</text>", ">50 Mbit/s</text>"] {
        assert!(one.contains(text), "no {text}");
    }
    for run in &mut results.runs {
        run.sweep.insert("link.rtt".to_owned(), "10ms".into());
    }
    let Some(two) = dom(&results, &Options::default(), "") else { return };
    for text in [">bottleneck.rate / link.rtt</text>", ">2 Mbit/s</", ">10 ms</"] {
        assert!(two.contains(text), "no {text}");
    }
}

#[test]
fn all_columns_of_the_tables_fit_a_window_of_1280_pixels() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("report.html");
    for seeds in [1, 5] {
        let page = html(&invented::results(seeds, &[10.0]), &Options::default());
        // The page's policy allows no script of a test.
        let page =
            page.replace("Content-Security-Policy", "none").replace("</body>", &format!("{MEASURE}</body>"));
        std::fs::write(&file, page).expect("to write the page");
        let dom = dump_dom(&chromium, dir.path(), &format!("file://{}", file.display()), 1280);
        let (_, cut) = dom.split_once("data-cut=\"").expect("the measurement");
        assert_eq!(cut.split('"').next(), Some(""), "tables that are cut with {seeds} seeds");
    }
}

/// Lists the tables that are wider than their place.
const MEASURE: &str = "<script>addEventListener(\"load\", () => {
    const cut = [...document.querySelectorAll(\".scroll\")].filter((one) => one.scrollWidth > one.clientWidth);
    document.documentElement.dataset.cut = cut.map((one) => one.getAttribute(\"aria-label\")).join();
});</script>";

#[test]
fn a_peak_of_goodput_above_the_rate_of_the_link_is_inside_its_chart() {
    let mut results = invented::results(1, &[10.0]);
    let series = results.runs[0].series.as_mut().expect("invented");
    series.goodput_bps[0].values[300..330].fill(30e6);
    let Some(dom) = dom(&results, &Options::default(), "") else { return };
    for panel in ["goodput-0", "goodput-1"] {
        let (_, chart) = dom.split_once(&format!("data-chart=\"{panel}\"")).expect("a panel");
        let chart = chart.split("data-chart").next().expect("its end");
        // The panels have the same axis, so that they can be compared.
        assert!(chart.contains(">20</text>"), "{panel} ends below 20 Mbit/s");
    }
}

#[test]
fn a_bar_has_the_time_of_the_table() {
    let mut results = invented::results(1, &[10.0]);
    let run = &mut results.runs[0];
    // Rounded to 614.5 ms first, it would become 615 ms.
    run.probes.ping_s.mean = Some(0.614_46);
    run.induced_latency_s.mean = Some(0.564_46);
    let Some(dom) = dom(&results, &Options::default(), "") else { return };
    assert!(dom.contains(">614 ms</text>") && !dom.contains(">615 ms</text>"));
}

#[test]
fn pings_that_nobody_answered_are_told_from_a_run_without_pings() {
    let mut results = invented::results(1, &[10.0]);
    for run in &mut results.runs {
        run.induced_latency_s = Summary::default();
        run.probes = Probes::default();
        let series = run.series.as_mut().expect("invented");
        series.pings = vec![(0.0, None)];
        series.quantiles.ping_s.clear();
    }
    let Some(dom) = dom(&results, &Options::default(), "") else { return };
    // In place of bars, of dots, of lines over time and of a distribution.
    assert_eq!(dom.matches(">No ping came back in these results.").count(), 4);
}

#[test]
fn the_scenario_opens_in_the_playground() {
    let mut results = invented::results(1, &[10.0]);
    let scenario =
        serde_json::json!({"name": "rrul", "link": {"down": "10mbit"}, "qdiscs": [{"label": "pfifo"}]});
    results.scenario = ScenarioRecord::from_json(scenario);
    let options = Options::default().playground("https://example.org/playground/");
    let Some(dom) = dom(&results, &options, "") else { return };
    let (_, link) = dom.split_once("id=\"playground\" href=\"").expect("a link");
    let link = link.split('"').next().expect("its end").replace("&amp;", "&");
    let (address, hash) = link.split_once('#').expect("a scenario");
    assert_eq!(address, "https://example.org/playground/");
    assert!(hash.starts_with("json=%7B%22name%22%3A%22rrul%22"), "{hash}");
    assert!(hash.contains("&q=pfifo") && hash.contains("&seed="), "{hash}");
}

#[test]
fn a_scenario_that_reads_a_file_does_not_open_in_the_playground() {
    let mut results = invented::results(1, &[10.0]);
    let scenario = serde_json::json!({"link": {"down": {"trace": "lte.up"}}});
    results.scenario = ScenarioRecord::from_json(scenario);
    let options = Options::default().playground("https://example.org/playground/");
    let Some(dom) = dom(&results, &options, "") else { return };
    assert!(!dom.contains("https://example.org/playground/#"));
}

#[test]
fn results_without_series_pings_or_runs_say_so() {
    let mut results = invented::results(1, &[10.0]);
    for run in &mut results.runs {
        run.series = None;
        run.induced_latency_s = Summary::default();
        run.probes = Probes::default();
        run.goodput = PerDirection::default();
    }
    let Some(root) = render(&results, "") else { return };
    // Without data no discipline has a panel.
    assert_drawn(&root, 6);
    results.runs.clear();
    let Some(empty) = render(&results, "") else { return };
    assert_drawn(&empty, 6);
}

#[test]
fn hostile_names_run_nothing() {
    let hostile =
        format!("\"'><img src=x onerror=\"throw 1\"><script>throw 1</script></script>{}", "x".repeat(10_000));
    let mut results = invented::results(2, &[10.0]);
    let scenario = serde_json::json!({"name": hostile, "question": hostile});
    results.scenario = ScenarioRecord::from_json(scenario);
    for run in &mut results.runs {
        run.qdisc += &hostile;
        run.qdisc_resolved += &hostile;
        run.bottleneck.down.qdisc += &hostile;
        run.flows.iter_mut().for_each(|f| f.cc = Some(hostile.clone()));
    }
    let Some(root) = render(&results, "") else { return };
    assert_drawn(&root, 6 + 6 + 6);
}

/// Returns the start tag of the document after the page has settled.
fn render(results: &Results, hash: &str) -> Option<String> {
    let dom = dom(results, &Options::default(), hash)?;
    let start = dom.find("<html").unwrap_or_else(|| panic!("no document: {dom:.2000}"));
    let end = dom[start..].find('>').expect("a whole tag") + start;
    Some(dom[start..=end].to_owned())
}

/// Returns the document after the page has settled.
fn dom(results: &Results, options: &Options, hash: &str) -> Option<String> {
    let Some(chromium) = chromium() else {
        eprintln!("skipped: no chromium, chromium-browser, google-chrome or chrome in PATH");
        return None;
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("report.html");
    std::fs::write(&file, html(results, options)).expect("to write the page");
    Some(dump_dom(&chromium, dir.path(), &format!("file://{}{hash}", file.display()), 1400))
}

#[track_caller]
fn assert_drawn(root: &str, charts: usize) {
    assert!(!root.contains("data-errors"), "{root}");
    assert!(root.contains(&format!("data-charts=\"{charts}\"")), "{root}");
    assert!(root.contains(&format!("data-rendered=\"{charts}\"")), "{root}");
}

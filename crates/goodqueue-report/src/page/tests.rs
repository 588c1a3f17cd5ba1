use goodqueue_scenario::results::{Fairness, FlowKind, Grade, PerDirection, Probes, ScenarioRecord, Summary};

use super::*;
use crate::fixtures::{run, series, summary};

fn results(runs: Vec<Run>) -> Results {
    Results {
        goodqueue: "0.1.0".into(),
        scenario: ScenarioRecord::from_json(serde_json::json!({"name": "test"})),
        runs,
        ..Results::default()
    }
}

/// Returns a run whose ping increases by `induced` seconds.
fn slow(qdisc: &str, induced: f64) -> Run {
    Run {
        induced_latency_s: summary(induced),
        probes: Probes { ping_s: summary(0.05 + induced), ping_sent: 1, ping_lost: 0, ..Probes::default() },
        ..run(qdisc, 1, None)
    }
}

fn without_pings(mut run: Run) -> Run {
    run.induced_latency_s = Summary::default();
    run.probes = Probes::default();
    run.grade = None;
    run
}

fn answer(runs: &[Run]) -> String {
    headline(&Grouped::new(runs)).answer
}

/// Returns the page without the charting library.
fn own(page: &str) -> String {
    page.replace(&js_in_script(ECHARTS), "")
}

fn data_of(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn headline_names_best_and_worst() {
    assert_eq!(
        answer(&[slow("pfifo", 0.79), slow("codel", 0.02), slow("fq_codel", 0.004)]),
        "fq_codel keeps ping at 54 ms under load; pfifo lets it grow to 840 ms"
    );
    let detail = headline(&Grouped::new(&[slow("pfifo", 0.79), slow("fq_codel", 0.004)])).detail;
    assert_eq!(detail, "The base round-trip time is 50 ms. Goodput down: fq_codel 9 Mbit/s, pfifo 9 Mbit/s.");
}

#[test]
fn headline_of_edge_cases() {
    assert_eq!(answer(&[]), "No runs in these results");
    assert_eq!(answer(&[slow("pie", 0.01)]), "pie keeps ping at 60 ms under load");
    assert_eq!(answer(&[slow("pie", 0.5)]), "pie lets ping grow to 550 ms under load");
    assert_eq!(
        answer(&[slow("a", 0.01), slow("b", 0.0101)]),
        "All 2 disciplines keep ping near 60 ms under load"
    );
    assert_eq!(
        answer(&[slow("a", 0.5), slow("b", 0.501)]),
        "Ping grows to about 551 ms under load with all 2 disciplines"
    );
    assert_eq!(
        answer(&[slow("a", 0.4), slow("b", 0.9)]),
        "None keeps ping low under load: 450 ms with a, 950 ms with b"
    );
    assert_eq!(answer(&[without_pings(run("a", 1, None))]), "95 % of packets wait less than 4 ms in a");
    let mut idle = without_pings(run("a", 1, None));
    idle.bottleneck.down.sojourn_s = Summary::default();
    assert_eq!(answer(&[idle.clone()]), "a delivers 9 Mbit/s");
    idle.goodput = PerDirection::default();
    assert_eq!(answer(&[idle]), "1 discipline compared");
}

#[test]
fn headline_of_a_sweep_takes_the_worst_point() {
    let at = |rate: &str, qdisc, induced| {
        let sweep = [("rate".to_owned(), serde_json::json!(rate))].into();
        Run { sweep, ..slow(qdisc, induced) }
    };
    let runs = [at("1mbit", "a", 0.02), at("1mbit", "b", 0.9), at("9mbit", "a", 0.01), at("9mbit", "b", 0.1)];
    assert_eq!(answer(&runs), "a adds at most 20 ms to ping at any point of the sweep; b adds up to 900 ms");
    let page = html(&results(runs.to_vec()), &Options::default());
    assert_eq!(page.matches("<table>").count(), 2);
    assert_eq!(page.matches("<h3>rate = 1 Mbit/s</h3>").count(), 2, "its metrics, and what works");
}

#[test]
fn packets_that_a_hop_drops_are_told_below_the_tables() {
    let mut run = run("cake", 1, None);
    let link = run.bottleneck.up.clone();
    let dropping =
        goodqueue_scenario::results::HopResult { name: "<modem>".into(), down: link.clone(), up: link };
    run.hops = vec![dropping];
    let page = html(&results(vec![run]), &Options::default());
    let remark = "Beside the bottleneck, `&lt;modem&gt;` (pfifo limit 1000p) dropped packets up: cake 1 (10.00 %, overlimit).";
    assert!(page.contains(remark));
}

#[test]
fn hostile_names_stay_text() {
    let hostile = format!("\"'><script>alert(1)</script><!--{{{{data}}}}{}", "x".repeat(10_000));
    let mut r = run(&hostile, 1, Some(series(3)));
    r.flows[0].cc = Some(hostile.clone());
    r.flows[0].kind = FlowKind::named(&hostile);
    r.sweep = [(hostile.clone(), serde_json::json!(hostile))].into();
    r.bottleneck.down.qdisc = hostile.clone();
    let mut all = results(vec![r]);
    all.goodqueue = hostile.clone();
    let scenario = serde_json::json!({"name": hostile, "question": hostile, "command": hostile});
    all.scenario = ScenarioRecord::from_json(scenario);
    let page = html(&all, &Options::default().title(hostile.clone()).command(hostile.clone()));
    let plain = html(&results(vec![run("pie", 1, Some(series(3)))]), &Options::default());
    for tag in ["<script", "</script", "<!--", "<table", "</body"] {
        assert_eq!(own(&page).matches(tag).count(), own(&plain).matches(tag).count(), "{tag}");
    }
    assert_eq!(data_of(&page)["results"]["runs"][0]["qdisc"], hostile);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = own(&html(&results(vec![run("pie", 1, Some(series(3)))]), &Options::default()));
    for load in [" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"] {
        assert!(!page.contains(load), "{load}");
    }
    // Links lead to parts of the page and to the book.
    for href in page.split("href=\"").skip(1) {
        assert!(href.starts_with('#') || href.starts_with(BOOK), "{}", clip(href, 40));
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn scripts_and_styles_of_others_are_not_allowed() {
    let page = html(&results(vec![run("pie", 1, Some(series(3)))]), &Options::default());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"").next().unwrap();
    assert!(!policy.contains("unsafe"), "{policy}");
    let scripts: Vec<&str> = between(&page, "<script>", "</script>").collect();
    let style = between(&page, "<style>", "</style>").next().unwrap();
    assert_eq!(scripts.len(), 2);
    assert_eq!(policy, crate::policy::policy(&scripts, style), "the hashes are of what the page holds");
    assert!(!own(&page).contains(" style="), "style attributes are not allowed");
}

/// Returns each part of `text` between `begin` and `end`.
fn between<'t>(text: &'t str, begin: &'t str, end: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split(end).next())
}

#[test]
fn missing_figures_are_dashes_not_zeros() {
    let mut r = without_pings(run("pie", 1, None));
    r.bottleneck.down.sojourn_s = Summary::default();
    r.fairness = Fairness::default();
    let page = html(&results(vec![r]), &Options::default());
    assert_eq!(page.matches(">–</td>").count(), 8);
    assert!(!own(&page).contains("NaN"));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut r = run("pie", 1, Some(series(3)));
    r.goodput = PerDirection { down: f64::NAN, up: f64::INFINITY };
    r.induced_latency_s = summary(f64::NAN);
    let s = r.series.as_mut().unwrap();
    s.queues.down.sojourn_mean_s[1] = Some(f64::NAN);
    s.pings[1] = (f64::INFINITY, Some(f64::NAN));
    s.goodput_bps[0].values[0] = f64::NAN;
    let page = html(&results(vec![r.clone(), r]), &Options::default());
    assert!(data_of(&page).is_object());
}

#[test]
fn several_seeds_show_mean_and_confidence_interval() {
    let mut a = run("pie", 1, None);
    a.goodput.down = 8e6;
    let mut b = run("pie", 2, None);
    b.goodput.down = 9e6;
    b.grade = Some(Grade::B);
    let page = html(&results(vec![a, b, run("codel", 1, None)]), &Options::default());
    // Student's t with one degree of freedom, 12.706, times the standard error of 0.5.
    assert!(page.contains("8.50 <span class=\"ci\">± 6.35</span>"));
    assert!(page.contains(">A+–B</span>"));
    assert!(page.contains("<td class=\"n group best\">9.00</td>"));
}

#[test]
fn a_median_stands_below_a_mean_from_which_it_differs_by_more_than_a_fifth() {
    let runs = [1e6, 9e6, 9e6].map(|goodput| {
        let mut one = run("sfq", 1, None);
        one.goodput.down = goodput;
        one
    });
    let page = html(&results(runs.to_vec()), &Options::default());
    assert!(page.contains("<td class=\"n group\">6.33 <span class=\"ci\">"), "the mean");
    assert!(page.contains(" <span class=\"median\">median 9.00</span></td>"));
    assert_eq!(
        own(&page).matches("class=\"median\"").count(),
        1,
        "the other metrics are the same in all runs"
    );
}

#[test]
fn the_data_block_is_the_results_again() {
    let all = results(vec![run("pie", 1, Some(series(3)))]);
    let data = data_of(&html(&all, &Options::default()));
    let again: Results = serde_json::from_value(data["results"].clone()).unwrap();
    assert_eq!(again.runs, [Run { series: None, ..all.runs[0].clone() }]);
}

#[test]
fn a_blank_in_a_value_is_not_filled() {
    assert_eq!(fill("a{{x}}b{{y}}c", |b| if b == "x" { "{{y}}".into() } else { "Y".into() }), "a{{y}}bYc");
}

#[test]
fn what_only_some_scenarios_have_stands_in_tables_of_its_own() {
    use goodqueue_scenario::results::{SpikeResult, StationResult, WifiResult};

    let plain = html(&results(vec![run("pie", 1, None)]), &Options::default());
    assert!(!plain.contains("Queue above") && !plain.contains("Airtime</th>"));
    let mut busy = run("pie", 1, None);
    busy.bottleneck.down.spikes = vec![SpikeResult { above_bytes: 15000, longest_s: 0.4321, total_s: 1.25 }];
    let station =
        |client, share| StationResult { client, airtime_share: Some(share), ..StationResult::default() };
    let down =
        goodqueue_scenario::results::WifiQueueResult { sojourn_s: summary(0.0777), ..Default::default() };
    busy.wifi = Some(Box::new(WifiResult {
        down,
        stations: vec![station(1, 0.25), station(2, 0.75)],
        ..WifiResult::default()
    }));
    let page = html(&results(vec![busy]), &Options::default());
    for text in [
        "Queue above 15000 B, down, ms",
        ">432<",
        ">1250<",
        "Sojourn time in WiFi, down, ms",
        ">77.7<",
        "Airtime",
        "station 2, %",
        ">75.0<",
        // Jain's index of 1/4 and 3/4: 1 / (2 (1/16 + 9/16)).
        ">0.800<",
    ] {
        assert!(page.contains(text), "no {text}");
    }
}

#[test]
fn means_over_seeds_are_spoken_of_only_where_there_are_several() {
    let one = html(&results(vec![run("pie", 1, Some(series(4)))]), &Options::default());
    assert!(!one.contains("pointwise mean"), "one seed");
    let two = [1, 2].map(|seed| run("pie", seed, Some(series(4)))).to_vec();
    assert!(html(&results(two), &Options::default()).contains("pointwise mean over 2 seeds"));
}

#[test]
fn the_contents_lead_to_parts_of_the_page() {
    let page = own(&html(&results(vec![run("pie", 1, Some(series(3)))]), &Options::default()));
    let contents = between(&page, "<nav class=\"contents\"", "</nav>").next().unwrap();
    let parts: Vec<&str> = between(contents, "href=\"#", "\"").collect();
    assert!(parts.len() > 5);
    for part in parts {
        assert_eq!(page.matches(&format!("id=\"{part}\"")).count(), 1, "{part}");
    }
}

#[test]
fn a_single_seed_has_no_means_over_seeds() {
    let one = own(&html(&results(vec![run("pie", 1, Some(series(4)))]), &Options::default()));
    let text = one
        .split("<footer")
        .next()
        .unwrap()
        .replace(&between(&one, "<script", "</script>").collect::<String>(), "");
    assert!(
        !text.contains("mean over seeds")
            && !text.contains("confidence interval (")
            && !text.contains("ellipse")
    );
    let two = [1, 2].map(|seed| run("pie", seed, Some(series(4)))).to_vec();
    let two = own(&html(&results(two), &Options::default()));
    assert!(two.contains("mean over seeds") && two.contains("The ellipse shows"));
}

#[test]
fn the_playground_is_offered_only_where_its_address_is_known() {
    let all = results(vec![run("pie", 1, None)]);
    assert_eq!(data_of(&html(&all, &Options::default()))["playground"], serde_json::Value::Null);
    let known = Options::default().playground("https://example.org/playground/");
    assert_eq!(data_of(&html(&all, &known))["playground"], "https://example.org/playground/");
}

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
    for seeds in [1, 5] {
        let Some(cut) = measured(&invented::results(seeds, &[10.0]), "", "", TABLES) else { return };
        assert_eq!(cut, "", "tables that are cut with {seeds} seeds");
    }
}

/// Returns what a script has written about the page, with more style, into `data-cut` of its
/// document.
fn measured(results: &Results, hash: &str, style: &str, script: &str) -> Option<String> {
    let chromium = chromium()?;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("report.html");
    let page = html(results, &Options::default());
    // The page's policy allows no script of a test.
    let page = page.replace("Content-Security-Policy", "none").replacen(
        "</head>",
        &format!("<style>{style}</style></head>"),
        1,
    );
    // The library of the charts contains this tag as well, so the last one counts.
    let end = page.rfind("</body>").expect("its end");
    let page = format!("{}{script}{}", &page[..end], &page[end..]);
    std::fs::write(&file, page).expect("to write the page");
    let dom = dump_dom(&chromium, dir.path(), &format!("file://{}{hash}", file.display()), 1280);
    let (_, cut) = dom.split_once("data-cut=\"").expect("the measurement");
    cut.split('"').next().map(ToOwned::to_owned)
}

/// Lists the tables that are wider than their place.
const TABLES: &str = "<script>addEventListener(\"load\", () => {
    const cut = [...document.querySelectorAll(\".scroll\")].filter((one) => one.scrollWidth > one.clientWidth);
    document.documentElement.dataset.cut = cut.map((one) => one.getAttribute(\"aria-label\")).join();
});</script>";

/// Lists the texts that leave their charts, of those that `CHARTS` selects, the pairs of names that
/// cover each other, and headings that are broken.
const TEXTS: &str = "<script>addEventListener(\"load\", () => {
    // The charts are painted a moment after the page is loaded.
    setTimeout(() => {
        const found = [];
        for (const box of document.querySelectorAll(\"CHARTS\")) {
            const { left, right } = box.getBoundingClientRect();
            const texts = [...box.querySelectorAll(\"text\")].map((text) => ({ says: text.textContent, place: text.getBoundingClientRect() }));
            for (const { says, place } of texts) if (place.left < left - 1 || place.right > right + 1) found.push(`${box.dataset.chart}: ${says} is cut`);
            const names = box.dataset.chart === \"tradeoff\" ? texts.filter(({ says }) => /[a-z]{3}/.test(says)) : [];
            names.forEach((one, number) => names.slice(number + 1).forEach((other) => {
                const [a, b] = [one.place, other.place];
                if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) found.push(`${one.says} covers ${other.says}`);
            }));
        }
        for (const heading of document.querySelectorAll(\"thead th\")) {
            const range = document.createRange();
            range.selectNodeContents(heading);
            if (heading.textContent === \"Discipline\" && range.getClientRects().length > 1) found.push(\"a heading is broken\");
        }
        document.documentElement.dataset.cut = found.join(\"; \");
    }, 1000);
});</script>";

#[test]
fn names_in_charts_are_whole_and_do_not_cover_each_other() {
    // The latencies of the last three disciplines are so near each other that the axis is linear.
    for (others, hash) in [(0, ""), (0, "#scale=linear"), (6, "#scale=linear")] {
        let mut results = invented::results(3, &[10.0]);
        results.runs.drain(..others);
        // Two disciplines at one place.
        for of in [0, 1, 2] {
            let goodput = results.runs[of].goodput;
            let induced = results.runs[of].induced_latency_s;
            let other = &mut results.runs[of + 3];
            other.goodput = goodput;
            other.induced_latency_s = induced;
        }
        // The other charts follow the width of the window, which a browser keeps above 400 pixels.
        for (width, charts) in [("auto", "[data-chart]"), ("400px", "[data-chart=tradeoff]")] {
            let style = format!("body {{ width: {width} }}");
            let Some(found) = measured(&results, hash, &style, &TEXTS.replace("CHARTS", charts)) else {
                return;
            };
            assert_eq!(found, "", "at {width} with {hash} without {others} runs");
        }
    }
}

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

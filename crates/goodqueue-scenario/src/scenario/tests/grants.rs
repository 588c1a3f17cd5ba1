//! The request-grant delay of a link.

use goodqueue::{Duration, Rate};
use goodqueue_sim::Grants;

use super::*;

/// A line whose upstream has these grants.
fn upstream(rate: &str, grants: &str) -> String {
    format!("link.up = {{ {rate}, grants = {grants} }}")
}

const RATE: &str = "rate = \"10mbit\"";

#[test]
fn grants_are_read_written_back_and_reach_the_run() {
    let all = "{ interval = \"1ms\", delay = \"2500us\", proactive = \"500kbit\" }";
    let scenario = read(&upstream(RATE, all)).expect("valid");
    let half = Rate::from_bps(500_000);
    let expected = Grants::new(Duration::from_millis(1), Duration::from_micros(2500), Some(half)).ok();
    assert_eq!(scenario.link.up.grants, expected);
    let told = Document::from_json(&scenario.to_json()).expect("json");
    assert_eq!(told.resolve(&Names::default()).expect("valid").link, scenario.link);
    let points = [(std::collections::BTreeMap::new(), scenario)];
    let runs = crate::run::runs_of(&points, None).expect("valid");
    assert_eq!(runs[0].config.links[1].grants, expected);
    assert_eq!(runs[0].config.links[0].grants, None);
}

#[test]
fn an_empty_table_has_the_defaults_and_a_link_without_it_has_none() {
    let usual = Grants::new(Grants::DEFAULT_INTERVAL, Grants::DEFAULT_DELAY, None).ok();
    assert_eq!(read(&upstream(RATE, "{}")).expect("valid").link.up.grants, usual);
    let schedule = "schedule = [[\"0s\", \"10mbit\"], [\"1s\", \"0bit\"]]";
    assert_eq!(read(&upstream(schedule, "{}")).expect("valid").link.up.grants, usual);
    let without = read("link.up = { rate = \"10mbit\" }").expect("valid");
    assert_eq!(without.link.up.grants, None);
    assert_eq!(without.to_json()["link"]["up"], "10mbit", "as before there were grants");
}

#[test]
fn the_parts_of_grants_are_keys_of_the_command_line() {
    let mut document = Document::parse("test.toml", &upstream(RATE, "{}"), Path::new("")).expect("valid");
    let set = vec!["link.up.grants.delay=8ms".to_owned()];
    document.apply(&Overrides { set, ..Overrides::default() }).expect("a key");
    let grants = document.resolve(&Names::default()).expect("valid").link.up.grants;
    assert_eq!(grants.map(|grants| grants.delay()), Some(Duration::from_millis(8)));
}

#[test]
fn impossible_grants_are_refused_with_the_reason() {
    let hops =
        "link.up = { rate = \"9mbit\", grants = {} }\n[[hops]]\nside = \"server\"\ndown = \"20mbit\"\n";
    for (text, expected) in [
        (upstream(RATE, "{ interval = \"99us\" }"), "a MAP interval of 99us is not possible"),
        (upstream(RATE, "{ interval = \"2s\" }"), "allowed: 100us to 1s"),
        (upstream(RATE, "{ delay = \"0s\" }"), "a request-grant delay of 0s is not possible"),
        (upstream(RATE, "{ delay = \"1001ms\" }"), "above 0s, at most 1s"),
        (upstream(RATE, "{ proactive = \"0bit\" }"), "a proactive rate of 0 grants nothing"),
        (upstream(RATE, "{ proactive = \"11mbit\" }"), "at most 10mbit"),
        (upstream(RATE, "{ map = \"2ms\" }"), "has no key `map`"),
        (upstream(RATE, "true"), "`grants` is `true`, not a table"),
        (upstream("schedule = [[\"0s\", \"1mbit\"]]", "{ proactive = \"2mbit\" }"), "at most 1mbit"),
        ("[[hops]]\nup = { rate = \"unlimited\", grants = {} }".to_owned(), "needs a rate"),
        (format!("{hops}up = {{ rate = \"2mbit\", pause = {{ high = 3028 }} }}"), "cannot be paused"),
    ] {
        let error = read(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

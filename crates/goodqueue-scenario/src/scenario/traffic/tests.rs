mod quic;

use std::path::Path;

use goodqueue::Duration;

use super::*;
use crate::scenario::Names;
use crate::scenario::{Document, Drawn, Scenario};

fn read(text: &str) -> Result<Scenario, Diagnostic> {
    Document::parse("load.toml", text, Path::new(""))?.resolve(&Names::default())
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn times_and_sizes_may_be_drawn() {
    let flow = |keys: &str| {
        let scenario = read(&format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"transfers\"\n{keys}")).unwrap();
        let json = scenario.to_json();
        let again = Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap();
        assert_eq!(again.flows, scenario.flows, "{json}");
        let Traffic::Transfers(transfers) = scenario.flows[0].traffic.clone() else { panic!("{json}") };
        transfers
    };
    let of = |size: &str, think: &str| {
        let transfers = flow(&format!("size = {size}\nthink = {think}"));
        (transfers.size, transfers.think)
    };
    let second = Duration::from_secs(1);
    assert_eq!(of("1000", "\"1s\""), (Drawn::Constant(1000), Drawn::Constant(second)));
    assert_eq!(
        of("{ uniform = [1000, \"2kb\"] }", "{ uniform = [\"0s\", \"1s\"] }"),
        (Drawn::Uniform(1000, 2048), Drawn::Uniform(Duration::ZERO, second))
    );
    assert_eq!(
        of("{ exponential = 9 }", "{ pareto = \"1s\", shape = 1.2 }"),
        (Drawn::Exponential(9), Drawn::Pareto { mean: second, shape: 1.2 })
    );
    assert_eq!(
        of("{ log_normal = 9, sigma = 1.5 }", "{ log_normal = \"1s\", sigma = 2 }"),
        (Drawn::LogNormal { median: 9, sigma: 1.5 }, Drawn::LogNormal { median: second, sigma: 2.0 })
    );
    let all = flow(
        "size = 9\nthink = \"0s\"\nrequest = 7\npersistent = true\ntransfers = 3\niw = 4\ncc = \"newreno\"",
    );
    assert_eq!((all.request, all.persistent, all.transfers, all.tcp.iw), (7, true, Some(3), 4));
}

#[test]
fn a_distribution_that_is_none_says_which_there_are() {
    let with = |keys: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"transfers\"\n{keys}"));
    insta::assert_snapshot!(with("think = \"1s\""), @r#"
    load.toml:2:1: `size`: a flow of kind transfers needs a size
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as size = "20kb"
    "#);
    insta::assert_snapshot!(with("size = 9"), @r#"
    load.toml:2:1: `think`: a flow of kind transfers needs a think time
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as think = "5s"
    "#);
    insta::assert_snapshot!(with("size = 0\nthink = \"1s\""), @r"
    load.toml:4:8: `size`: transfers of 0 bytes are not possible
      4 | size = 0
        |        ^
      allowed: above 0
    ");
    insta::assert_snapshot!(with("size = { gamma = 3 }\nthink = \"1s\""), @r#"
    load.toml:4:8: `size`: no known distribution is given
      4 | size = { gamma = 3 }
        |        ^^^^^^^^^^^^^
      allowed: a size, such as 1500 (bytes) or "360kb", or a table such as { uniform = [1000, "20kb"] }, { exponential = "20kb" }, { pareto = "20kb", shape = 1.2 } or { log_normal = "20kb", sigma = 1.0 }
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = { uniform = [\"5s\"] }"), @r#"
    load.toml:5:21: `uniform`: these are not two bounds
      5 | think = { uniform = ["5s"] }
        |                     ^^^^^^
      allowed: a time in quotes, such as "5s", or a table such as { uniform = ["5s", "15s"] }, { exponential = "5s" }, { pareto = "5s", shape = 1.2 } or { log_normal = "5s", sigma = 1.0 }
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = { uniform = [\"5s\", \"1s\"] }"), @r#"
    load.toml:5:21: `uniform`: the second bound is below the first
      5 | think = { uniform = ["5s", "1s"] }
        |                     ^^^^^^^^^^^^
      allowed: the lower bound first
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = { exponential = \"5s\", shape = 2 }"), @r#"
    load.toml:5:31: `think` has no key `shape`
      5 | think = { exponential = "5s", shape = 2 }
        |                               ^^^^^
      allowed: exponential
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = { pareto = \"5s\", shape = 1 }"), @r#"
    load.toml:5:34: `shape`: 1 is not possible
      5 | think = { pareto = "5s", shape = 1 }
        |                                  ^
      allowed: a number above 1, at most 100
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = { pareto = \"5s\" }"), @r#"
    load.toml:5:9: `shape`: this is not given
      5 | think = { pareto = "5s" }
        |         ^^^^^^^^^^^^^^^^^
      allowed: a number above 1, at most 100
    "#);
    insta::assert_snapshot!(with("size = 9\nthink = -1"), @r"
    load.toml:5:9: `think`: the time `-1` is negative
      5 | think = -1
        |         ^^
      allowed: a number and a unit, such as `50ms`
    ");
    insta::assert_snapshot!(with("size = 9\nthink = \"1s\"\nrequest = 0"), @r"
    load.toml:6:11: `request`: a request of 0 bytes is not possible
      6 | request = 0
        |           ^
      allowed: 1 to 1048576
    ");
    insta::assert_snapshot!(with("size = 9\nthink = \"1s\"\ntransfers = 0"), @r"
    load.toml:6:13: `transfers`: the number 0 is not possible
      6 | transfers = 0
        |             ^
      allowed: a whole number from 1 to 4294967295
    ");
    insta::assert_snapshot!(with("size = 9\nthink = \"1s\"\nrate = \"1mbit\""), @r#"
    load.toml:6:1: `flows.0` has no key `rate`
      6 | rate = "1mbit"
        | ^^^^
      allowed: kind, direction, count, start, start_jitter, together, stop, rtt, rtt_step, client, server, label, enters, access, access_rate, dscp, size, think, request, persistent, transfers, cc, iw, mss, delayed_ack, ecn, ecn_option, sack, min_rto, profile, l4s, rwnd, hystart, host_qdisc, remembers, newreno_ns2, cubic, cubic_linux, cubic_ns2, dctcp, prague, prague_05, prague_515, vegas, ledbat, ledbat_utp, ledbat_ns2, tcp_lp, nice, nice_ns2, compound, bbr, bbr3, fixed
    "#);
}

#[test]
fn a_log_normal_distribution_needs_a_deviation() {
    let text = "qdiscs = \"pfifo\"\n[[flows]]\nkind = \"transfers\"\nsize = 9\nthink = { log_normal = \"5s\", sigma = 0 }";
    insta::assert_snapshot!(message(text), @r#"
    load.toml:5:38: `sigma`: 0 is not possible
      5 | think = { log_normal = "5s", sigma = 0 }
        |                                      ^
      allowed: a number above 0, at most 10
    "#);
}

#[test]
fn web_traffic_of_a_crowd_has_a_rate() {
    let with = |keys: &str| format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"packmime\"\n{keys}");
    let scenario = read(&with("connections = 2.5\npersistent = false\niw = 4")).unwrap();
    let json = scenario.to_json();
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().flows, scenario.flows);
    let Traffic::PackMime(crowd) = &scenario.flows[0].traffic else { panic!("{json}") };
    assert_eq!((crowd.connections.to_string().as_str(), crowd.persistent, crowd.tcp.iw), ("2.5", false, 4));
    insta::assert_snapshot!(message(&with("")), @r"
    load.toml:2:1: `connections`: a flow of kind packmime needs a rate of connections
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: connections per second, 0.01 to 100000
    ");
    insta::assert_snapshot!(message(&with("connections = 0")), @r"
    load.toml:4:15: `connections`: 0 connections per second are not possible
      4 | connections = 0
        |               ^
      allowed: connections per second, 0.01 to 100000
    ");
    insta::assert_snapshot!(message(&with("connections = \"5\"")), @r#"
    load.toml:4:15: `connections`: the text `5` is not possible
      4 | connections = "5"
        |               ^^^
      allowed: a number, such as 1.5
    "#);
    insta::assert_snapshot!(message(&with("connections = 1\nmax_open = 0")), @r"
    load.toml:5:12: `max_open`: the number 0 is not possible
      5 | max_open = 0
        |            ^
      allowed: a whole number from 1 to 100000
    ");
    insta::assert_snapshot!(message(&with("connections = 1\ndirection = \"in\"")), @r#"
    load.toml:5:13: `direction`: `in` is unknown
      5 | direction = "in"
        |             ^^^^
      allowed: down, up
    "#);
}

/// The first flow of a scenario with these lines in its table, having gone through JSON and back.
fn flow(lines: &str) -> Traffic {
    let scenario = read(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{lines}")).unwrap();
    let json = scenario.to_json();
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().flows, scenario.flows);
    scenario.flows[0].traffic.clone()
}

#[test]
fn browsers_fetch_known_pages_and_own_ones() {
    let page = |lines: &str| match flow(&format!("kind = \"web\"\n{lines}")) {
        Traffic::Web(web) => web.page,
        other => panic!("{other:?}"),
    };
    assert_eq!(page(""), Page::Google);
    assert_eq!(page("page = \"huffpost\""), Page::Huffpost);
    assert_eq!(page("page = { objects = [9, \"2kb\"] }"), Page::Objects(vec![9, 2048]));
    assert_eq!(page("page = { size = 5000, requests = 7 }"), Page::Divided { size: 5000, requests: 7 });
    let with = |lines: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"web\"\n{lines}"));
    insta::assert_snapshot!(with("page = \"gogle\""), @r#"
    load.toml:4:8: `page`: there is no page `gogle`
      4 | page = "gogle"
        |        ^^^^^^^
      allowed: google, huffpost
      help: "google", "huffpost", { objects = [20000, "18kb"] } or { size = "3000kb", requests = 110 }
    "#);
    insta::assert_snapshot!(with("page = 3"), @r#"
    load.toml:4:8: `page`: the number 3 is not possible
      4 | page = 3
        |        ^
      allowed: "google", "huffpost", { objects = [20000, "18kb"] } or { size = "3000kb", requests = 110 }
    "#);
    insta::assert_snapshot!(with("page = { requests = 3 }"), @r#"
    load.toml:4:8: `size`: neither `objects` nor `size` is given
      4 | page = { requests = 3 }
        |        ^^^^^^^^^^^^^^^^
      allowed: "google", "huffpost", { objects = [20000, "18kb"] } or { size = "3000kb", requests = 110 }
    "#);
    // A divided page has at least 10 bytes for each request.
    insta::assert_snapshot!(with("page = { size = 3, requests = 3 }"), @r"
    load.toml:4:17: `size`: 3 bytes are not possible in 3 requests
      4 | page = { size = 3, requests = 3 }
        |                 ^
      allowed: 30 bytes to 2^50
    ");
    insta::assert_snapshot!(with("page = { objects = [] }"), @r#"
    load.toml:4:20: `objects`: these are 0 objects
      4 | page = { objects = [] }
        |                    ^^
      allowed: a list of 1 to 100000 sizes above 0, such as [20000, "18kb"]
    "#);
    insta::assert_snapshot!(with("page = { objects = [5, 0] }"), @r#"
    load.toml:4:20: `objects`: an object of 0 bytes is not possible
      4 | page = { objects = [5, 0] }
        |                    ^^^^^^
      allowed: a list of 1 to 100000 sizes above 0, such as [20000, "18kb"]
    "#);
    insta::assert_snapshot!(with("page = { objects = [5, \"5xb\"] }"), @r#"
    load.toml:4:24: `xb` of the size `5xb` is not a unit of size
      4 | page = { objects = [5, "5xb"] }
        |                        ^^^^^
      allowed: `1500` (bytes), `360kb` and `1mb` (1024, as in tc), `32MiB`
      help: did you mean `b`?
    "#);
    insta::assert_snapshot!(with("page = { objects = [5], size = 3 }"), @r"
    load.toml:4:25: `page` has no key `size`
      4 | page = { objects = [5], size = 3 }
        |                         ^^^^
      allowed: objects
    ");
    insta::assert_snapshot!(with("connections = 0"), @r"
    load.toml:4:15: `connections`: the number 0 is not possible
      4 | connections = 0
        |               ^
      allowed: a whole number from 1 to 1000
    ");
}

#[test]
fn pages_are_fetched_by_users_behind_the_line_or_from_servers_behind_it() {
    for (kind, keys) in [("web", ""), ("packmime", "connections = 1\n")] {
        for (word, direction) in [
            ("", Direction::Down),
            ("direction = \"down\"", Direction::Down),
            ("direction = \"up\"", Direction::Up),
        ] {
            let text = format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"{kind}\"\n{keys}{word}");
            let flow = read(&text).unwrap().flows.remove(0);
            assert_eq!(flow.direction, direction, "{text}");
            assert_eq!(flow.traffic.to_sim(flow.direction).unwrap().direction(), direction, "{text}");
        }
    }
}

#[test]
fn senders_that_are_silent_at_times_need_both_times() {
    let Traffic::TcpOnOff(sender) = flow("kind = \"tcp_onoff\"\non = { exponential = \"5s\" }\noff = \"0s\"")
    else {
        panic!("another kind")
    };
    assert_eq!(
        (sender.on, sender.off),
        (Drawn::Exponential(Duration::from_secs(5)), Drawn::Constant(Duration::ZERO))
    );
    let with =
        |lines: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"tcp_onoff\"\n{lines}"));
    insta::assert_snapshot!(with("on = \"5s\""), @r#"
    load.toml:2:1: `off`: a flow of kind tcp_onoff needs two times
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as off = { exponential = "5s" }
    "#);
    insta::assert_snapshot!(with("on = \"0s\"\noff = \"1s\""), @r#"
    load.toml:4:6: `on`: a time with data of 0s is not possible
      4 | on = "0s"
        |      ^^^^
      allowed: above 0s
    "#);
}

#[test]
fn flows_of_a_table_may_share_a_total() {
    let size = |lines: &str| match flow(lines) {
        Traffic::Tcp(tcp) => tcp.size,
        other => panic!("{other:?}"),
    };
    assert_eq!(size("count = 4\ntotal = 360_000"), Some(90_000));
    // 360,000 / 7 = 51,428.6: rounded down, the flows would carry less than the total.
    assert_eq!(size("count = 7\ntotal = 360_000"), Some(51_429), "rounded up");
    let with = |lines: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{lines}"));
    insta::assert_snapshot!(with("size = 5\ntotal = 5"), @r"
    load.toml:4:9: `total`: the size of a flow is given already
      4 | total = 5
        |         ^
      help: give either `size` or `total`
    ");
    insta::assert_snapshot!(with("total = 0"), @r"
    load.toml:3:9: `total`: a transfer of 0 bytes is not possible
      3 | total = 0
        |         ^
      help: leave `total` out for one without end
    ");
}

#[test]
fn a_flow_that_hears_of_local_drops_is_written_as_it_was_read() {
    let scenario = read("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"tcp\"\nlocal_congestion = true").unwrap();
    let json = scenario.to_json();
    assert_eq!(json["flows"][0]["local_congestion"], true);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().flows, scenario.flows);
    let error = message("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"web\"\nlocal_congestion = true");
    assert!(error.contains("local_congestion"), "{error}");
}

#[test]
fn a_flow_that_reports_its_delivery_rate_is_written_as_it_was_read() {
    let scenario = read("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"tcp\"\ndelivery_rate = true").unwrap();
    let json = scenario.to_json();
    assert_eq!(json["flows"][0]["delivery_rate"], true);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().flows, scenario.flows);
    // Without the key a resolved scenario is as before, and so is the name of its runs in a store.
    let silent = read("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"tcp\"\ndelivery_rate = false").unwrap();
    assert!(silent.to_json()["flows"][0].get("delivery_rate").is_none());
    let error = message("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"web\"\ndelivery_rate = true");
    assert!(error.contains("delivery_rate"), "{error}");
}

#[test]
fn a_film_has_a_ladder_and_a_buffer_that_a_segment_finds_room_in() {
    let scenario = read(
        "qdiscs = \"pfifo\"\n[[flows]]\nkind = \"video\"\nladder = [\"1mbit\", \"2mbit\"]\nsegment = \"4s\"\ndirection = \"up\"",
    )
    .unwrap();
    let json = scenario.to_json();
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().flows, scenario.flows);
    let Traffic::Video(video) = &scenario.flows[0].traffic else { panic!("{json}") };
    // Two segments of 4 s are the default before the film starts.
    assert_eq!((video.ready, video.buffer), (Duration::from_secs(8), Duration::from_secs(30)));
    let with = |lines: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"video\"\n{lines}"));
    insta::assert_snapshot!(with("ladder = [\"2mbit\", \"1mbit\"]"), @r#"
    load.toml:4:10: `ladder`: a bit rate of 1mbit is not possible here
      4 | ladder = ["2mbit", "1mbit"]
        |          ^^^^^^^^^^^^^^^^^^
      allowed: a list of bit rates, each above the one before, such as ["300kbit", "1mbit"]
    "#);
    insta::assert_snapshot!(with("ladder = [\"2mbit\", \"1mbyte\"]"), @r#"
    load.toml:4:20: `mbyte` of the rate `1mbyte` is not a unit of rate
      4 | ladder = ["2mbit", "1mbyte"]
        |                    ^^^^^^^^
      allowed: `10mbit`, `1.5 Mbit/s`, `10Mbps`, `1gbit`
      help: did you mean `mbit`?
    "#);
    insta::assert_snapshot!(with("ladder = [2]"), @r"
    load.toml:4:11: the rate `2` has no unit
      4 | ladder = [2]
        |           ^
      allowed: `10mbit`, `1.5 Mbit/s`, `10Mbps`, `1gbit`
      help: write `2mbit` if Mbit/s is meant
    ");
    insta::assert_snapshot!(with("ladder = \"2mbit\""), @r#"
    load.toml:4:10: `ladder`: this is not a list
      4 | ladder = "2mbit"
        |          ^^^^^^^
      allowed: a list of bit rates, each above the one before, such as ["300kbit", "1mbit"]
    "#);
    insta::assert_snapshot!(with("buffer = \"5s\""), @r#"
    load.toml:4:10: `buffer`: a buffer of 5s is not possible
      4 | buffer = "5s"
        |          ^^^^
      allowed: 6s (`ready` and a segment) to 3600s
    "#);
    insta::assert_snapshot!(with("segment = \"0s\""), @r#"
    load.toml:4:11: `segment`: segments of 0s are not possible
      4 | segment = "0s"
        |           ^^^^
      allowed: above 0s, at most 3600s
    "#);
}

use std::path::Path;

use crate::results::Run;
use crate::run::runs_of;
use crate::scenario::{Document, Names};
use crate::session::{NoWatch, Session};

/// The only run of a scenario of 10 s on an idle line of 100 Mbit/s and 100 ms, with these flows.
fn run(flows: &str) -> Run {
    let text = format!(
        "duration = \"10s\"\nqdiscs = \"pfifo\"\n[link]\ndown = \"100mbit\"\nrtt = \"100ms\"\n[tcp]\nprofile = \"rfc\"\n{flows}"
    );
    let document = Document::parse("load.toml", &text, Path::new("")).expect("toml");
    let points = crate::sweep::expand(&document, &Names::default()).expect("valid");
    let session = Session::from_runs(runs_of(&points, None).expect("valid")).threads(1);
    let runs = session.run(&NoWatch).expect("runs").runs();
    runs.into_iter().next().expect("one run")
}

/// Milliseconds of a time in seconds.
fn ms(seconds: Option<f64>) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "some seconds")]
    seconds.map_or(-1, |seconds| (seconds * 1e3) as i64)
}

#[test]
fn the_response_time_of_a_group_is_from_its_first_syn_to_its_last_ack() {
    // A window of 10 segments each, in a handshake and a round trip; the FIN is acknowledged with
    // the data.
    let run = run("[[flows]]\n[[flows]]\ncount = 3\ntotal = 42_000\nstart = \"1s\"\n\
                   [[flows]]\ncount = 2\nsize = 14_000\nstart = \"2s\"\n[[flows]]\nsize = 5\n\
                   [[flows]]\ncount = 2\nsize = \"900mb\"");
    let groups: Vec<_> = run.groups.iter().map(|group| (group.table, group.flows, group.completed)).collect();
    assert_eq!(groups, [(1, 3, 3), (2, 2, 2), (4, 2, 0)]);
    assert!((200..260).contains(&ms(run.groups[0].response_s)), "{:?}", run.groups);
    let slowest = run.flows[1..4].iter().filter_map(|flow| flow.fct_s).fold(0.0, f64::max);
    assert_eq!(ms(run.groups[0].response_s), ms(Some(slowest)));
    assert_eq!(run.groups[2].response_s, None, "not complete");
    let completion = run.completion.expect("sized flows");
    // The first flow has no size. The two of 900 MB cannot end within 10 s at 100 Mbit/s.
    assert_eq!((completion.begun, completion.completed, completion.time_s.count), (8, 6, 6));
}

#[test]
fn pages_stand_under_the_probes_and_transfers_by_flow() {
    let run = run("[[flows]]\nkind = \"web\"\npage = { objects = [9000, 9000, 9000] }\n\
                   [[flows]]\nkind = \"transfers\"\nsize = 9000\nthink = \"700ms\"\n\
                   [[flows]]\nkind = \"cbr\"\nrate = \"64kbit\"");
    let web = run.probes.web.as_ref().expect("a browser");
    assert_eq!((web.pages, web.completed), (10, 10));
    assert_eq!((web.requests, web.bytes), (30, 270_000));
    // Five round trips: name, handshake, page, handshake of another connection, last object.
    assert!((500..505).contains(&ms(web.page_fetch_s.p50)) && (500..505).contains(&ms(web.page_fetch_s.max)));
    let completion = run.completion.as_ref().expect("a user");
    assert!((200..205).contains(&ms(completion.time_s.p99)), "{completion:?}");
    // 200 ms of handshake, request and answer, and 700 ms of thinking: one each 900 ms, and the
    // twelfth is not complete.
    assert_eq!((completion.begun, completion.completed), (12, 11));
    assert_eq!(run.flows[1].transfers.as_deref(), Some(completion));
    assert_eq!(run.flows[2].transfers, None);
    let kinds: Vec<&str> = run.goodput_by_kind.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["cbr", "transfers", "web"]);
    let sum = run.goodput_by_kind["web"].down + run.goodput_by_kind["transfers"].down;
    assert!((run.goodput.down - sum).abs() < 1e-6, "goodput is that of what goes over TCP");
}

#[test]
fn without_such_traffic_nothing_is_said_of_it() {
    let run = run("[[flows]]\n[[flows]]\nkind = \"ping\"");
    assert_eq!((run.completion.clone(), run.probes.web.clone(), run.groups.clone()), (None, None, vec![]));
    let json = serde_json::to_string(&run).expect("json");
    assert!(!json.contains("completion") && !json.contains("page_fetch") && !json.contains("groups"));
}

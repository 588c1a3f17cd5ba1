//! The keys that flows have in common, and datagrams.

use super::*;

#[test]
fn flows_that_start_together_share_one_draw_of_the_seed() {
    let flows = "[[flows]]\nstart_jitter = \"650ms\"\ncount = 3\ntogether = true\n[[flows]]\nstart_jitter = \"650ms\"";
    let scenario = read(flows).unwrap();
    let starts = |seed| -> Vec<Duration> { scenario.flows(seed).map(|flow| flow.start).collect() };
    let first = starts(1);
    assert!(first[0] == first[1] && first[1] == first[2] && first[2] != first[3]);
    assert!(starts(2)[0] != first[0]);
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows);
}

#[test]
fn each_further_flow_of_a_table_has_a_round_trip_time_one_step_longer() {
    let scenario =
        read("flows = [{ count = 3, rtt = \"102ms\", rtt_step = \"2ms\" }, { rtt = \"50ms\" }]").unwrap();
    let times: Vec<Duration> = scenario.flows(1).map(|flow| flow.rtt).collect();
    assert_eq!(times, [102, 104, 106, 50].map(Duration::from_millis));
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows);
    // Ten steps are an hour, which is the longest round-trip time.
    let refused = message("flows = [{ count = 11, rtt_step = \"6min\" }]");
    assert!(refused.contains("`rtt_step`: the last flow's round-trip time of"), "{refused}");
}

#[test]
fn starts_depend_on_the_seed_and_on_the_number_of_the_flow_alone() {
    let few = read("qdiscs = \"pfifo\"\nflows = [{ count = 2, start = \"1s\", start_jitter = \"100ms\" }]")
        .unwrap();
    let more = read("qdiscs = \"pfifo\"\nflows = [{ count = 9, start = \"1s\", start_jitter = \"100ms\" }]")
        .unwrap();
    let starts = |scenario: &Scenario, seed| scenario.flows(seed).map(|flow| flow.start).collect::<Vec<_>>();
    assert_eq!(starts(&few, 1), starts(&more, 1)[..2]);
    assert_ne!(starts(&few, 1), starts(&few, 2));
    assert!(starts(&more, 7).iter().all(|start| (1000..1100).contains(&(start.as_nanos() / 1_000_000))));
    let ids: Vec<u32> = more.flows(0).map(|flow| flow.id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn datagram_flows_are_read_and_written_with_every_default_filled_in() {
    let flow = |keys: &str| {
        let scenario = read(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{keys}")).unwrap();
        let json = scenario.to_json();
        assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().to_json(), json);
        let mut flow = json["flows"][0].clone();
        let fields = flow.as_object_mut().unwrap();
        for usual in ["direction", "count", "start", "start_jitter", "rtt"] {
            fields.shift_remove(usual);
        }
        flow.to_string()
    };
    insta::assert_snapshot!(flow("kind = \"voip\""), @r#"{"kind":"voip","interval":"20ms","packet":200,"ecn":false,"concealment":true}"#);
    // 10 ms of voice are 80 bytes, and the headers have 40.
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"10ms\"\nplayout = \"60ms\"\nconcealment = false\ndscp = \"ef\"\nlabel = \"call\""), @r#"{"kind":"voip","label":"call","dscp":"EF","interval":"10ms","packet":120,"ecn":false,"playout":"60ms","concealment":false}"#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"64kbit\""), @r#"{"kind":"onoff","rate":"64kbit","packet":210,"on":{"exponential":"500ms"},"off":{"exponential":"500ms"},"ecn":false}"#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"1mbit\"\non = { pareto = \"1s\", shape = 1.5 }\noff = \"2s\"\nrtt = \"1s\"\naccess = \"500ms\""), @r#"{"kind":"onoff","access":"500ms","rate":"1mbit","packet":210,"on":{"pareto":"1s","shape":1.5},"off":"2s","ecn":false}"#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"1mbit\"\npacket = { exponential = 500 }\ndscp = 63"), @r#"{"kind":"poisson","dscp":63,"rate":"1mbit","packet":{"exponential":500},"ecn":false}"#);
}

#[test]
fn datagrams_that_cannot_be_are_refused() {
    let flow = |keys: &str| message(&format!("qdiscs = \"pfifo\"\n[[flows]]\n{keys}"));
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"0ms\""), @r#"
    load.toml:4:12: `interval`: a packet of voice each 0s is not possible
      4 | interval = "0ms"
        |            ^^^^^
      allowed: 1ms to 1s
    "#);
    insta::assert_snapshot!(flow("kind = \"voip\"\ninterval = \"500ms\""), @r#"
    load.toml:4:12: `interval`: the voice of 500ms is 4000 bytes, which with 40 of headers do not fit the MTU of 1500
      4 | interval = "500ms"
        |            ^^^^^^^
      help: give a shorter interval, or a `packet`
    "#);
    insta::assert_snapshot!(flow("kind = \"voip\"\nplayout = \"1min\""), @r#"
    load.toml:4:11: `playout`: a de-jitter buffer of 60s is not possible
      4 | playout = "1min"
        |           ^^^^^^
      allowed: at most 10s
    "#);
    insta::assert_snapshot!(flow("kind = \"onoff\""), @r#"
    load.toml:2:1: `rate`: a flow of kind onoff needs a rate
      2 | [[flows]]
        | ^^^^^^^^^
      allowed: such as rate = "64kbit"
    "#);
    insta::assert_snapshot!(flow("kind = \"onoff\"\nrate = \"1mbit\"\non = \"1000000s\""), @r#"
    load.toml:5:6: `on`: 1000000 s in the mean are not possible
      5 | on = "1000000s"
        |      ^^^^^^^^^^
      allowed: at most 100000 s
    "#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"0bit\""), @r#"
    load.toml:4:8: `rate`: at a rate of 0 nothing ever leaves the queue
      4 | rate = "0bit"
        |        ^^^^^^
      allowed: a rate above 0
      help: for an outage write a schedule with a step of "0bit"
    "#);
    insta::assert_snapshot!(flow("kind = \"poisson\"\nrate = \"900tbit\"\npacket = 28"), @r#"
    load.toml:4:8: `rate`: 28 bytes at 900000 Gbit/s are less than 1 ns
      4 | rate = "900tbit"
        |        ^^^^^^^^^
      help: give a lower rate or larger packets
    "#);
    insta::assert_snapshot!(flow("kind = \"cbr\"\nrate = \"1mbit\"\ndscp = \"AF44\""), @r#"
    load.toml:5:8: `dscp`: there is no code point `AF44`
      5 | dscp = "AF44"
        |        ^^^^^^
      allowed: CS0, DF, LE, CS1, AF11, AF12, AF13, CS2, AF21, AF22, AF23, CS3, AF31, AF32, AF33, CS4, AF41, AF42, AF43, CS5, VA, NQB, EF, CS6, CS7
      help: did you mean `AF41`?
    "#);
    insta::assert_snapshot!(flow("dscp = 64"), @r#"
    load.toml:3:8: `dscp`: the number 64 is not possible
      3 | dscp = 64
        |        ^^
      allowed: a whole number from 0 to 63
      help: or the name of a code point in quotes, such as "EF"
    "#);
    insta::assert_snapshot!(flow("access = \"26ms\""), @r#"
    load.toml:3:10: `access`: 26ms to the first queue and as much back are more than the round-trip time of 50ms
      3 | access = "26ms"
        |          ^^^^^^
      allowed: at most half of `rtt`, of which it is a part
    "#);
    insta::assert_snapshot!(flow("label = \"\""), @r#"
    load.toml:3:9: `label`: the label is empty
      3 | label = ""
        |         ^^
      allowed: 1 to 60 bytes
    "#);
    insta::assert_snapshot!(
        message("qdiscs = \"pfifo\"\n[[flows]]\naccess = \"20ms\"\n[[hops]]\ndelay = \"6ms\""), @r"
    load.toml:4:1: `hops`: the delays of the hops take 12ms there and back, a flow's base round-trip time with 20ms of access is 50ms
      4 | [[hops]]
        | ^^^^^^^^
      allowed: delays within the shortest `rtt`
      help: lower a `delay`, or raise `rtt`
    ");
}

#[test]
fn a_number_of_flows_counts_one_direction_and_leaves_room_for_the_ping() {
    let scenario = read("qdiscs = \"pfifo\"\nflows = 49999").unwrap();
    assert_eq!(scenario.flows(1).count(), 99_999);
    // Results hold the tables that the number stands for.
    let again = Document::from_json(&scenario.to_json()).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows);
    insta::assert_snapshot!(message("qdiscs = \"pfifo\"\nflows = 50000"), @r"
    load.toml:2:9: `flows`: the number 50000 is not possible
      2 | flows = 50000
        |         ^^^^^
      allowed: a whole number from 0 to 49999
      help: the number counts the TCP flows of one direction; both directions and the ping are at most 100000 flows
    ");
    insta::assert_snapshot!(message("flows = [{ count = 60000 }, { count = 60000 }, {}]"), @r"
    load.toml:1:39: `count`: the flows of the tables up to this one are 120000
      1 | flows = [{ count = 60000 }, { count = 60000 }, {}]
        |                                       ^^^^^
      allowed: at most 100000 in all
    ");
}

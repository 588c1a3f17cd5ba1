//! The keys of `[tcp]`.

use super::*;

#[test]
fn flows_take_hystart_from_their_defaults_where_it_fits_their_congestion_control() {
    let names = Names { cc: Some(&["cubic", "vegas"]), ..Names::default() };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let scenario = resolve(
        "tcp.hystart = \"rfc9406\"\n[[flows]]\n[[flows]]\ncc = \"vegas\"\n[[flows]]\nhystart = \"off\"",
    );
    let json = scenario.unwrap().to_json();
    let told: Vec<_> = (0..3).map(|flow| json["flows"][flow]["hystart"].as_str()).collect();
    assert_eq!(told, [Some("rfc9406"), None, Some("off")]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    let refused = resolve("[[flows]]\nhystart = \"rfc9406\"\ncc = \"vegas\"").unwrap_err().to_string();
    insta::assert_snapshot!(refused, @r#"
    load.toml:2:11: `hystart`: HyStart++ is not for the slow start of `vegas`
      2 | hystart = "rfc9406"
        |           ^^^^^^^^^
      allowed: with cubic, newreno and reno
      help: leave `hystart` out, or choose another `cc` or `profile`
    "#);
}

#[test]
fn the_option_of_accecn_takes_room_in_data_unless_only_acks_carry_it() {
    let payload = |keys: &str| {
        let names = Names::default();
        let text = format!("tcp.ecn = \"accecn\"\n{keys}\n[[flows]]");
        let scenario = Document::parse("load.toml", &text, Path::new("")).unwrap().resolve(&names).unwrap();
        let json = scenario.to_json();
        assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
        scenario.flows[0].traffic.tcp().expect("a flow of TCP").to_sim().expect("valid").0.payload()
    };
    // The options of timestamps and of AccECN are 12 bytes each.
    assert_eq!(payload(""), 1436, "as Linux 7.3");
    assert_eq!(payload("tcp.ecn_option = \"all\""), 1436);
    assert_eq!(payload("tcp.ecn_option = \"acks\""), 1448);
    assert_eq!(payload("tcp.profile = \"rfc\""), 1460);
    assert_eq!(payload("tcp.profile = \"rfc\"\ntcp.ecn_option = \"all\""), 1448);
}

#[test]
fn only_flows_with_a_scalable_congestion_control_are_l4s() {
    let names = Names { cc: Some(&["cubic", "dctcp"]), ..Names::default() };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.cc = \"dctcp\"\ntcp.l4s = true\n[[flows]]\n[[flows]]\ncc = \"cubic\"\n[[flows]]\nl4s = false\n\
                [[flows]]\nkind = \"ping\"\nl4s = true";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4).map(|flow| json["flows"][flow]["l4s"].as_bool()).collect();
    assert_eq!(told, [Some(true), None, Some(false), Some(true)]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    insta::assert_snapshot!(resolve("[[flows]]\nl4s = true").unwrap_err().to_string(), @r#"
    load.toml:2:7: `l4s`: L4S needs a scalable congestion control, and `cubic` is not
      2 | l4s = true
        |       ^^^^
      allowed: with cc = dctcp, prague, prague_05, prague_515
    "#);
    let names = Names { cc: Some(&["prague"]), ..Names::default() };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let json = resolve("[[flows]]\n[[flows]]\nprofile = \"linux314\"").unwrap().to_json();
    let told: Vec<_> = (0..2).map(|flow| json["flows"][flow]["l4s"].as_bool()).collect();
    assert_eq!(told, [Some(true), Some(false)], "the old stack has no Accurate ECN");
    let refused = resolve("[[flows]]\nl4s = false").unwrap_err().to_string();
    assert!(refused.contains("`prague` marks all its packets as L4S"), "{refused}");
}

#[test]
fn flows_negotiate_accurate_ecn_where_their_profile_has_it() {
    let resolve =
        |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&Names::default());
    let text = "tcp.ecn = \"accecn\"\n[[flows]]\n[[flows]]\nprofile = \"linux314\"\n[[flows]]\necn = false";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..3).map(|flow| json["flows"][flow]["ecn"].to_string()).collect();
    assert_eq!(told, ["\"accecn\"", "false", "false"], "another profile has its own default");
    assert_eq!(Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap().to_json(), json);
    let refused = resolve("[[flows]]\nprofile = \"ns2_sack1\"\necn = \"accecn\"").unwrap_err().to_string();
    insta::assert_snapshot!(refused, @r#"
    load.toml:3:7: `ecn`: the profile `ns2_sack1` has no Accurate ECN
      3 | ecn = "accecn"
        |       ^^^^^^^^
      allowed: with `profile` = rfc, linux, linux61
      help: write `ecn = true` for ECN as RFC 3168 has it
    "#);
    assert!(resolve("tcp.ecn = \"accurate\"").unwrap_err().to_string().contains("\"accecn\""));
}

#[test]
fn without_sack_another_profile_than_the_default_is_needed() {
    let resolve =
        |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&Names::default());
    let refused = resolve("[tcp]\nsack = false").unwrap_err().to_string();
    assert!(refused.contains("load.toml:2:8: `sack`: the profile `linux` needs SACK"), "{refused}");
    assert!(refused.contains("allowed: with `profile` = rfc"), "{refused}");
    let json = resolve("[tcp]\nsack = false\nprofile = \"rfc\"\n[[flows]]").unwrap().to_json();
    assert_eq!(json["flows"][0]["sack"].as_bool(), Some(false));
}

#[test]
fn only_the_flows_of_a_congestion_control_take_its_parameters() {
    let names = Names { cc: Some(&["cubic", "ledbat"]), profiles: Some(&["rfc", "libutp"]) };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.cc = \"ledbat\"\ntcp.ledbat = { target = \"5ms\", gain = 10 }\n[[flows]]\n[[flows]]\ncc = \"cubic\"\n\
                [[flows]]\nprofile = \"libutp\"\n[[flows]]\nledbat = { target = \"25ms\" }";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4).map(|flow| json["flows"][flow]["ledbat"].to_string()).collect();
    assert_eq!(told, [r#"{"target":"5ms","gain":10.0}"#, "null", "null", r#"{"target":"25ms","gain":1.0}"#]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    let refused = resolve("[[flows]]\nledbat = { gain = 2 }").unwrap_err().to_string();
    assert!(
        refused.contains("the parameters of `ledbat` do not apply to `cubic` of the profile `rfc`"),
        "{refused}"
    );
    for bad in
        ["{ target = \"0s\" }", "{ target = \"11s\" }", "{ gain = 0 }", "{ gain = -1 }", "{ speed = 3 }", "5"]
    {
        assert!(resolve(&format!("tcp.cc = \"ledbat\"\ntcp.ledbat = {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn every_parameter_of_every_congestion_control_can_be_set_and_reads_back() {
    for about in crate::Extensions::new().tcp().controllers() {
        for parameter in about.parameters {
            let most = match parameter.most {
                ParameterValue::Time(span) => format!("\"{span}\""),
                number => number.to_string(),
            };
            let text = format!(
                "tcp.cc = \"{cc}\"\ntcp.{cc}.{name} = {most}\n[[flows]]",
                cc = about.name,
                name = parameter.name
            );
            let names = Names { cc: Some(&[about.name]), profiles: Some(&["rfc"]) };
            let resolve = |document: Document| document.resolve(&names).unwrap();
            let scenario = resolve(Document::parse("load.toml", &text, Path::new("")).unwrap());
            let set = scenario.tcp.tuning.as_ref().expect("it was set").values.iter();
            assert!(set.into_iter().any(|(name, value)| *name == parameter.name && *value == parameter.most));
            let json = scenario.to_json();
            assert_eq!(resolve(Document::from_json(&json).unwrap()).to_json(), json, "{text}");
        }
    }
}

#[test]
fn only_linux_3_2_remembers_earlier_connections() {
    let names = Names { cc: Some(&["cubic"]), profiles: Some(&["rfc", "linux32", "libutp"]) };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.profile = \"linux32\"\ntcp.remembers = { rtt = \"5s\", rttvar = \"2s\", ssthresh = 200 }\n[[flows]]\n[[flows]]\n\
                profile = \"libutp\"\n[[flows]]\nremembers = { rtt = \"2s\" }\n[[flows]]\nremembers = {}";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4).map(|flow| json["flows"][flow]["remembers"].to_string()).collect();
    assert_eq!(told, [r#"{"rtt":"5s","rttvar":"2s","ssthresh":200}"#, "null", r#"{"rtt":"2s"}"#, "null"]);
    assert_eq!(
        Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json()["flows"][0],
        json["flows"][0]
    );
    let refused = resolve("[[flows]]\nremembers = { rtt = \"5s\" }").unwrap_err().to_string();
    assert!(refused.contains("with `linux32`"), "{refused}");
    for bad in ["{ rtt = \"61s\" }", "{ rttvar = \"61s\" }", "{ ssthresh = 1 }", "{ cwnd = 3 }", "5"] {
        assert!(resolve(&format!("tcp.profile = \"linux32\"\ntcp.remembers = {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn flows_take_the_queue_of_their_hosts_from_their_defaults() {
    let names = Names { cc: Some(&["cubic"]), ..Names::default() };
    let resolve = |text: &str| Document::parse("load.toml", text, Path::new("")).unwrap().resolve(&names);
    let text = "tcp.host_qdisc = \"fq quantum 3028\"\n[[flows]]\n[[flows]]\nhost_qdisc = \"codel\"\n\
                [[flows]]\nkind = \"web\"\n[[flows]]\nkind = \"ping\"";
    let json = resolve(text).unwrap().to_json();
    let told: Vec<_> = (0..4)
        .map(|flow| json["flows"][flow]["host_qdisc"].as_str().and_then(|line| line.split(' ').next()))
        .collect();
    assert_eq!(told, [Some("fq"), Some("codel"), Some("fq"), None]);
    assert_eq!(Document::from_json(&json).unwrap().resolve(&names).unwrap().to_json(), json);
    insta::assert_snapshot!(resolve("tcp.host_qdisc = \"fq limit 0\"").unwrap_err().to_string(), @r#"
    load.toml:1:22: fq does not accept `limit 0p`
      1 | tcp.host_qdisc = "fq limit 0"
        |                      ^^^^^^^
      allowed: a value from 1 to 16777216
    "#);
}

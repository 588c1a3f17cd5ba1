//! QUIC flows.

use super::*;

#[cfg(feature = "quic")]
#[test]
fn a_quic_flow_has_the_congestion_controls_of_quinn_and_needs_its_mtu() {
    let quic = |keys: &str| format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"quic\"\n{keys}");
    let keys = "size = 9\nrequest = 7\ncc = \"newreno\"\necn = true\nrwnd = 20000\ndirection = \"up\"";
    let scenario = read(&quic(keys)).unwrap();
    let json = scenario.to_json();
    let again = Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, scenario.flows, "{json}");
    let traffic = &scenario.flows[0].traffic;
    let expected = Quic {
        size: Some(9),
        request: 7,
        connection: QuicConnection { cc: QuicControl::NewReno, ecn: true, rwnd: Some(20_000), mtu: 1500 },
    };
    assert_eq!(*traffic, Traffic::Quic(expected));
    let simulated = traffic.to_sim(Direction::Up).unwrap();
    assert_eq!(simulated.transport(), sim::Transport::Quic);
    assert_eq!((simulated.kind(), simulated.congestion_control()), ("quic", Some("newreno")));

    insta::assert_snapshot!(message(&quic("cc = \"bbr\"")), @r#"
    load.toml:4:6: `cc`: `bbr` is unknown
      4 | cc = "bbr"
        |      ^^^^^
      allowed: cubic, newreno
    "#);
    // 1228 is 1200 bytes of a QUIC packet (RFC 9000 §14) and 28 of the headers of IPv4 and UDP.
    insta::assert_snapshot!(message(&format!("{}[link]\nmtu = 1000", quic(""))), @r#"
    load.toml:3:8: `kind`: QUIC does not work over an MTU of 1000
      3 | kind = "quic"
        |        ^^^^^^
      allowed: `link.mtu` of 1228 or more
    "#);
    assert!(message(&quic("count = 10001")).contains("allowed: at most 10000 in all"));
}

#[cfg(feature = "quic")]
#[test]
fn a_user_over_quic_has_the_keys_of_one_over_tcp() {
    let user = |kind: &str, keys: &str| format!("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"{kind}\"\n{keys}");
    let keys =
        "size = \"50kb\"\nthink = { exponential = \"2s\" }\nrequest = 7\npersistent = true\ntransfers = 9\n";
    let [over_tcp, over_quic] = ["transfers", "quic_transfers"].map(|kind| read(&user(kind, keys)).unwrap());
    let json = over_quic.to_json();
    let again = Document::from_json(&json).unwrap().resolve(&Names::default()).unwrap();
    assert_eq!(again.flows, over_quic.flows, "{json}");
    let Traffic::Transfers(tcp) = &over_tcp.flows[0].traffic else { panic!("{over_tcp:?}") };
    let Traffic::QuicTransfers(quic) = &over_quic.flows[0].traffic else { panic!("{over_quic:?}") };
    assert_eq!((quic.size, quic.think, quic.request), (tcp.size, tcp.think, tcp.request));
    assert_eq!((quic.persistent, quic.transfers), (tcp.persistent, tcp.transfers));
    let simulated = over_quic.flows[0].traffic.to_sim(Direction::Down).unwrap();
    assert_eq!((simulated.kind(), simulated.transport()), ("quic_transfers", sim::Transport::Quic));
    assert!(simulated.is_of_pieces());

    let empty = message(&user("quic_transfers", "size = 0\nthink = \"1s\""));
    assert!(empty.contains("transfers of 0 bytes are not possible"), "{empty}");
    let sizeless = message(&user("quic_transfers", "think = \"1s\""));
    assert!(sizeless.contains("a flow of kind quic_transfers needs a size"), "{sizeless}");
}

#[cfg(not(feature = "quic"))]
#[test]
fn a_program_without_quic_says_what_to_use() {
    let said = message("qdiscs = \"pfifo\"\n[[flows]]\nkind = \"quic\"");
    assert!(said.contains("built without QUIC") && said.contains("use the command"), "{said}");
}

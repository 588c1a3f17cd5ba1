//! The notations of one line.

use std::process::{Command, Output};

use super::*;
use crate::managers::managers;
use crate::setting::Form;
use crate::settings::steps;

/// Returns the settings for shapers of 95 % of this line, and the rates of the shapers in kbit/s.
/// `variant`: of the parameters of cake, 0 for the usual ones.
fn set(rates: &str, link: &str, variant: usize) -> (Vec<Setting>, [u64; 2]) {
    let question = Question::new(rates, link).unwrap();
    let usual = managers(&question).remove(0);
    let mut all = usual.variants(&question);
    all.insert(0, usual);
    let setup = Setup { manager: &*all[variant], shares: [950, 950], accounts: true };
    (settings(&question, &setup), setup.rates(&question).map(|rate| rate.as_bps() / 1000))
}

/// Returns one setting of a cable line, whose overhead is 18 bytes.
fn cable(name: &str) -> Setting {
    set("100mbit/10mbit", "cable", 0).0.into_iter().find(|setting| setting.name == name).unwrap()
}

#[test]
fn every_kind_of_router_has_its_notation() {
    let (all, _) = set("100mbit/10mbit", "cable", 0);
    let names: Vec<&str> = all.iter().map(|setting| setting.name).collect();
    assert_eq!(names, routers().map(|(name, _)| name).collect::<Vec<_>>());
    for setting in &all {
        assert!(setting.text.ends_with('\n') && !setting.undo.is_empty(), "{setting:?}");
        let comments = setting.words();
        let rest = comments.strip_prefix(&setting.text).unwrap();
        let is_comment = |line: &str| line.starts_with("# ") || setting.form == Form::Page;
        assert!(rest.lines().all(is_comment), "a file stays a file:\n{comments}");
    }
}

#[test]
fn the_steps_name_tests_packages_and_what_the_processor_has_to_do() {
    let question = Question::new("500mbit/50mbit", "cable").unwrap();
    let all = managers(&question);
    let setup = Setup { manager: &*all[0], shares: [950, 950], accounts: true };
    let text = steps(&question, &setup).join("\n");
    for part in [
        "Waveform bufferbloat test",
        "flent rrul",
        "opkg install sqm-scripts luci-app-sqm",
        "apk add sqm-scripts luci-app-sqm",
        "flow_offloading_hw=0",
        // 95 % of a cable line, which is modelled with 97 % of the 550 Mbit/s.
        "It has to shape 507 Mbit/s in both directions together: only fast ARM cores and PCs are.",
        "--no-nat",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

/// Runs a script with `tc` and `ip` that know which devices, queues and filters exist, as the
/// kernel does.
fn run(script: &str, arguments: &[&str], folder: &std::path::Path) -> Output {
    let stubs = [
        (
            "ip",
            r#"case "$1 $2" in
"link add") mkdir link ;;
"link set") [ -d link ] ;;
"link del") rmdir link ;;
esac"#,
        ),
        (
            "tc",
            r#"case "$1 $2 $5" in
"qdisc replace root") touch root ;;
"qdisc add handle") mkdir ingress ;;
"filter add parent") mkdir ingress/filter ;;
"qdisc del ingress") rm -r ingress ;;
"qdisc del root") rm root ;;
*) exit 9 ;;
esac"#,
        ),
    ];
    for (name, text) in stubs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(&path).status().unwrap().success());
    }
    std::fs::write(folder.join("script"), script).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    Command::new("sh")
        .args(["-e", "script"])
        .args(arguments)
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn the_commands_can_be_run_twice_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    let tc = cable("tc");
    for _ in 0..2 {
        let out = run(&tc.words(), &[], folder.path());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    assert!(folder.path().join("ingress/filter").exists() && folder.path().join("root").exists());
    let out = run(&tc.undo.join("\n"), &[], folder.path());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(["ingress", "root", "link"].iter().all(|name| !folder.path().join(name).exists()));
}

#[cfg(unix)]
#[test]
fn networkmanager_shapes_its_interface_when_it_comes_up_and_stops_when_it_goes_down() {
    let folder = tempfile::tempdir().unwrap();
    let script = cable("networkmanager").text;
    let is_shaped = || folder.path().join("ingress/filter").exists();
    for (interface, event, shaped) in
        [("wlan0", "up", false), ("eth0", "up", true), ("eth0", "up", true), ("eth0", "down", false)]
    {
        let out = run(&script, &[interface, event], folder.path());
        assert!(out.status.success(), "{interface} {event}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(is_shaped(), shaped, "{interface} {event}");
    }
}

#[test]
fn the_unit_of_systemd_starts_and_stops_with_the_interface() {
    let unit = cable("systemd").text;
    let device = "sys-subsystem-net-devices-eth0.device";
    for part in [
        format!("BindsTo={device}\n"),
        format!("WantedBy={device}\n"),
        "ExecStart=-ip link add name ifb4eth0 type ifb\n".to_owned(),
        "ExecStart=tc qdisc replace dev eth0 root cake bandwidth".to_owned(),
        "ExecStop=-tc qdisc del dev eth0 root\n".to_owned(),
    ] {
        assert!(unit.contains(&part), "`{part}` is not in:\n{unit}");
    }
}

#[test]
fn keys_that_an_older_networkd_ignores_are_named() {
    let networkd = |variant: usize| {
        let (all, _) = set("100mbit/10mbit", "cable", variant);
        all.into_iter().find(|setting| setting.name == "networkd").unwrap()
    };
    assert!(!networkd(0).words().contains("needs systemd 253"), "{}", networkd(0).words());
    // The variants have a keyword for the round-trip time, and a filter of acknowledgements.
    for (variant, key) in [(1, "RTTSec"), (2, "AckFilter")] {
        let words = networkd(variant).words();
        assert!(words.contains(&format!("# {key} needs systemd 253")), "{words}");
    }
}

/// The shaper of a limiter counts IP packets, so its rate has to leave room for 18 bytes each.
#[test]
fn routers_that_know_no_overhead_get_lower_rates_and_say_so() {
    let (_, [down, up]) = set("100mbit/10mbit", "cable", 0);
    for name in ["opnsense", "pfsense", "routeros"] {
        let setting = cable(name);
        assert!(
            !setting.text.contains(&down.to_string()) && !setting.text.contains(&up.to_string()),
            "{name}"
        );
        assert!(setting.remarks.iter().any(|remark| remark.contains("lower than for Linux")), "{name}");
    }
    let limit: u64 = cable("routeros")
        .text
        .lines()
        .find_map(|line| {
            line.strip_prefix("add name=goodqueue-down parent=global ")?
                .split_once("max-limit=")?
                .1
                .strip_suffix('k')
        })
        .unwrap()
        .parse()
        .unwrap();
    assert!(limit * 1518 / 1500 < down && limit > down * 9 / 10, "{limit} of {down}");
    assert!(cable("eero").remarks.iter().any(|remark| remark.contains("takes no rates")));
}

#[test]
fn the_slow_router_gets_fq_codel_at_the_same_rate() {
    let text = cable("openwrt-light").text;
    let (_, [down, _]) = set("100mbit/10mbit", "cable", 0);
    for part in [
        &format!("option download '{down}'"),
        "option qdisc 'fq_codel'",
        "option script 'simplest_tbf.qos'",
        "option overhead '4'",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn luci_has_the_fields_of_the_file() {
    let page = cable("luci").text;
    let file = cable("openwrt").text;
    for line in file.lines().skip(1) {
        let value = line.split('\'').nth(1).unwrap();
        assert!(value.len() < 2 || page.contains(value), "{value} is not in:\n{page}");
    }
    assert!(page.contains("Squash DSCP on inbound packets               SQUASH"), "{page}");
}

#[test]
fn on_wifi_only_routers_that_shape_there_have_a_notation() {
    let (all, _) = set("20mbit/20mbit", "wifi", 0);
    let names: Vec<&str> = all.iter().map(|setting| setting.name).collect();
    assert_eq!(names, ["openwrt", "tc", "luci", "openwrt-light", "systemd", "networkmanager", "networkd"]);
}

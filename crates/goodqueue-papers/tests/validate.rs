//! The quick part of what `goodqueue validate` compares: single flows against the kernel and ns-2,
//! and the delays of one article's experiment.

use goodqueue_papers::validate::{self, Row};

fn rows(names: &[&str]) -> Vec<Row> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let set_ups = validate::chosen(&names).expect("the names exist");
    set_ups.iter().flat_map(|set_up| set_up.compare().expect("it runs")).collect()
}

#[test]
fn ns2s_agents_have_the_same_window_at_every_instant() {
    let rows = rows(&["flow/ns2"]);
    let distances: Vec<&Row> = rows.iter().filter(|row| row.figure == "window, distance").collect();
    assert_eq!(distances.len(), 18);
    for row in distances {
        let distance = row.simulated.expect("windows came out");
        assert!(distance < 0.001, "{}: {distance}", row.set_up);
    }
}

#[test]
fn a_sender_whose_application_pauses_has_the_window_of_linux_at_every_instant() {
    let names = ["cubic_writes", "cubic_frequent_writes", "cubic_slow_line_writes", "reno_codel_writes"];
    let rows = rows(&names.map(|name| format!("flow/linux/{name}")).each_ref().map(String::as_str));
    let distances: Vec<&Row> = rows.iter().filter(|row| row.figure == "window, distance").collect();
    assert_eq!(distances.len(), names.len());
    for row in distances {
        assert_eq!(row.simulated, Some(0.0), "{}", row.set_up);
    }
}

#[test]
fn flows_of_other_rates_and_round_trips_have_the_window_of_linux_at_every_instant() {
    let names = [
        "cubic_codel_1mbit_20ms",
        "cubic_fifo_10mbit_2ms",
        "cubic_fifo_100mbit_4ms",
        "reno_codel_10mbit_200ms",
        "cubic_fq_codel_40mbit_30ms",
        "cubic_codel_ecn_2mbit_100ms",
        "three_fifo_10mbit_20ms",
        "four_codel_20mbit_30ms",
    ];
    let rows = rows(&names.map(|name| format!("flow/linux/{name}")).each_ref().map(String::as_str));
    let distances: Vec<&Row> = rows.iter().filter(|row| row.figure.starts_with("window, distance")).collect();
    assert_eq!(distances.len(), 6 + 3 + 4);
    for row in distances {
        assert_eq!(row.simulated, Some(0.0), "{}: {}", row.set_up, row.figure);
    }
}

#[test]
fn prague_has_the_window_of_linux_at_every_instant() {
    let names = ["prague_codel_ecn_10mbit_50ms", "prague_codel_ecn_2mbit_100ms", "prague_fifo60"];
    let rows = rows(&names.map(|name| format!("flow/linux-7.3/{name}")).each_ref().map(String::as_str));
    let distances: Vec<&Row> = rows.iter().filter(|row| row.figure == "window, distance").collect();
    assert_eq!(distances.len(), names.len());
    for row in distances {
        let distance = row.simulated.expect("windows came out");
        assert!(distance < 0.001, "{}: {distance}", row.set_up);
    }
}

#[test]
fn prague_and_cubic_share_dualpi2_as_in_linux() {
    for row in rows(&["prague-7.3/dualpi2-16-16", "prague-7.3/alone-10-30", "prague-7.3/rtts-50"]) {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn whole_runs_of_ns2_agree_packet_by_packet() {
    let rows = rows(&["packets"]);
    assert!(rows.len() >= 12, "{}", rows.len());
    for row in rows {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn every_set_up_can_be_simulated_and_has_figures() {
    let all = validate::set_ups().expect("the references are well formed");
    assert!(all.len() > 150, "{}", all.len());
    for row in rows(&["flow/linux/reno_fifo60", "flow/linux/vegas_fifo60", "flow/linux/dctcp_step"]) {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn a_line_that_no_article_has_carries_as_much_and_delays_as_long_as_in_linux() {
    for row in rows(&["lines/codel-reno-10-4", "lines/codel-500k"]) {
        assert!(row.agrees, "{row:?}");
    }
}

/// All of its eight downloads time out without need at the start. Their windows then stay for the
/// whole run at what the reports of the copies leave them.
#[test]
fn downloads_of_dctcp_that_timed_out_without_need_carry_as_much_as_in_linux() {
    for row in rows(&["lines-7.3/fresh-03-dctcp-codel-2800-500"]) {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn access_lines_with_and_without_a_shaper_delay_and_carry_as_in_linux() {
    let names = [
        "advise/adsl-16-1/today/mix",
        "advise/cable-20-2/cake-95/mix",
        "advise-7.3/adsl-16-1/today/mix",
        "advise-7.3/cable-20-2/cake-95/mix",
    ];
    let rows = rows(&names);
    // Each line has eight values.
    assert_eq!(rows.len(), 4 * 8);
    for row in rows {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn a_wifi_channel_carries_as_much_as_in_ns3_and_tcp_over_it_waits_as_long() {
    let names = [
        "wifi/alone/mcs7-short",
        "wifi/anomaly/up-single",
        "wifi/loss/5-mcs7-single",
        "wifi/tcp/100-packets",
    ];
    let rows = rows(&names);
    assert_eq!(rows.len(), 1 + 2 + 1 + 3);
    for row in rows {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn codels_delays_under_load_transients_are_those_of_ns2() {
    let delays = |row: &Row| row.figure.starts_with("queuing delay");
    for row in rows(&["transients/codel_B"]).iter().filter(|row| delays(row)) {
        assert!(row.agrees, "{row:?}");
    }
}

#[test]
fn a_name_that_fits_nothing_is_refused_with_what_there_is() {
    let error = validate::chosen(&["rrul-10-2".to_owned()]).expect_err("there is none").to_string();
    assert!(error.contains("rrul-10-1"), "{error}");
}

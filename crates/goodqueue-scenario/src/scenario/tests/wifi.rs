//! The keys of `[wifi]`.

use super::*;

#[test]
fn a_wifi_channel_has_a_station_for_each_client_and_is_told_back() {
    let text = r#"
        [wifi]
        mac = "fq"
        driver_up = 224
        prepared_up = 0
        driver_order = "oldest"
        ce_threshold = "1ms"
        ce_threshold_selector = "1/1"
        mcs = 7
        aggregate_up = 8
        stations = [{}, { mcs = 0, error = 0.1, weight = 512 }]
        [[flows]]
        client = 2
    "#;
    let scenario = read(text).expect("valid");
    let wifi = scenario.wifi.as_ref().expect("asked for");
    let mcs = |station: usize| wifi.stations[station].radio.map(|radio| radio.modulation.mcs());
    assert_eq!((mcs(0), mcs(1)), ([7, 7], [0, 0]));
    assert_eq!(wifi.stations[1].radio.map(|radio| radio.aggregate), [32, 8]);
    // `mac` is that of the access point, and clients keep a discipline; 123 is the default of
    // ath9k.
    assert_eq!((wifi.macs(), wifi.drivers()), ([WifiMac::Fq, WifiMac::Fifo], [123, 224]));
    let forming = goodqueue_sim::wifi::forming::Forming::Ahead(2);
    assert_eq!(wifi.forming(), [forming, goodqueue_sim::wifi::forming::Forming::AtAccess]);
    assert_eq!(wifi.ce_threshold, Some(Duration::from_millis(1)));
    assert_eq!(wifi.ce_threshold_selector, Some(goodqueue::codel::CeSelector::L4s));
    let told = Document::from_json(&scenario.to_json()).expect("json");
    assert_eq!(told.resolve(&Names::default()).expect("valid").to_json(), scenario.to_json());
    let alike = read("[wifi]\n[[flows]]\nclient = 3").expect("valid");
    assert_eq!(alike.wifi.expect("asked for").stations.len(), 3);
    assert_eq!(read("").expect("valid").wifi, None);
}

#[test]
fn impossible_wifi_is_refused_with_its_place() {
    for (text, expected) in [
        ("[wifi]\nmac = \"fast\"", "unknown"),
        ("[wifi]\ndriver_order = \"random\"", "oldest"),
        ("[wifi]\nmcs = 32", "0 to 31"),
        ("[wifi]\nwidth = 30", "20 or 40"),
        ("[wifi]\nlongest = \"6ms\"", "5484us"),
        ("[wifi]\nce_threshold = \"soon\"", "a number and a unit"),
        ("[wifi]\nce_threshold_selector = \"2/3\"", "1/1"),
        ("[wifi]\nerror = 1", "less than 1"),
        ("[wifi]\naggregate = 65", "1 to 64"),
        ("[wifi]\nstations = 3", "a list of"),
        ("[wifi]\nstations = [{}]\n[[flows]]\nclient = 2", "1 station for the clients 1 to 2"),
        ("[wifi]\nclient_rate = 7", "no key"),
        ("wifi = 3", "not a table"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

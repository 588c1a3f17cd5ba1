use super::*;

#[test]
fn a_decimal_gain_is_read_in_256ths() {
    let read = |text: &str| tc_256ths(text).ok();
    // 0.3 * 256 = 76.8 and 0.16 * 256 = 40.96: the rest is cut off.
    assert_eq!(["0.3", "2.5", ".5", "0.16", "1.0"].map(read), [76, 640, 128, 40, 256].map(Some));
    assert_eq!(
        ["1", "1.", "-0.5", "0.123456789", "99999999999999999999.5", "a.b", "1.2.3"].map(read),
        [None; 7]
    );
}

use proptest::prelude::*;

fn bits(text: &str) -> u64 {
    tc_rate(text).unwrap().as_bps()
}

fn nanos(text: &str) -> u64 {
    tc_time(text).unwrap().as_nanos()
}

#[test]
fn in_a_tc_line_bps_means_bytes_per_second() {
    assert_eq!(bits("10mbit"), 10_000_000);
    assert_eq!(bits("10mbps"), 80_000_000);
    assert_eq!(bits("10MBPS"), 80_000_000);
    assert_eq!(bits("10Mibit"), 10 << 20);
    assert_eq!(bits("1kibps"), 8192);
    assert_eq!(bits("64000"), 64_000);
    assert_eq!(bits("1.5mbit"), 1_500_000);
    assert_eq!(bits("1.1gbit"), 1_100_000_000);
    assert_eq!(bits("1e3"), 1000);
    assert_eq!(bits("0.5bit"), 0);
}

#[test]
fn in_a_tc_line_sizes_are_binary_and_a_bare_time_is_microseconds() {
    assert_eq!(tc_size("32Mb").unwrap(), 32 << 20);
    assert_eq!(tc_size("1.5k").unwrap(), 1536);
    // 1024 bits.
    assert_eq!(tc_size("1kbit").unwrap(), 128);
    assert_eq!(tc_size("1514b").unwrap(), 1514);
    assert_eq!(nanos("5ms"), 5_000_000);
    assert_eq!(nanos("5000"), 5_000_000);
    assert_eq!(nanos("1.5MSECS"), 1_500_000);
    assert_eq!(nanos("0.3us"), 300);
    assert_eq!(tc_seconds("10").unwrap(), Duration::from_secs(10));
    assert_eq!(tc_seconds("10sec").unwrap(), Duration::from_secs(10));
}

#[test]
fn whole_numbers_are_decimal_or_hexadecimal_and_packets_may_end_in_p() {
    assert_eq!(tc_packets("10240p").unwrap(), 10_240);
    assert_eq!(tc_integer("0x10").unwrap(), 16);
    for bad in ["", "p", "1.5", "-1", "+1", "010", "1e3", "0x", "0x+1", "99999999999999999999"] {
        assert!(tc_packets(bad).is_err(), "{bad}");
        assert!(tc_integer(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_fraction_is_from_0_to_1_or_a_percentage() {
    assert_eq!(tc_probability("0.02"), Ok(0.02));
    assert_eq!(tc_probability("2%"), Ok(0.02));
    for bad in ["nan", "inf", "-0.1", "1.01", "101%", "", "%", "0,5"] {
        assert!(tc_probability(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_percentage_has_its_sign_or_not() {
    for (text, fraction) in
        [("1", 0.01), ("2%", 0.02), ("0.7", 0.007), ("100", 1.0), ("1e-3%", 1e-5), ("0", 0.0)]
    {
        assert_eq!(tc_percentage(text), Ok(fraction), "{text}");
    }
    for bad in ["nan", "-1", "101", "100.1%", "", "%", "1%%", "1e", "1e9999999999999999999"] {
        assert!(tc_percentage(bad).is_err(), "{bad}");
    }
}

#[test]
fn outside_a_tc_line_rates_have_one_reading() {
    for text in ["10mbit", "10 Mbit/s", "10Mbps", "10 Mb/s", "10000 kbit", "0.01Gbps", " 10MBIT "] {
        assert_eq!(rate(text), Ok(Rate::from_bps(10_000_000)), "{text}");
    }
    for text in
        ["10mbps", "10MB", "10MBps", "10mb/s", "10kbps", "10bps", "10gbps", "10", "", "nan", "inf", "-1mbit"]
    {
        assert!(rate(text).is_err(), "{text}");
    }
}

#[test]
fn outside_a_tc_line_a_time_needs_a_unit() {
    assert_eq!(time("0.5s"), Ok(Duration::from_millis(500)));
    assert_eq!(time("50 ms"), Ok(Duration::from_millis(50)));
    assert_eq!(time("1 min"), Ok(Duration::from_secs(60)));
    assert_eq!(time("2h"), Ok(Duration::from_secs(7200)));
    assert_eq!(time("7µs"), Ok(Duration::from_micros(7)));
    for bad in ["50", "0", "5m", "-5ms", "NaN", "inf s", "s", ""] {
        assert!(time(bad).is_err(), "{bad}");
    }
}

#[test]
fn sizes_are_binary_everywhere() {
    assert_eq!(size("360kb"), Ok(360 * 1024));
    assert_eq!(size("32 MiB"), Ok(32 << 20));
    assert_eq!(size("1500"), Ok(1500));
    assert!(size("3 packets").is_err());
}

#[test]
fn the_largest_values_fit_and_the_next_do_not() {
    assert_eq!(bits("18446744073709551615"), u64::MAX);
    assert!(tc_rate("18446744073709551616").is_err());
    // 2^64 - 1 bit/s are 18446744.07 Tbit/s.
    assert!(tc_rate("18446745tbit").is_err());
    assert_eq!(nanos("18446744073.709551615s"), u64::MAX);
    assert!(tc_time("99999999999s").is_err());
    assert!(tc_time("1e999999999999").is_err());
    assert_eq!(nanos("1e-999999999999s"), 0);
    assert_eq!(bits(&format!("0.{}1bit", "0".repeat(5000))), 0);
    assert!(tc_rate(&"9".repeat(5000)).is_err());
}

#[test]
fn messages_say_what_to_write() {
    insta::assert_snapshot!(rate("10mbps").unwrap_err(), @r"
    the unit of the rate `10mbps` has two readings: bytes per second, as in tc, which is 80 Mbit/s, or bits per second, which is 10 Mbit/s
      help: write `80mbit` or `10mbit`
    ");
    insta::assert_snapshot!(rate("10MB").unwrap_err(), @r"
    the unit of the rate `10MB` has two readings: bytes per second, as in tc, which is 80 Mbit/s, or bits per second, which is 10 Mbit/s
      help: write `80mbit` or `10mbit`
    ");
    insta::assert_snapshot!(rate("10").unwrap_err(), @r"
    the rate `10` has no unit
      allowed: `10mbit`, `1.5 Mbit/s`, `10Mbps`, `1gbit`
      help: write `10mbit` if Mbit/s is meant
    ");
    insta::assert_snapshot!(rate("10mbti").unwrap_err(), @r"
    `mbti` of the rate `10mbti` is not a unit of rate
      allowed: `10mbit`, `1.5 Mbit/s`, `10Mbps`, `1gbit`
      help: did you mean `mbit`?
    ");
    insta::assert_snapshot!(time("50").unwrap_err(), @r"
    the time `50` has no unit
      allowed: `50ms`, `0.5s`, `100us`, `1 min`
      help: write `50s` for seconds, `50ms` for milliseconds
    ");
    insta::assert_snapshot!(time("-5ms").unwrap_err(), @r"
    the time `-5ms` is negative
      allowed: a number and a unit, such as `50ms`
    ");
    insta::assert_snapshot!(time("99999999999s").unwrap_err(), @r"
    the time `99999999999s` is too large
      allowed: up to 18446744073s (584 years)
    ");
    insta::assert_snapshot!(tc_time("5mss").unwrap_err(), @r"
    `mss` of the time `5mss` is not a unit of time
      allowed: s sec secs ms msec msecs us usec usecs ns nsec nsecs; a bare number is microseconds
      help: did you mean `ms`?
    ");
}

#[test]
fn people_read_the_largest_unit() {
    assert_eq!(show_rate(Rate::from_bps(10_000_000)), "10 Mbit/s");
    assert_eq!(show_rate(Rate::from_bps(1_500_000)), "1.5 Mbit/s");
    assert_eq!(show_rate(Rate::from_bps(0)), "0 bit/s");
    assert_eq!(show_time(Duration::from_millis(50)), "50 ms");
    assert_eq!(show_time(Duration::from_secs(300)), "300 s");
    assert_eq!(show_time(Duration::ZERO), "0 s");
    assert_eq!(show_time(Duration::from_nanos(999_999_999)), "1 s");
    assert_eq!(show_time(Duration::from_nanos(999_999_499)), "999.999 ms");
    assert_eq!(show_rate(Rate::from_bps(999_999_999)), "1 Gbit/s");
    assert_eq!(show_size((1 << 20) - 1), "1023.999 KiB");
    assert_eq!(show_size(32 << 20), "32 MiB");
    assert_eq!(show_size(1514), "1.479 KiB");
    let numbers = [1e308, -1e15, 1e-9, 0.25, 0.0, 123_456.0].map(show_number);
    assert_eq!(numbers, ["1e308", "-1e15", "1e-9", "0.25", "0", "123456"]);
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC{0,40}|[0-9.eE+-]{0,30}[a-zA-Z/%]{0,6}") {
        let _ = (tc_rate(&text), tc_size(&text), tc_time(&text), tc_seconds(&text), tc_packets(&text));
        let _ = (tc_integer(&text), tc_probability(&text), rate(&text), time(&text), size(&text));
    }

    #[test]
    fn what_a_rate_or_time_prints_reads_back_as_the_same(value in any::<u64>()) {
        prop_assert_eq!(tc_rate(&Rate::from_bps(value).to_string()), Ok(Rate::from_bps(value)));
        prop_assert_eq!(rate(&Rate::from_bps(value).to_string()), Ok(Rate::from_bps(value)));
        let span = Duration::from_nanos(value);
        prop_assert_eq!(tc_time(&span.to_string()), Ok(span));
        prop_assert_eq!(time(&span.to_string()), Ok(span));
    }
}

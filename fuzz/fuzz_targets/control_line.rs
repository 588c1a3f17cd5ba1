#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| goodqueue_hostile::control_line(bytes));

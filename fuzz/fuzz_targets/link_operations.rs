#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| goodqueue_hostile::link_operations(bytes));

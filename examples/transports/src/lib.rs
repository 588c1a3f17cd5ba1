//! Transports behind a link of goodqueue. The tests have the adaptors for smoltcp and for
//! rtc-interceptor.

#![forbid(unsafe_code)]

pub mod udp;

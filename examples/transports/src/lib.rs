//! Transports behind a link of goodqueue. The tests have the adaptors for smoltcp, for
//! rtc-interceptor and for bach.

#![forbid(unsafe_code)]

pub mod udp;

//! Real QUIC implementations without encryption, for simulations.
//!
//! `quinn` and `noq` configure endpoints of quinn-proto and noq-proto that exchange transport
//! parameters in a handshake of the usual flights, and whose packets carry a checksum of 16 bytes
//! instead of encryption. Every packet has the size that it has with TLS 1.3 and AES-GCM, for the
//! certificates of [`handshake`]. Loss recovery, congestion control, pacing, MTU discovery and ECN
//! are those of the stack.
//!
//! Connection identifiers and the stack's own random numbers come from a seed, so equal seeds give
//! equal packets. BBR of both stacks draws from the generator of the thread: with it, runs differ.
//!
//! This is no cryptography: everybody can read and forge such packets. An endpoint with real
//! cryptography does not understand them.

#![forbid(unsafe_code)]

pub mod clock;
pub mod handshake;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod session;
#[cfg(feature = "sim")]
pub mod sim;
mod tag;

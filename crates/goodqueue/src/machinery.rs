//! What the algorithms stand on: the contract, packets, time, settings, and the storage they share.
//!
//! No file in this folder knows an algorithm, except that a class holds a [`crate::fifo::Pfifo`] by
//! default ([`leaf`]). The registry of all disciplines stands above both.
//!
//! Read `qdisc` first: the contract that everything else serves. Then `packet` and `time` (its
//! vocabulary), `config` and `parameter` (settings), `queue` (storage for one FIFO or for
//! thousands), `flow_queue` (hashed queues served in rounds), `head` (what an AQM sees of a queue),
//! and `nesting` (disciplines inside others). The queues of all flows share one pool of nodes, so
//! that a thousand mostly empty flows stay in the cache.

pub mod aqm;
pub(crate) mod bins;
pub(crate) mod bucket;
pub(crate) mod check;
pub mod config;
pub(crate) mod datagram;
pub mod decision;
pub(crate) mod direction;
pub mod flow_queue;
pub mod gauge;
pub mod hash;
pub(crate) mod head;
pub(crate) mod jiffies;
pub(crate) mod largest;
pub(crate) mod leaf;
pub(crate) mod memory;
pub mod nesting;
pub mod own;
pub mod packet;
pub(crate) mod parameter;
pub mod qdisc;
pub(crate) mod quantity;
pub mod queue;
pub mod random;
pub(crate) mod reason;
pub(crate) mod remembered;
pub mod shown;
pub mod stats;
pub(crate) mod tc_version;
pub mod time;
pub(crate) mod typed;
pub(crate) mod verdict;
pub(crate) mod weights;

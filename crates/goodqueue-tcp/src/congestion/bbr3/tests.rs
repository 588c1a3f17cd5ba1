//! The example test cases of draft-ietf-ccwg-bbr, in its order, and some more.

mod path;
mod probe_rtt;
mod probing;
mod startup;
mod surprises;

//! Most of the example test cases of draft-ietf-ccwg-bbr, and some more.

mod path;
mod probe_rtt;
mod probing;
mod startup;
mod surprises;

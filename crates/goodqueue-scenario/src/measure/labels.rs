//! The names of a run and of its flows.

use std::collections::BTreeMap;

use crate::scenario::Hearing;

/// What a run is called, beside what it measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Labels {
    /// The discipline as given.
    pub qdisc: String,
    /// The swept keys and their values.
    pub sweep: BTreeMap<String, serde_json::Value>,
    /// The links in series with the bottleneck, in the order from the servers to the clients.
    pub hops: Vec<String>,
    /// The tables of flows.
    pub flows: Vec<FlowLabels>,
}

/// What the flows of one table are called, and how they are looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowLabels {
    /// How many flows it has.
    pub count: u32,
    /// What results call them.
    pub label: Option<String>,
    /// How a call is heard.
    pub hearing: Option<Hearing>,
}

//! The names of a run and of its flows.

use std::collections::BTreeMap;

use crate::scenario::CallReceiver;

/// The names that identify a run in results.
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

/// The label of the flows of one table, and how calls are judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowLabels {
    /// How many flows it has.
    pub count: u32,
    /// Label in results.
    pub label: Option<String>,
    /// Congestion control as the scenario names it. A profile may have a variant of its own.
    pub cc: Option<String>,
    /// Receiver of the calls, for voice flows.
    pub hearing: Option<CallReceiver>,
}

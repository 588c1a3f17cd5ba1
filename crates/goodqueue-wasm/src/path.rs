//! The places of a path at which packets wait.

use goodqueue_scenario::run::RunSpec;
use goodqueue_scenario::scenario::Scenario;
use goodqueue_sim::{Capacity, HopConfig, UNLIMITED};
use serde::Serialize;

/// A place with a queue in each direction.
#[derive(Clone, Serialize)]
pub(crate) struct Place {
    /// Its name in the scenario; `None` for the place of the compared disciplines.
    name: Option<String>,
    /// True if the delay of the path follows: down, up.
    before_the_delay: [bool; 2],
}

/// The places that are shown.
pub(crate) struct Path {
    /// By their numbers in records. The first one has the compared disciplines; a WiFi channel is
    /// the last one.
    pub(crate) places: Vec<Place>,
    pub(crate) capacity: Vec<[Capacity; 2]>,
    /// Number of each other hop's place; `None` for a hop that only emulates a network.
    pub(crate) hops: Vec<Option<usize>>,
    /// Numbers of the places from the servers to the clients.
    pub(crate) order: Vec<usize>,
}

impl Path {
    pub(crate) fn from_run(scenario: &Scenario, run: &RunSpec) -> Self {
        let config = &run.config;
        let mut path = Self {
            places: vec![Place { name: None, before_the_delay: [false; 2] }],
            capacity: vec![config.links.clone().map(|link| link.capacity)],
            hops: Vec::new(),
            order: Vec::new(),
        };
        let hops = config.before.iter().chain(&config.after).zip(&scenario.hops);
        for (index, (hop, named)) in hops.enumerate() {
            // The compared disciplines are between the hops before and those after.
            if index == config.before.len() {
                path.order.push(0);
            }
            let number = holds_packets(hop).then(|| {
                path.places.push(Place { name: Some(named.name.clone()), before_the_delay: [false; 2] });
                path.capacity.push(hop.links.clone().map(|link| link.capacity));
                path.order.push(path.places.len() - 1);
                path.places.len() - 1
            });
            path.hops.push(number);
        }
        // No hop follows the compared disciplines.
        if !path.order.contains(&0) {
            path.order.push(0);
        }
        let first = path.order[0];
        let last = path.order[path.order.len() - 1];
        path.places[last].before_the_delay[0] = true;
        path.places[first].before_the_delay[1] = true;
        if config.wifi.is_some() {
            path.places.push(Place { name: Some("WiFi".to_owned()), before_the_delay: [false; 2] });
            // A packet leaves the channel when it is received, so no transmission follows.
            path.capacity.push([Capacity::Constant(UNLIMITED), Capacity::Constant(UNLIMITED)]);
            path.order.push(path.places.len() - 1);
        }
        path
    }
}

/// Returns false for a hop that emulates delay and loss, at which packets do not queue.
fn holds_packets(hop: &HopConfig) -> bool {
    hop.links
        .iter()
        .any(|link| link.capacity != Capacity::Constant(UNLIMITED) || link.qdisc.kind().name != "netem")
}

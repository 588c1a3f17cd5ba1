//! What manages the queue of the router: a discipline with a shaper, and how routers are told.

use std::fmt::Debug;

use goodqueue::Rate;

use crate::encapsulation::Encapsulation;
use crate::question::Question;

/// A discipline with a shaper.
pub(crate) trait Manager: Debug + Sync {
    /// Name for people.
    fn name(&self) -> String;

    /// Returns the line in tc's grammar for one direction. `accounted`: what the shaper knows of
    /// the line's encapsulation.
    fn line(&self, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> String;

    /// Returns the commands of `tc` that set this line on a device.
    fn tc(&self, device: &str, side: Side, rate: Rate, accounted: Option<&Encapsulation>) -> Vec<String>;

    /// Returns the options of OpenWrt's SQM that select it, with those of the line.
    fn sqm(&self, accounted: &Encapsulation) -> Vec<(&'static str, String)>;

    /// Returns the rates that OpenWrt's SQM needs for shapers of these rates.
    fn sqm_rates(&self, rates: [Rate; 2], accounted: &Encapsulation) -> [Rate; 2];

    /// Returns the sections of a `.network` file of systemd-networkd; `None` if networkd cannot set
    /// it.
    fn networkd(&self, rate: Rate, accounted: &Encapsulation) -> Option<String>;

    /// Returns the type of queue in RouterOS for one direction: its parameters.
    fn routeros(&self, side: Side) -> String;

    /// Returns whether the lines of `tc` have the word `nat`.
    fn line_has_nat(&self) -> bool;

    /// Returns the same with other parameters that may suit this line better.
    fn variants(&self, question: &Question) -> Vec<Box<dyn Manager>>;
}

/// The direction that a router shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Into the router: packets have passed the bottleneck already.
    Ingress,
    /// Out of the router, towards the bottleneck.
    Egress,
}

impl Side {
    /// Returns the sides of the packets towards the home and the Internet. `egress`: the direction
    /// that leaves the router towards the bottleneck.
    pub(crate) const fn both(egress: usize) -> [Self; 2] {
        if egress == 0 { [Self::Egress, Self::Ingress] } else { [Self::Ingress, Self::Egress] }
    }
}

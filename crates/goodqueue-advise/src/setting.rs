//! A setting of a router: a discipline with a shaper, its rates, and how routers are told.

use std::fmt::Debug;

use goodqueue::Rate;
use goodqueue_link::access::Encapsulation;
use schemars::JsonSchema;
use serde::Serialize;

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

/// A discipline with the rates of its shapers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'m> {
    /// The discipline.
    pub(crate) manager: &'m dyn Manager,
    /// Rates of the shapers towards the home and the Internet, in thousandths of the modelled
    /// line's.
    pub(crate) shares: [u64; 2],
    /// Whether the shaper knows how the line carries packets.
    pub(crate) accounts: bool,
}

impl Setup<'_> {
    /// Returns the rates of the shapers in whole kbit/s.
    pub(crate) fn rates(&self, question: &Question) -> [Rate; 2] {
        let share = |side: usize| {
            let bps = question.kind.line.modelled(question.rates[side]).as_bps() * self.shares[side] / 1000;
            Rate::from_bps(bps / 1000 * 1000)
        };
        [share(0), share(1)]
    }

    /// Returns what the shapers are told about the line.
    pub(crate) fn accounted(&self, question: &Question) -> Option<&'static Encapsulation> {
        self.accounts.then_some(&question.kind.accounted)
    }

    /// Returns the lines in tc's grammar towards the home and the Internet.
    pub(crate) fn lines(&self, question: &Question) -> [String; 2] {
        let [down, up] = self.rates(question);
        let accounted = self.accounted(question);
        let [of_down, of_up] = Side::both(question.kind.port.egress);
        [self.manager.line(of_down, down, accounted), self.manager.line(of_up, up, accounted)]
    }
}

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// Short name, one of [`routers`](crate::routers).
    pub name: &'static str,
    /// For which router, and where it belongs.
    pub place: String,
    /// Form of `text`.
    pub form: Form,
    /// True if the text of the advice shows it. The others are listed there.
    pub is_common: bool,
    /// Steps before it on this router.
    pub before: Vec<String>,
    /// Commands, the contents of a file, or the fields of a page.
    pub text: String,
    /// Commands that take it back; empty if the router's pages do.
    pub undo: Vec<String>,
    /// Remarks: what this router cannot express, what was done instead, and which version it needs.
    pub remarks: Vec<String>,
}

/// The form of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Commands for a shell.
    Commands,
    /// A file.
    File,
    /// Fields of a page or an app, for people.
    Page,
}

impl Setting {
    /// Returns the text with the remarks and the way back, as comments that its format allows.
    #[must_use]
    pub fn words(&self) -> String {
        let mark = match self.form {
            Form::Commands | Form::File => "# ",
            Form::Page => "",
        };
        let mut words = self.text.clone();
        for remark in &self.remarks {
            for line in wrapped(remark, COLUMNS - mark.len()) {
                words += &format!("{mark}{line}\n");
            }
        }
        if !self.undo.is_empty() {
            words += &format!("{mark}Undo:\n");
            words.extend(self.undo.iter().map(|command| format!("{mark}{command}\n")));
        }
        words
    }
}

/// Returns lines of at most `columns` bytes, if the words allow.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Width of remarks.
const COLUMNS: usize = 100;

/// A notation of the advice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notation {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Kind of router, for people.
    pub(crate) title: &'static str,
    /// Returns the configuration; `None` if such a router cannot be set so.
    pub(crate) setting: fn(&Question, &Setup<'_>) -> Option<Setting>,
}

//! Answers to the clients of a running bottleneck, given in their threads.

use std::path::Path;

use goodqueue::{Disciplines, Rate};
use goodqueue_live::mailbox::RequestSender;
use goodqueue_live::observer::Direction;
use goodqueue_live::orders::{Order, Rates, read_changes};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

/// Reads the orders of clients and passes valid ones to the loop that carries packets.
#[derive(Clone, Debug)]
pub struct OrderReader {
    asker: RequestSender<Order>,
    /// Disciplines that orders may name.
    disciplines: Disciplines,
}

impl OrderReader {
    /// Creates a reader that passes orders to the loop behind `asker`. They may name any of
    /// `disciplines`.
    #[must_use]
    pub const fn new(asker: RequestSender<Order>, disciplines: Disciplines) -> Self {
        Self { asker, disciplines }
    }

    /// Returns the answer to one line: one line of JSON, except for `metrics`.
    #[must_use]
    pub fn answer(&self, line: &str) -> String {
        let answer = Order::read(line, &self.disciplines, || self.rates()).and_then(|order| self.ask(order));
        answer.unwrap_or_else(|error| json!({"error": error.to_string()}).to_string())
    }

    /// Returns the metrics for Prometheus, or `None` if the loop does not answer.
    #[must_use]
    pub fn metrics(&self) -> Option<String> {
        self.asker.ask(Order::Metrics)
    }

    /// Makes all changes of a configuration file, or none of them. Returns the remarks on its
    /// lines.
    ///
    /// # Errors
    /// The file cannot be read, a line is invalid, or the bottleneck does not answer.
    pub fn change_all(&self, path: &Path) -> Result<Vec<Diagnostic>, Diagnostic> {
        let (changes, remarks) = read_changes(&self.rates()?, &self.disciplines, path)?;
        self.ask(Order::Change(changes))?;
        Ok(remarks)
    }

    fn ask(&self, order: Order) -> Result<String, Diagnostic> {
        self.asker.ask(order).ok_or_else(|| Diagnostic::new("the bottleneck does not answer"))
    }

    fn rates(&self) -> Result<Rates, Diagnostic> {
        // The loop itself writes this answer, so it is always valid JSON.
        let in_force: Value = serde_json::from_str(&self.ask(Order::InForce)?).unwrap_or_default();
        Ok(Direction::BOTH
            .map(|direction| in_force[direction.name()]["rate_bps"].as_u64().map(Rate::from_bps)))
    }
}

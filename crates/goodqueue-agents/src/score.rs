//! A score and its parts.

use serde::Serialize;

/// The score of a policy or discipline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Score {
    /// Name and version of the problem.
    pub problem: String,
    /// Name of the policy, or tc line of the discipline.
    pub policy: String,
    /// The score: the mean reward on the held-out lines.
    pub score: f64,
    /// Seed from which the held-out lines are drawn.
    pub seed: u64,
    /// The lines that everybody may learn from.
    pub training: Panel,
    /// The lines that judge.
    pub held_out: Panel,
}

/// The means over a panel of lines, and its lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Panel {
    /// Mean reward of a control interval.
    pub reward: f64,
    /// Mean share of the link that was used.
    pub utilization: f64,
    /// Mean sojourn time of a packet in seconds.
    pub sojourn: f64,
    /// Mean induced latency of a ping in seconds.
    pub ping: f64,
    /// The lines.
    pub lines: Vec<LineScore>,
}

/// The result on one line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineScore {
    /// Seed of the line.
    pub seed: u64,
    /// Rate of the link in bits per second.
    pub rate: u64,
    /// Base round-trip time in seconds.
    pub rtt: f64,
    /// Number of downloads.
    pub flows: u32,
    /// True if the downloads use ECN.
    pub ecn: bool,
    /// Mean reward of a control interval.
    pub reward: f64,
    /// Mean share of the link that was used.
    pub utilization: f64,
    /// Mean sojourn time of a packet in seconds.
    pub sojourn: f64,
    /// Mean induced latency of a ping in seconds; 0 if no ping was answered.
    pub ping: f64,
    /// Dropped packets.
    pub dropped: u64,
    /// Marked packets.
    pub marked: u64,
}

impl Panel {
    /// Returns the panel of these lines. The order of the lines is the order of the sums.
    #[must_use]
    pub fn from_lines(lines: Vec<LineScore>) -> Self {
        let mean = |of: fn(&LineScore) -> f64| {
            #[expect(clippy::cast_precision_loss, reason = "panels are small")]
            // A panel without lines has the mean 0, and not NaN.
            let count = lines.len().max(1) as f64;
            lines.iter().map(of).fold(0.0, |sum, value| sum + value) / count
        };
        Self {
            reward: mean(|line| line.reward),
            utilization: mean(|line| line.utilization),
            sojourn: mean(|line| line.sojourn),
            ping: mean(|line| line.ping),
            lines,
        }
    }
}

impl Score {
    /// Returns the score as one line of JSON: the same bytes on every machine.
    #[must_use]
    pub fn to_json_line(&self) -> String {
        // All values are finite numbers and text, which JSON can express.
        serde_json::to_string(self).unwrap_or_default()
    }
}

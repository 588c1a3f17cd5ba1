//! How a discipline is drawn: its colour, and the dashes of its line for readers without colour.

use crate::group::Grouped;

/// The colour and the dashes of a discipline, as numbers of the palettes in `assets/look.css`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    pub(crate) colour: usize,
    pub(crate) dash: usize,
}

impl Style {
    /// Returns the style of each discipline. The simulated and the live runs of a discipline share
    /// their colour, and the simulated ones are dashed.
    pub(crate) fn all(grouped: &Grouped<'_>) -> Vec<Self> {
        let labels = &grouped.labels;
        let mut bases: Vec<&str> = Vec::new();
        let number = |label: &str, bases: &Vec<&str>| bases.iter().position(|known| *known == label);
        for label in labels {
            let base = half(label).map_or(label.as_str(), |(base, _)| base);
            if number(base, &bases).is_none() {
                bases.push(base);
            }
        }
        let style = |label: &String| match half(label) {
            Some((base, live)) => Self::numbered(number(base, &bases).unwrap_or(0), Some(usize::from(!live))),
            None => Self::numbered(number(label, &bases).unwrap_or(0), None),
        };
        labels.iter().map(style).collect()
    }

    /// Beyond the palette, its colours are repeated with other dashes.
    fn numbered(number: usize, dash: Option<usize>) -> Self {
        // Each round through the colours shifts the dashes by one, so 64 disciplines look
        // different.
        Self { colour: number % PALETTE, dash: dash.unwrap_or((number + number / PALETTE) % PALETTE) }
    }

    /// Returns the CSS classes.
    pub(crate) fn class(self) -> String {
        format!("d{} t{}", self.colour, self.dash)
    }
}

/// Returns the discipline of a run of `compare --both`, and true if the run is the live one.
fn half(label: &str) -> Option<(&str, bool)> {
    let live = label.strip_suffix(", live").map(|base| (base, true));
    live.or_else(|| label.strip_suffix(", simulated").map(|base| (base, false)))
}

/// Number of colours, and of kinds of dashes.
const PALETTE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::run;

    fn styles(qdiscs: &[&str]) -> Vec<(usize, usize)> {
        let runs: Vec<_> = qdiscs.iter().map(|qdisc| run(qdisc, 1, None)).collect();
        Style::all(&Grouped::new(&runs)).into_iter().map(|style| (style.colour, style.dash)).collect()
    }

    #[test]
    fn each_discipline_has_its_own_colour_and_dashes() {
        assert_eq!(styles(&["pfifo", "codel", "pie"]), [(0, 0), (1, 1), (2, 2)]);
    }

    #[test]
    fn beyond_the_palette_a_colour_has_other_dashes() {
        let names: Vec<String> = (0..20).map(|n| format!("d{n}")).collect();
        let all = styles(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
    }

    #[test]
    fn simulated_and_live_runs_of_a_discipline_share_their_colour() {
        let pairs = ["pfifo, simulated", "pfifo, live", "pie, simulated", "pie, live"];
        assert_eq!(styles(&pairs), [(0, 1), (0, 0), (1, 1), (1, 0)]);
    }
}

//! A paper, as its folder has it: `claims.toml` says what the paper claims, in which experiments
//! that shows, and how it is measured.

mod about;
mod claim;
mod drawn;
mod experiment;
mod factor;
mod figure;
mod file;
mod folders;
mod given;
mod scenarios;
mod setting;
mod settings;
mod whole;

pub use claim::{Claim, ClaimKind};
pub use experiment::{Effort, Experiment};
pub use figure::{Figure, FigureForm, Marks};
pub use folders::{papers, papers_in};
pub use whole::{Metric, Paper};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_paper_reads_and_every_experiment_resolves_with_all_disciplines_asked_for() {
        for paper in papers().unwrap() {
            for experiment in &paper.experiments {
                let mut cells = BTreeSet::new();
                paper.claims.iter().for_each(|claim| cells.extend(claim.cells()));
                cells.extend(paper.figures_of(&paper.claims.iter().collect::<Vec<_>>(), true).unwrap().1);
                let labels: BTreeSet<&str> = cells
                    .iter()
                    .filter(|cell| cell.experiment == experiment.name)
                    .map(|cell| cell.label.as_str())
                    .collect();
                assert!(!labels.is_empty(), "{} {} is used by no claim", paper.name, experiment.name);
                for effort in [Effort::Quick, Effort::Full(1)] {
                    if let Err(error) = paper.scenarios(experiment, effort, &labels) {
                        panic!("{} {}: {error}", paper.name, experiment.name);
                    }
                }
                experiment.series_step().unwrap();
            }
        }
    }

    #[test]
    fn what_is_up_to_chance_is_repeated_at_least_three_times() {
        for paper in papers().unwrap() {
            for experiment in &paper.experiments {
                let fewest = |effort| {
                    let scenarios = paper.scenarios(experiment, effort, &BTreeSet::new()).unwrap();
                    scenarios.iter().map(|scenario| scenario.seeds).min().unwrap()
                };
                // With --full, what is not repeated has nothing of chance.
                let quick = fewest(Effort::Quick);
                let full = fewest(Effort::Full(1));
                assert!(full == 1 || (quick >= 3 && full >= 3), "{} {}", paper.name, experiment.name);
            }
        }
    }

    #[test]
    fn what_a_claims_file_may_not_have_is_shown_where_it_stands() {
        let refused =
            |text: &str| Paper::read("mine/x", text, Vec::new(), Vec::new()).unwrap_err().to_string();
        let unknown = refused("name = \"x\"\n[[claims]]\nid = \"x-1\"\nplace = \"Fig. 1\"\n");
        assert!(unknown.starts_with("mine/x/claims.toml:4:1: unknown field `place`, expected"), "{unknown}");
        assert!(unknown.contains("\n  4 | place = \"Fig. 1\"\n"), "{unknown}");
        let other = refused("name = \"y\"\ntitle = \"\"\nsource = \"\"\n");
        assert_eq!(other, "mine/x/claims.toml: the name `y` is not that of the folder");
    }

    #[test]
    fn every_claim_says_what_is_checked_and_a_paper_s_claim_has_its_words_and_place() {
        for paper in papers().unwrap() {
            for claim in &paper.claims {
                assert!(!claim.says.is_empty(), "{}", claim.id);
                let of_paper = claim.kind != ClaimKind::Own;
                assert!(!of_paper || !claim.quote.is_empty(), "{}: what does the paper say?", claim.id);
                assert!(!of_paper || !claim.place.is_empty(), "{}: where does it say so?", claim.id);
            }
        }
    }
}

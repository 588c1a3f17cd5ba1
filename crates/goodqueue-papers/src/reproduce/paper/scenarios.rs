//! The scenarios of an experiment.

use std::collections::BTreeSet;
use std::path::Path;

use goodqueue_scenario::scenario::{Document, Names, Scenario};
use goodqueue_tc::diagnostic::Diagnostic;

use super::experiment::{Effort, Experiment};
use super::whole::Paper;

impl Paper {
    /// The scenarios of an experiment, one for each combination of what it varies, with those of
    /// its disciplines that are labelled so.
    ///
    /// # Errors
    /// There is none, one does not resolve, or a label is not in it.
    pub fn scenarios(
        &self,
        experiment: &Experiment,
        effort: Effort,
        labels: &BTreeSet<&str>,
    ) -> Result<Vec<Scenario>, Diagnostic> {
        let combinations = experiment.combinations(effort)?;
        combinations.iter().map(|varied| self.scenario(experiment, effort, labels, varied)).collect()
    }

    fn scenario(
        &self,
        experiment: &Experiment,
        effort: Effort,
        labels: &BTreeSet<&str>,
        varied: &[(&String, &toml::Value)],
    ) -> Result<Scenario, Diagnostic> {
        let mut document = self.document(experiment, effort, varied)?;
        for setting in &self.settings {
            setting.apply(&mut document)?;
        }
        let mut scenario = document.resolve(&Names::default())?;
        if let Effort::Full(times) = effort {
            scenario.seeds = scenario.seeds.saturating_mul(times);
        }
        let missing =
            labels.iter().find(|label| scenario.qdiscs.iter().all(|choice| choice.label != **label));
        if let Some(label) = missing {
            let known: Vec<&str> = scenario.qdiscs.iter().map(|choice| choice.label.as_str()).collect();
            return Err(Diagnostic::new(format!("no discipline is labelled `{label}`"))
                .one_of(label, &known)
                .in_file(&self.path_of(experiment)));
        }
        scenario.qdiscs.retain(|choice| labels.contains(choice.label.as_str()));
        Ok(scenario)
    }

    /// The file of an experiment's scenario, for messages.
    fn path_of(&self, experiment: &Experiment) -> String {
        format!("{}/{}", self.folder, experiment.scenario)
    }

    /// The scenario of an experiment as the paper's files have it, for one of its combinations.
    pub(super) fn document(
        &self,
        experiment: &Experiment,
        effort: Effort,
        varied: &[(&String, &toml::Value)],
    ) -> Result<Document, Diagnostic> {
        let text =
            self.files.iter().find(|file| file.0 == experiment.scenario).map(|file| &file.1).ok_or_else(
                || {
                    Diagnostic::new(format!(
                        "`{}` is not among the files of `{}`",
                        experiment.scenario, self.name
                    ))
                },
            )?;
        let document = Document::parse(&self.path_of(experiment), text, Path::new(""))?;
        let mut document = document.with_disciplines(self.disciplines.clone());
        let more = match effort {
            Effort::Quick => &experiment.quick,
            Effort::Full(_) => &experiment.full,
        };
        // A line is the label of its discipline, unless the scenario gives this label other
        // parameters.
        document.add_qdiscs(self.beyond.iter().map(|line| (line.as_str(), line.as_str())))?;
        document.add_qdiscs(self.given.iter().map(|given| (given.label.as_str(), given.line.as_str())))?;
        let varied = varied.iter().copied().flat_map(|(key, value)| keys_of(key, value));
        // A later value of a key replaces an earlier one, so those of `quick` and `full` win.
        for (key, value) in experiment.set.iter().chain(varied).chain(more) {
            document.set(&format!("experiment {}", experiment.name), key, &value.to_string())?;
        }
        Ok(document)
    }
}

/// The keys that a varied value sets: its own, or, if it is a table of keys of the scenario, these
/// together.
fn keys_of<'v>(key: &'v String, value: &'v toml::Value) -> Vec<(&'v String, &'v toml::Value)> {
    match value.as_table() {
        // A key that needs a table has a dot, as in `link.down`. The fields of a value such as `{
        // schedule = [...] }` have none.
        Some(table) if !table.is_empty() && table.iter().all(|entry| entry.0.contains('.')) => {
            table.iter().collect()
        }
        _ => vec![(key, value)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Plan;

    #[test]
    fn what_an_experiment_varies_is_run_in_every_combination_and_its_repetitions_go_together() {
        let text = r#"
            name = "x"
            title = "X"
            source = "X"
            [[experiments]]
            name = "loads"
            scenario = "x.toml"
            vary = { "link.rtt" = ["10ms", "1s"], size = [{ "flows.0.count" = 1, "link.down" = "1mbit" }, { "flows.0.count" = 5 }, { "flows.0.count" = 50 }] }
            [[claims]]
            id = "x-1"
            kind = "order"
            says = "delay"
            check = "mean(bottleneck.down.sojourn_s.p50)[codel@loads] < 1s"
        "#;
        let scenario = "qdiscs = [\"codel\"]\nseeds = 2\n[[flows]]\n".to_owned();
        let paper = Paper::read("x", text, vec![("x.toml".to_owned(), scenario)], Vec::new()).unwrap();
        let plan = Plan::new(&paper, paper.claims.iter().collect(), &BTreeSet::new(), Effort::Quick);
        assert_eq!(plan.unwrap().runs(), 2 * 3 * 2);
        let all = paper.scenarios(&paper.experiments[0], Effort::Quick, &BTreeSet::from(["codel"])).unwrap();
        let of_one = all.iter().filter(|scenario| scenario.flows[0].count == 1);
        assert_eq!(
            of_one.map(|one| one.link.down.rate.nominal().as_bps()).collect::<Vec<_>>(),
            [1_000_000; 2]
        );
        let nothing = text.replace("\"10ms\", \"1s\"", "");
        let paper = Paper::read("x", &nothing, paper.files.clone(), Vec::new()).unwrap();
        let refused =
            paper.scenarios(&paper.experiments[0], Effort::Quick, &BTreeSet::new()).unwrap_err().to_string();
        assert!(refused.contains("makes 0 combinations"), "{refused}");
    }

    #[test]
    fn a_given_line_is_that_of_the_scenario_however_it_is_spaced() {
        let text = r#"
            name = "x"
            title = "X"
            source = "X"
            aqm = ["codel"]
            [[experiments]]
            name = "loads"
            scenario = "x.toml"
            [[claims]]
            id = "x-1"
            kind = "order"
            says = "delay"
            check = "mean(bottleneck.down.sojourn_s.p50)[{aqm}@loads] < 1s"
        "#;
        let scenario = "qdiscs = [\"codel\", \"pie  target 20ms\"]\n[[flows]]\n".to_owned();
        let paper = Paper::read("x", text, vec![("x.toml".to_owned(), scenario)], Vec::new()).unwrap();
        let asked = paper.asked_of(&["pie target  20ms".to_owned()], &paper.disciplines).unwrap();
        let label = "pie target 20ms";
        let all = asked.scenarios(&asked.experiments[0], Effort::Quick, &BTreeSet::from([label])).unwrap();
        assert_eq!(all[0].qdiscs.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>(), [label]);
    }
}

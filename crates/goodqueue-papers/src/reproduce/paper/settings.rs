//! Settings of one's own in a paper's experiments, for what the paper does not give.

use std::collections::BTreeSet;

use goodqueue_tc::diagnostic::Diagnostic;

use super::claim::Claim;
use super::experiment::Effort;
use super::setting::Setting;
use super::whole::Paper;

impl Paper {
    /// Returns the paper with these settings, such as `wifi.width=20`, in every experiment whose
    /// scenario has the key's table. Its claims stay as they are.
    #[must_use]
    pub fn with_settings(mut self, settings: &[String]) -> Self {
        self.settings = settings.iter().map(|text| Setting { text: text.clone() }).collect();
        self
    }

    /// Returns the names of the experiments of these claims that a setting changes.
    ///
    /// # Errors
    /// It is no setting, or a scenario cannot be read.
    pub fn changed_by(&self, setting: &str, claims: &[&Claim]) -> Result<BTreeSet<&str>, Diagnostic> {
        let setting = Setting { text: setting.to_owned() };
        let cells: BTreeSet<String> =
            claims.iter().flat_map(|claim| claim.cells()).map(|cell| cell.experiment).collect();
        let mut changed = BTreeSet::new();
        for experiment in self.experiments.iter().filter(|experiment| cells.contains(&experiment.name)) {
            for varied in experiment.combinations(Effort::Quick)? {
                let mut document = self.document(experiment, Effort::Quick, &varied)?;
                setting.apply(&mut document)?;
                if setting.is_for(&document) {
                    changed.insert(experiment.name.as_str());
                }
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIMS: &str = r#"
        name = "x"
        title = "X"
        source = "X"
        [[experiments]]
        name = "wire"
        scenario = "wire.toml"
        [[experiments]]
        name = "air"
        scenario = "air.toml"
        quick = { seeds = 4 }
        [[claims]]
        id = "x-1"
        kind = "order"
        says = "delay"
        check = "mean(bottleneck.down.sojourn_s.p50)[codel@air] < mean(bottleneck.down.sojourn_s.p50)[codel@wire]"
    "#;

    fn paper() -> Paper {
        let wire = "qdiscs = [\"codel\"]\n[[flows]]\n";
        let files = vec![
            ("wire.toml".to_owned(), wire.to_owned()),
            ("air.toml".to_owned(), format!("{wire}[wifi]\nmcs = 7\n")),
        ];
        Paper::read("x", CLAIMS, files, Vec::new()).unwrap()
    }

    /// Returns the scenario of an experiment as JSON.
    fn scenario(paper: &Paper, name: &str) -> serde_json::Value {
        let experiment = paper.experiment(name).unwrap();
        let all = paper.scenarios(experiment, Effort::Quick, &BTreeSet::from(["codel"])).unwrap();
        let record = goodqueue_scenario::results::ScenarioRecord::from(&all[0]);
        serde_json::to_value(record).unwrap()
    }

    #[test]
    fn a_setting_of_the_air_changes_the_experiments_over_wifi_and_leaves_the_wires_alone() {
        let before = paper();
        let after = paper().with_settings(&["wifi.width=40".to_owned()]);
        assert_eq!(scenario(&before, "wire"), scenario(&after, "wire"));
        assert_ne!(scenario(&before, "air"), scenario(&after, "air"));
        let claims: Vec<&Claim> = before.claims.iter().collect();
        assert_eq!(before.changed_by("wifi.width=40", &claims).unwrap(), BTreeSet::from(["air"]));
        assert_eq!(before.changed_by("hops.0.delay=1ms", &claims).unwrap(), BTreeSet::new());
    }

    #[test]
    fn a_setting_wins_over_what_the_paper_s_own_file_says() {
        let after = paper().with_settings(&["seeds=2".to_owned()]);
        for name in ["wire", "air"] {
            let experiment = after.experiment(name).unwrap();
            let all = after.scenarios(experiment, Effort::Quick, &BTreeSet::from(["codel"])).unwrap();
            assert_eq!(all[0].seeds, 2, "{name}");
        }
    }

    #[test]
    fn a_setting_without_a_value_is_refused() {
        let paper = paper().with_settings(&["seeds".to_owned()]);
        let experiment = paper.experiment("wire").unwrap();
        let claims: Vec<&Claim> = paper.claims.iter().collect();
        let refusals = [
            paper.scenarios(experiment, Effort::Quick, &BTreeSet::new()).unwrap_err().to_string(),
            paper.changed_by("seeds", &claims).unwrap_err().to_string(),
        ];
        for refused in refusals {
            assert!(refused.contains("`seeds` has no `=`"), "{refused}");
        }
    }
}

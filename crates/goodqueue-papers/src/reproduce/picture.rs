//! What the figures of a paper show here, as numbers to be drawn.

mod points;
mod stacked;
mod traces;

use goodqueue_tc::diagnostic::Diagnostic;

use super::evidence::Evidence;
use super::expression::Cell;
use super::paper::{Figure, FigureForm, Marks, Paper};
pub use traces::{Picture, Trace};

impl Figure {
    /// The figure as it comes out here. Cells that were not run are left out.
    ///
    /// # Errors
    /// An expression or a path that does not exist.
    pub fn picture(&self, paper: &Paper, evidence: &Evidence<'_>) -> Result<Picture, Diagnostic> {
        let error = |error: Diagnostic| error.prefixed(&format!("figure {} of {}", self.id, paper.name));
        let cells = paper.cells_of(self)?;
        let known: Vec<&Cell> = cells.iter().filter(|cell| evidence.repetitions(cell) > 0).collect();
        let traces = match self.form {
            FigureForm::Timeline => Vec::new(),
            FigureForm::Stacked => stacked::traces(self, paper, &known, evidence).map_err(error)?,
            _ => self.traces(paper, &known, evidence).map_err(error)?,
        };
        let mut experiments: Vec<String> = Vec::new();
        for title in known.iter().map(|cell| paper.title_of(&cell.experiment)) {
            if !experiments.iter().any(|known| known == title) {
                experiments.push(title.to_owned());
            }
        }
        Ok(Picture {
            experiments,
            id: self.id.clone(),
            title: self.title.clone(),
            axes: self.axes.clone(),
            form: self.form,
            names: self.names.clone(),
            panels: self.panels.clone(),
            x: self.x,
            y: self.y,
            log: self.log,
            events: self.events.clone().into_iter().collect(),
            traces,
        })
    }

    fn traces(
        &self,
        paper: &Paper,
        cells: &[&Cell],
        evidence: &Evidence<'_>,
    ) -> Result<Vec<Trace>, Diagnostic> {
        let mut experiments: Vec<&str> = Vec::new();
        for cell in cells {
            if !experiments.contains(&cell.experiment.as_str()) {
                experiments.push(&cell.experiment);
            }
        }
        let mut traces = Vec::new();
        for cell in cells {
            let experiment = experiments.iter().position(|name| *name == cell.experiment).unwrap_or(0);
            // A figure without sorts still has one trace for each cell.
            for sort in 0..self.sorts().len().max(1) {
                let number = if self.panels.is_empty() { sort } else { experiment };
                let (label, group) = self.label_and_group(paper, cell, experiment, experiments.len(), sort);
                let mut words = vec![label.clone()];
                words.extend(group.clone());
                if self.form == FigureForm::Ellipse {
                    words.extend(self.sorts().get(sort).cloned());
                }
                let name = words.join(", ");
                traces.push(Trace {
                    name,
                    label,
                    group,
                    beyond: paper.is_beyond(&cell.label),
                    paper: self.paper.get(&cell.to_string()).map_or_else(Vec::new, Marks::points),
                    points: points::points_of(self, cell, number, evidence)?,
                });
            }
        }
        Ok(traces)
    }

    /// What is drawn of each cell: bars side by side, or ellipses of several quantities.
    fn sorts(&self) -> &[String] {
        match self.form {
            FigureForm::Bars | FigureForm::Ellipse if self.panels.is_empty() => &self.names,
            _ => &[],
        }
    }

    /// What tells a trace from its neighbours, and the group in which it stands. Bars of several
    /// sorts stand together for each discipline.
    fn label_and_group(
        &self,
        paper: &Paper,
        cell: &Cell,
        experiment: usize,
        experiments: usize,
        sort: usize,
    ) -> (String, Option<String>) {
        let discipline = paper.name_of(&cell.label).to_owned();
        let title = || paper.title_of(&cell.experiment).to_owned();
        let group = (experiments > 1).then(|| self.groups.get(experiment).cloned().unwrap_or_else(title));
        match self.sorts().get(sort) {
            Some(sort) if self.form == FigureForm::Bars => {
                let group =
                    group.map_or_else(|| discipline.clone(), |group| format!("{discipline}, {group}"));
                (sort.clone(), Some(group))
            }
            _ => (discipline, group),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The label and the group of the trace of `codel@far` in a figure of two experiments or one.
    fn label_and_group(form: &str, experiments: usize) -> (String, Option<String>) {
        let text = format!(
            "id = \"Fig. 6\"\ntitle = \"\"\nform = \"{form}\"\nnames = [\"10 ms\", \"50 ms\"]\ngroups = [\"near\", \"101 ms\"]\n"
        );
        let figure: Figure = toml::from_str(&text).unwrap();
        let claims = "name = \"x\"\ntitle = \"\"\nsource = \"\"\nnames = { codel = \"CoDel\" }\n".to_owned();
        let paper = Paper::of_files("x", vec![("claims.toml".to_owned(), claims)]).unwrap();
        let cell = Cell { label: "codel".to_owned(), experiment: "far".to_owned() };
        figure.label_and_group(&paper, &cell, 1, experiments, 1)
    }

    #[test]
    fn columns_of_several_experiments_stand_together_under_the_name_of_their_group() {
        assert_eq!(label_and_group("medians", 2), ("CoDel".to_owned(), Some("101 ms".to_owned())));
        assert_eq!(label_and_group("medians", 1), ("CoDel".to_owned(), None));
    }

    #[test]
    fn bars_of_several_sorts_stand_together_for_each_discipline() {
        assert_eq!(label_and_group("bars", 1), ("50 ms".to_owned(), Some("CoDel".to_owned())));
    }
}

//! The figures that a report draws of a paper.

use std::collections::BTreeSet;

use goodqueue_tc::diagnostic::Diagnostic;

use super::claim::Claim;
use super::figure::Figure;
use super::whole::Paper;
use crate::reproduce::expression::Cell;

impl Paper {
    /// The figures that show any runs of these claims, all of them if these are all claims, and the
    /// cells that they show: those of the paper, and with `beyond` those of today's disciplines.
    ///
    /// # Errors
    /// A figure's cells are not cells.
    pub fn figures_of(
        &self,
        claims: &[&Claim],
        beyond: bool,
    ) -> Result<(Vec<&Figure>, BTreeSet<Cell>), Diagnostic> {
        let asked: BTreeSet<Cell> = claims.iter().flat_map(|claim| claim.cells()).collect();
        let mut figures = Vec::new();
        let mut cells = BTreeSet::new();
        for figure in &self.figures {
            let shown = if beyond { self.cells_of(figure)? } else { figure.expanded_cells()? };
            // A timeline shows no runs, so only a report of all claims has it.
            if claims.len() == self.claims.len() || shown.iter().any(|cell| asked.contains(cell)) {
                figures.push(figure);
                cells.extend(shown);
                cells.extend(figure.cells_in_expressions()?);
            }
        }
        Ok((figures, cells))
    }

    /// The cells that a figure shows, with the disciplines of today beside those of the paper,
    /// experiment by experiment.
    ///
    /// # Errors
    /// The figure's cells are not cells.
    pub fn cells_of(&self, figure: &Figure) -> Result<Vec<Cell>, Diagnostic> {
        let own = figure.expanded_cells()?;
        let mut experiments: Vec<&str> = Vec::new();
        for cell in &own {
            if !experiments.contains(&cell.experiment.as_str()) {
                experiments.push(&cell.experiment);
            }
        }
        let mut cells = Vec::new();
        for experiment in experiments {
            let begun = cells.len();
            cells.extend(own.iter().filter(|cell| cell.experiment == experiment).cloned());
            for label in &self.beyond {
                let cell = Cell { label: label.clone(), experiment: experiment.to_owned() };
                if !cells[begun..].contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::papers;

    #[test]
    fn single_claims_have_the_figures_that_show_their_runs() {
        let papers = papers().unwrap();
        let jk = papers.iter().find(|paper| paper.name == "jk").unwrap();
        let ids = |wanted: &dyn Fn(&Claim) -> bool| -> Vec<&str> {
            let claims: Vec<&Claim> = jk.claims.iter().filter(|claim| wanted(claim)).collect();
            jk.figures_of(&claims, false).unwrap().0.iter().map(|figure| figure.id.as_str()).collect()
        };
        let one = ids(&|claim| claim.id == "jk-table3-codel-4+4");
        assert!(one.contains(&"Table III") && !one.contains(&"Fig. 9"), "{one:?}");
        assert_eq!(ids(&|_| true).len(), jk.figures.len());
    }
}

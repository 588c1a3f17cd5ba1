//! Remarks about the lines of a document that mean something else than most people expect.

use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use super::document::{BOTH, Document, Node, Raw, Table};

impl Document {
    /// Returns the remarks of [`goodqueue_tc::remarks`] about all lines of the document, each with
    /// its place.
    #[must_use]
    pub fn remarks(&self) -> Vec<Diagnostic> {
        let mut remarks = Vec::new();
        self.in_table(self.root(), false, &mut remarks);
        remarks
    }

    /// Adds remarks about a table. `are_lines` is true if all its texts are lines.
    fn in_table(&self, table: &Table, are_lines: bool, remarks: &mut Vec<Diagnostic>) {
        for entry in table {
            // Swept keys are dotted: `hops.0.qdisc`.
            let is_line = entry.key.split('.').any(|part| part == "qdiscs" || part == "qdisc");
            // A label is free text, and may look like a line.
            self.in_node(&entry.node, (are_lines || is_line) && entry.key != "label", remarks);
        }
    }

    fn in_node(&self, node: &Node, is_line: bool, remarks: &mut Vec<Diagnostic>) {
        match &node.raw {
            Raw::Text(text) if is_line => {
                // A line for both directions gets its remarks once.
                let (down, up) = text.split_once(BOTH).unwrap_or((text, ""));
                remarks
                    .extend(tc::remarks(self.disciplines(), down).into_iter().map(|one| self.at(one, node)));
                let begins = text.len() - up.len();
                let of_up = tc::remarks(self.disciplines(), up).into_iter();
                remarks.extend(of_up.map(|one| self.at(one.shifted(begins), node)));
            }
            Raw::List(items) => items.iter().for_each(|item| self.in_node(item, is_line, remarks)),
            Raw::Table(table) => self.in_table(table, is_line, remarks),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::library;
    use crate::scenario::Overrides;

    fn told(document: &Document) -> Vec<String> {
        document.remarks().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_line_of_a_scenario_is_looked_at_and_named_by_its_place() {
        let toml = "qdiscs = [\n  'codel target 5', 'fq_codel / pie target 15',\n  { label = 'pie target 3', down = 'pie target 7' },\n]\n\
                    [[hops]]\nqdisc = 'codel interval 100'\n[sweep]\n\"hops.0.qdisc\" = ['codel interval 200']\n";
        let document = Document::parse("line.toml", toml, Path::new("")).unwrap();
        let told = told(&document);
        assert_eq!(told.len(), 5, "{told:#?}");
        assert!(
            told[0].starts_with("line.toml:2:17: `target 5` of codel means 5us, as in tc\n"),
            "{}",
            told[0]
        );
        assert!(told[1].starts_with("line.toml:2:44: `target 15` of pie"), "{}", told[1]);
        assert!(told[2].starts_with("line.toml:3:48: `target 7` of pie"), "{}", told[2]);
        assert!(told[3].contains("`interval 100`") && told[4].contains("`interval 200`"), "{told:#?}");
    }

    #[test]
    fn an_option_is_named_as_it_was_typed() {
        let mut document = Document::default();
        let qdiscs = vec!["codel target 5".to_owned(), "my name".to_owned()];
        // What is no line is an error elsewhere.
        let _ = document.apply(&Overrides { qdiscs, ..Overrides::default() });
        let told = told(&document);
        assert!(told.len() == 1 && told[0].starts_with("--qdisc: `target 5` of codel"), "{told:?}");
    }

    #[test]
    fn built_in_scenarios_have_units() {
        for library::Entry { name, .. } in library::SCENARIOS {
            assert_eq!(told(&library::load(name).unwrap()), Vec::<String>::new(), "{name}");
        }
        assert_eq!(told(&Document::default()), Vec::<String>::new());
    }
}

//! The model of a line as a scenario.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue_scenario::scenario::Document;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::mix::Mix;
use crate::model::{Model, Router};
use crate::places::place;

impl Model<'_> {
    /// Returns the scenario: this line with each of the routers, for this traffic.
    pub(crate) fn scenario(&self, mix: &Mix, routers: &[Router], seed: u64) -> Result<Document, Diagnostic> {
        Document::parse("advise.toml", &self.text(mix, routers, seed), Path::new(""))
    }

    /// Returns that scenario as the text of a file.
    pub(crate) fn text(&self, mix: &Mix, routers: &[Router], seed: u64) -> String {
        let question = self.question;
        let seconds = self.span.total();
        let warmup = self.span.warmup_s;
        let mut text = format!(
            "name = 'advise'\ntitle = '{}, {} down, {} up: {}'\nduration = '{seconds:.1}s'\nwarmup = '{warmup:.1}s'\nseed = {seed}\nqdiscs = [\n",
            question.kind.title, question.rates[0], question.rates[1], mix.name
        );
        for router in routers {
            let [down, up] = &router.lines;
            // Writing to a string cannot fail. Labels and lines have no quotes.
            let _ = writeln!(text, "  {{ label = '{}', down = '{down}', up = '{up}' }},", router.label);
        }
        text += "]\n\n";
        text += &place(question.kind.bottleneck).links(self, seed);
        text += &mix.flows(question);
        text
    }
}

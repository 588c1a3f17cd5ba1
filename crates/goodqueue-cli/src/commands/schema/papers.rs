//! The schemas of what the command writes about papers.

use goodqueue_papers::reproduce::{ClaimKind, ClaimResult, MetricsTable};
use serde_json::{Value, json};

use super::parts::{adopt, array, count, object, of, one_of, text, with_optional};

pub(super) fn verdicts() -> Value {
    let mut claim = of::<Vec<ClaimResult>>();
    let mut table = of::<Vec<MetricsTable>>();
    let mut outer = json!({});
    adopt(&mut outer, &mut claim);
    adopt(&mut outer, &mut table);
    claim["description"] = json!("Claims and their verdicts.");
    let metrics = json!({
        "type": "object",
        "description": "Metrics of the chosen experiments by paper; absent without any.",
        "additionalProperties": table,
    });
    let mut schema = with_optional(
        object("Verdicts about the claims of papers.", json!({ "claims": claim })),
        json!({ "metrics": metrics }),
    );
    schema["$defs"] = outer["$defs"].take();
    schema
}

pub(super) fn paper() -> Value {
    object(
        "A paper (`list papers`).",
        json!({
            "name": text("Name."),
            "title": text("Authors and title."),
            "source": text("Where it was published."),
            "claims": count("Number of its claims."),
            "runs": count("Number of runs that its experiments need."),
            "cpu_s": { "type": ["number", "null"], "x-unit": "s", "description": "Estimated CPU time of these runs." },
        }),
    )
}

pub(super) fn claim() -> Value {
    with_optional(
        object(
            "A claim of a paper (`list claims`).",
            json!({
                "name": text("Name of the claim."),
                "paper": text("Name of the paper."),
                "source": text("The paper."),
                "kind": one_of::<ClaimKind>("What the claim is about."),
                "where": text("Place in the paper."),
                "quote": text("The paper's words; empty if the claim is our own."),
                "says": text("What is checked."),
                "checks": array("Checks as expressions.", json!({ "type": "string" })),
                "tolerance": text("The allowed difference."),
            }),
        ),
        json!({ "not_run": text("Why it is not run.") }),
    )
}

//! `docs/metrics.md` is generated from the catalogue of metrics.

#![allow(missing_docs)]

use std::path::Path;

use goodqueue_scenario::metrics::documentation;

#[test]
fn the_page_of_metrics_is_that_of_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    if std::env::var("UPDATE").is_ok_and(|update| !update.is_empty()) {
        std::fs::write(&path, documentation()).expect("the page is written");
    }
    let kept = std::fs::read_to_string(&path).expect("the page");
    assert!(kept == documentation(), "docs/metrics.md is stale: run `make pages`");
}

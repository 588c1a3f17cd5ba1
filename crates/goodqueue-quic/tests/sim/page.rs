//! The tables of the page "QUIC beside TCP" in the book.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Compares the table `name` of the page with a new one, or writes it if `UPDATE` is set.
pub(crate) fn keep(name: &str, table: &str) {
    // Tests of two tables run at the same time.
    static PAGE: Mutex<()> = Mutex::new(());
    let _page = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/quic.md");
    let kept = std::fs::read_to_string(&path).expect("the page");
    let fresh = with_table(&kept, name, table);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).expect("written");
        return;
    }
    let hint = "docs/quic.md is stale: UPDATE=1 cargo test -p goodqueue-quic --features sim --test sim";
    assert!(kept == fresh, "{hint}\n{table}");
}

/// Returns the page with another table between the comments `name` and `end`.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).expect("the page has a place for the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the table has an end");
    format!("{before}{begin}{table}<!-- end -->{after}")
}

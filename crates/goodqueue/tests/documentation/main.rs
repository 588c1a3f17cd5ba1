//! What the sources say of parameters comes from the parameter tables in code.
//!
//! `UPDATE=1 cargo test -p goodqueue --test documentation` writes the tables anew.

mod keywords;
mod rfc8290;
mod sources;
mod tables;

use sources::Source;

/// Applies `rewrite` to every source. Writes the results with `UPDATE=1`, else requires that they
/// are what the files hold.
fn keep_up_to_date(rewrite: impl Fn(&Source, &str) -> String) {
    let mut stale = Vec::new();
    for source in Source::all() {
        for file in source.files() {
            let old = std::fs::read_to_string(&file).expect("readable");
            let text = rewrite(&source, &old);
            if text == old {
                continue;
            }
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&file, text).expect("writable");
            } else {
                stale.push(difference(&file, &old, &text));
            }
        }
    }
    let remedy = "write them anew with `UPDATE=1 cargo test -p goodqueue --test documentation`";
    assert!(stale.is_empty(), "{}\n{remedy}", stale.join("\n"));
}

/// The first line that differs.
fn difference(file: &std::path::Path, old: &str, new: &str) -> String {
    let mut lines = old.lines().zip(new.lines()).zip(1..);
    let Some(((is, ought), number)) = lines.find(|((is, ought), _)| is != ought) else {
        return format!("{}: lines are missing or superfluous at the end", file.display());
    };
    format!("{}:{number}: the source says\n  {is}\nand the table in code\n  {ought}", file.display())
}

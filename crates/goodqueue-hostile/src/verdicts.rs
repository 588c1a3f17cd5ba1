//! Files of verdicts, as written by `goodqueue reproduce --json`.

use goodqueue_papers::report::{PaperResults, papers_html};
use goodqueue_papers::reproduce::{ClaimResult, scores, verdicts as file};

/// Reads a file of verdicts. Either an error explains what is wrong with it, or it has a score, can
/// be shown, and is written as it was read.
///
/// # Panics
/// If neither happens.
pub fn verdicts(bytes: &[u8]) {
    let claims = match file::read("fuzz.json", bytes) {
        Ok(claims) => claims,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let all = scores(&claims).iter().map(|score| score.counted.all() + score.others.all()).sum::<usize>();
    assert_eq!(all, claims.len());
    for claim in &claims {
        // Any numbers will do, but reading them must not panic.
        let _ = claim.numbers();
    }
    let written = serde_json::to_vec(&claims).expect("what was read can be written");
    let again: Vec<ClaimResult> = serde_json::from_slice(&written).expect("what was written can be read");
    assert_eq!(again, claims);
    let title = String::new();
    let source = String::new();
    let results = PaperResults { title, source, claims, pictures: Vec::new(), metrics: Vec::new() };
    let page = papers_html(&[results], "goodqueue");
    assert!(page.ends_with("</html>\n") && !page.contains("<script"), "text became a program");
}

//! Verdicts that `goodqueue reproduce --json` wrote, read back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::input;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::results::ClaimResult;

/// The file as written. What it holds beside the claims has no say in a score.
#[derive(Deserialize)]
#[serde(expecting = "an object with the key `claims`")]
struct File {
    claims: Vec<ClaimResult>,
    // An array is no file of verdicts, although serde reads it as the fields of a structure.
    #[serde(flatten)]
    _more: BTreeMap<String, IgnoredAny>,
}

/// Reads the verdicts in the file at `path`.
///
/// # Errors
/// The file cannot be read, is larger than 64 MiB, or does not hold verdicts.
pub fn load(path: &Path) -> Result<Vec<ClaimResult>, Diagnostic> {
    let name = path.display().to_string();
    let bytes = input::bytes(path, MOST_BYTES)
        .map_err(|error| Diagnostic::new(format!("the verdicts cannot be read: {error}")).in_file(&name))?;
    read(&name, &bytes)
}

/// Reads verdicts; `name` stands for their file in messages.
///
/// # Errors
/// They do not hold verdicts.
pub fn read(name: &str, bytes: &[u8]) -> Result<Vec<ClaimResult>, Diagnostic> {
    let File { claims, .. } = serde_json::from_slice(bytes).map_err(|error| {
        let message = Diagnostic::new(format!("this does not hold verdicts: {error}")).allowed(FORM);
        // serde_json gives line 0 to an error without a place.
        message.in_line(name, error.line().max(1))
    })?;
    let refuse = |problem: String| Diagnostic::new(problem).allowed(FORM).in_file(name);
    if claims.is_empty() {
        return Err(refuse("the list of claims is empty".to_owned()));
    }
    let mut seen = BTreeSet::new();
    for claim in &claims {
        let id = shortened(&claim.id);
        if !is_plain(&claim.paper) || !claim.id.starts_with(&format!("{}-", claim.paper)) {
            let paper = shortened(&claim.paper);
            return Err(refuse(format!("the claim `{id}` cannot be one of the paper `{paper}`")));
        }
        if !seen.insert(&claim.id) {
            return Err(refuse(format!("the claim `{id}` is listed twice")));
        }
        let mut checks = claim.checks.iter();
        // Scores and reports show the first value of each.
        if checks.any(|check| check.values.is_empty() || check.real.iter().any(|real| real.values.is_empty()))
        {
            return Err(refuse(format!("a check of the claim `{id}` has no values")));
        }
    }
    Ok(claims)
}

/// True of the names that a folder of a paper may have.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Bytes of a file of verdicts. Those of all papers together take 2.4 MB.
const MOST_BYTES: u64 = 64 << 20;
const FORM: &str = "a file that `goodqueue reproduce --json` wrote";

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(change: &str) -> String {
        let claim = r#"{"id":"x-1","paper":"x","kind":"order","expected":"says","got":null,"verdict":"reproduced","where":"","says":"","repetitions":1,"checks":[]}"#;
        match change.split_once(" => ") {
            Some((before, after)) => claim.replace(before, after),
            None => claim.to_owned(),
        }
    }

    #[test]
    fn verdicts_are_read_with_or_without_metrics_beside_them() {
        let text = format!(r#"{{"metrics":{{"x":[1]}},"claims":[{}]}}"#, claim(""));
        assert_eq!(read("v.json", text.as_bytes()).unwrap()[0].id, "x-1");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers/jk/verdicts.json");
        assert!(load(&own).unwrap().len() > 20);
    }

    #[test]
    fn a_file_of_another_shape_is_refused_with_what_is_wrong() {
        let refused = |text: &str| read("v.json", text.as_bytes()).unwrap_err().to_string();
        insta::assert_snapshot!(refused("[]"), @r"
        v.json:1:1: this does not hold verdicts: invalid type: sequence, expected an object with the key `claims` at line 1 column 0
          allowed: a file that `goodqueue reproduce --json` wrote
        ");
        let number = refused("{\n\"claims\": [\n{\"id\": 3}]}");
        assert!(
            number.starts_with("v.json:3:1: this does not hold verdicts: invalid type: integer `3`"),
            "{number}"
        );
        for text in [
            "",
            "7",
            "null",
            "\"x\"",
            "{}",
            "[[]]",
            "{\"claims\": null}",
            "{\"claims\": {}}",
            "{\"claims\": [[]]}",
        ] {
            assert!(refused(text).starts_with("v.json:1:1: this does not hold verdicts"), "{text}");
        }
        // serde_json refuses more than 128 levels, before they exhaust the stack.
        let nested = format!("{{\"claims\":[{{\"expected\":{}", "[".repeat(100_000));
        assert!(refused(&nested).contains("recursion limit"));
        for (change, says) in [
            (r#""paper":"x" => "paper":"""#, "cannot be one of the paper ``"),
            (r#""paper":"x" => "paper":"\u001b[31m""#, "cannot be one of the paper"),
            (r#""paper":"x" => "paper":"y""#, "the claim `x-1` cannot be one of the paper `y`"),
            (
                r#""checks":[] => "checks":[{"check":"","outcome":"holds","values":[]}]"#,
                "a check of the claim `x-1` has no values",
            ),
        ] {
            let text = refused(&format!(r#"{{"claims":[{}]}}"#, claim(change)));
            assert!(text.contains(says), "{text}");
        }
        let twice = format!(r#"{{"claims":[{},{}]}}"#, claim(""), claim(""));
        assert!(refused(&twice).contains("`x-1` is listed twice"));
        assert!(refused(r#"{"claims":[]}"#).contains("the list of claims is empty"));
    }
}

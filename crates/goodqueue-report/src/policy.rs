//! The content security policy of a page. The page may run only its own scripts and use only its
//! own style sheet, both identified by their hashes. Style attributes are forbidden.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Returns the policy of a page with these scripts and this style sheet, each exactly as between
/// its tags.
#[must_use]
pub fn policy(scripts: &[&str], style: &str) -> String {
    let mut policy = String::from("default-src 'none'; ");
    if !scripts.is_empty() {
        let hashes: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
        policy += &format!("script-src {}; ", hashes.join(" "));
    }
    policy + &format!("style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'", hash(style))
}

/// Returns the name of an inline script or style sheet in a policy (CSP 3, section 2.3.1).
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_styles_are_named_by_their_hashes() {
        // The first hash is the example of the specification, the second one that of an empty text.
        let script = "alert('Hello, world.');";
        assert_eq!(
            policy(&[script], ""),
            "default-src 'none'; script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='; \
             style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; img-src data: blob:; \
             base-uri 'none'; form-action 'none'"
        );
        assert!(!policy(&[], "").contains("script-src"), "what is not named is not allowed");
    }
}

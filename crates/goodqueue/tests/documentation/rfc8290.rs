//! Citations of RFC 8290 name sections that it has, and that of a parameter is about the parameter.

use std::path::Path;

use goodqueue::config::Configure;
use goodqueue::fq_codel::FqCodelConfig;

/// Sections with text that the sources could cite, from its table of contents.
const SECTIONS: &[(&str, &str)] = &[
    ("1.2", "terminology and concepts"),
    ("1.3", "informal summary"),
    ("2", "codel"),
    ("3", "flow queueing"),
    ("4", "scheduler"),
    ("4.1", "enqueue"),
    ("4.1.1", "alternative classification schemes"),
    ("4.2", "dequeue"),
    ("5.1", "data structures"),
    ("5.2.1", "interval"),
    ("5.2.2", "target"),
    ("5.2.3", "packet limit"),
    ("5.2.4", "quantum"),
    ("5.2.5", "flows"),
    ("5.2.6", "explicit congestion notification (ecn)"),
    ("5.2.7", "ce threshold"),
    ("5.3", "probability of hash collisions"),
    ("5.4", "memory overhead"),
    ("5.8", "differences between codel and fq-codel"),
];

/// Returns the sections that `text` cites.
fn cited(text: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    for (_, mut rest) in text.match_indices("RFC 8290 §").map(|(at, _)| text.split_at(at + "RFC 8290 ".len()))
    {
        while let Some(section) = rest.strip_prefix('§') {
            let end = section.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(section.len());
            sections.push(section[..end].trim_end_matches('.'));
            rest = section[end..].strip_prefix(" and ").unwrap_or_default();
        }
    }
    sections
}

fn check_folder(folder: &Path, unknown: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            check_folder(&path, unknown);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("readable");
            let is_unknown = |section: &&str| SECTIONS.iter().all(|known| known.0 != *section);
            unknown.extend(
                cited(&text)
                    .into_iter()
                    .filter(is_unknown)
                    .map(|section| format!("{}: §{section}", path.display())),
            );
        }
    }
}

#[test]
fn every_cited_section_exists() {
    assert_eq!(cited("RFC 8290 §4.1 and §4.2; RFC 8290 §5.2.3. RFC 8289 §9"), ["4.1", "4.2", "5.2.3"]);
    let mut unknown = Vec::new();
    check_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut unknown);
    assert!(unknown.is_empty(), "RFC 8290 has no such section:\n{}", unknown.join("\n"));
}

#[test]
fn the_section_of_a_parameter_has_its_name() {
    for parameter in FqCodelConfig::KIND.parameters {
        for section in cited(parameter.source).into_iter().filter(|section| section.starts_with("5.2")) {
            let title = SECTIONS.iter().find(|known| known.0 == section).expect("it exists").1;
            assert!(
                title.contains(&parameter.name.replace('_', " ")),
                "`{}`: §{section}, {title}",
                parameter.name
            );
        }
    }
}

//! A keyword of tc is written once in the sources of its discipline, in the table of parameters.
//! Readers and writers of settings name the table's entry. A setter whose Rust name differs from
//! the keyword writes it a second time.

use crate::sources::{Source, of_classes};

#[test]
fn a_keyword_appears_at_most_twice_in_the_sources_of_its_discipline() {
    let mut problems = Vec::new();
    for source in Source::all() {
        let code: String = source
            .files()
            .into_iter()
            .map(|file| without_comments_and_tests(&std::fs::read_to_string(file).expect("readable")))
            .collect();
        let keywords = source.kinds.iter().flat_map(|kind| kind.parameters.iter().chain(of_classes(kind)));
        for parameter in keywords {
            let count = code.matches(&format!("\"{}\"", parameter.name)).count();
            // Parameters of classes and of several disciplines in a module may share a name.
            let shared = source
                .kinds
                .iter()
                .flat_map(|kind| kind.parameters.iter().chain(of_classes(kind)))
                .filter(|other| other.name == parameter.name)
                .count();
            if count > 2.max(shared) {
                problems.push(format!("{}: `{}` appears {count} times", source.name(), parameter.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn without_comments_and_tests(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect()
}

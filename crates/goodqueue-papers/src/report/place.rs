//! Which figure, table or section of a paper a text such as "§4.1, Figs. 2 and 3b, p. 3" names.

/// What papers number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Figure,
    Table,
    Section,
}

/// A figure, table or section.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Reference {
    kind: Kind,
    /// As the paper writes it; empty of a table without a number.
    number: String,
    /// First and last letter of the parts of a figure.
    parts: Option<(char, char)>,
}

/// True if the place of a claim names the figure with this id. An id has more words behind a comma.
pub(super) fn names(place: &str, figure: &str) -> bool {
    let of_figure = references(figure.split(',').next().unwrap_or_default());
    let of_place = references(place);
    of_place.iter().any(|named| of_figure.iter().any(|own| named.meets(own)))
}

impl Reference {
    fn meets(&self, other: &Self) -> bool {
        let parts = match (self.parts, other.parts) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => true,
        };
        self.kind == other.kind && self.number == other.number && parts
    }

    fn read(kind: Kind, word: &str) -> Option<Self> {
        let (number, parts) = match kind {
            Kind::Figure => {
                let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
                let letters = word.strip_prefix(digits)?;
                let is_letter = |c: char| c.is_ascii_lowercase();
                let parts = match letters.chars().collect::<Vec<_>>().as_slice() {
                    [] => None,
                    &[one] if is_letter(one) => Some((one, one)),
                    &[from, '-' | '–', to] if is_letter(from) && is_letter(to) => Some((from, to)),
                    _ => return None,
                };
                (digits, parts)
            }
            Kind::Table | Kind::Section => (word, None),
        };
        let is_number = |c: char| c.is_ascii_digit();
        let is_roman = |c: char| "IVXLC".contains(c);
        let is_section = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        let is_known = match kind {
            Kind::Figure => number.chars().all(is_number),
            Kind::Table => number.chars().all(is_number) || number.chars().all(is_roman),
            Kind::Section => number.chars().all(is_section),
        };
        (is_known && !number.is_empty()).then(|| Self { kind, number: number.to_owned(), parts })
    }
}

fn references(text: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    let mut kind = None;
    for word in text.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
        if let Some(section) = word.strip_prefix('§') {
            found.extend(Reference::read(Kind::Section, section));
            kind = Some(Kind::Section);
            continue;
        }
        match word.trim_end_matches('.').to_lowercase().as_str() {
            "fig" | "figs" | "figure" | "figures" => kind = Some(Kind::Figure),
            "tab" | "table" | "tables" => {
                kind = Some(Kind::Table);
                found.push(Reference { kind: Kind::Table, number: String::new(), parts: None });
            }
            "section" | "sections" => kind = Some(Kind::Section),
            "and" | "to" => {}
            _ => match kind.and_then(|kind| Reference::read(kind, word)) {
                Some(reference) => {
                    // The table has a number after all.
                    found.retain(|known| known.kind != reference.kind || !known.number.is_empty());
                    found.push(reference);
                }
                None => kind = None,
            },
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_belongs_to_the_figures_that_its_place_names() {
        assert!(names("§4.1, Fig. 2, p. 3", "Fig. 2"));
        assert!(!names("§4.1, Fig. 2, p. 3", "Fig. 3"), "3 is the page");
        assert!(names("§V, Figs. 4 and 5, p. 6", "Fig. 5"));
        assert!(names("Fig. 3, p. 5", "Fig. 3, 1+1") && !names("Fig. 1, p. 5", "Fig. 3, 1+1"));
        assert!(names("Fig. 2, p. 95", "Fig. 2a") && names("Fig. 2a, p. 95", "Fig. 2"));
        assert!(!names("Fig. 2c, p. 95", "Fig. 2a"));
        assert!(names("Fig. 6b-d, p. 100", "Fig. 6c") && !names("Fig. 6b-d, p. 100", "Fig. 6a"));
        assert!(names("Dropping the Right Packets, on Fig. 8", "Fig. 8, delay"));
    }

    #[test]
    fn tables_have_numbers_of_either_sort_or_none() {
        assert!(names("§II-A, Table I, p. 3", "Tables I and II, share"));
        assert!(!names("§V, Table II, p. 4", "Table III"));
        assert!(names("Consumer Edge, table", "table, drops, download"));
        assert!(!names("Consumer Edge, table", "Table 2"));
    }

    #[test]
    fn sections_are_named_with_either_sign() {
        assert!(names("§8.2.6", "section 8.2.6 20 s, delay"));
        assert!(names("§III-C, p. 5", "§III-C, fairness") && !names("§III, p. 5", "§III-C, fairness"));
        assert!(!names("", "") && !names("Fig.", "Fig. 1"));
    }
}

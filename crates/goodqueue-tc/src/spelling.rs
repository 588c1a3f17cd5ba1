//! How far apart two words are, to suggest the word that a misspelt one means.

/// Returns the Damerau-Levenshtein distance of two words: the least number of insertions,
/// deletions, replacements and swaps of two neighbours that turns one into the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    // `table[i][j]`: the distance of the first `i` letters of `from` and the first `j` of `to`.
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    table[0] = (0..=to.len()).collect();
    for (i, row) in table.iter_mut().enumerate() {
        row[0] = i;
    }
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let letter = from[i - 1];
            let other = to[j - 1];
            let replaced = table[i - 1][j - 1] + usize::from(letter != other);
            let mut least = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            // A swap with the last place where the other word has this letter. The letters between
            // are deleted or inserted.
            let earlier = from[..i - 1].iter().rposition(|c| *c == other);
            if let (Some(k), Some(l)) = (earlier, to[..j - 1].iter().rposition(|c| *c == letter)) {
                // `k` and `l` count from 0, `i` and `j` from 1.
                least = least.min(table[k][l] + (i - k - 2) + 1 + (j - l - 2));
            }
            table[i][j] = least;
        }
    }
    table[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn an_edit_counts_one_and_so_does_a_swap_of_two_neighbours() {
        for (from, to, expected) in [
            ("codel", "codel", 0),
            ("", "pie", 3),
            ("codle", "codel", 1),
            ("cdel", "codel", 1),
            ("kodel", "codel", 1),
            // Without letters between the two that are swapped, it would be 3.
            ("ca", "abc", 2),
            ("fq_coddel", "fq_codel", 1),
            ("sfq", "pie", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
    }
}

//! Mutations of inputs: flipped bits, lost, doubled and shuffled pieces, and the worst numbers,
//! lengths and depths that fit the form.
//!
//! A mutant is identified by its number: the same inputs and number give the same bytes on every
//! machine.

use goodqueue::random::{Random, Xoshiro256PlusPlus};

/// Makes mutants of inputs.
#[derive(Clone, Copy, Debug)]
pub struct Mutator<'s> {
    seeds: &'s [Vec<u8>],
    longest: usize,
}

impl<'s> Mutator<'s> {
    /// Creates a mutator of these inputs, of which there must be at least one. Mutants are cut at
    /// `longest` bytes.
    #[must_use]
    pub const fn new(seeds: &'s [Vec<u8>], longest: usize) -> Self {
        Self { seeds, longest }
    }

    /// Returns mutant `number`: an input after one to eight mutations.
    #[must_use]
    pub fn mutant(&self, number: u64) -> Vec<u8> {
        let mut dice = Dice(Xoshiro256PlusPlus::stream(SEED, number));
        let mut bytes = dice.one_of(self.seeds).clone();
        // A number below a random bound makes few mutations more frequent.
        let most = 1 + dice.below(8);
        for _ in 0..1 + dice.below(most) {
            self.mutate(&mut bytes, &mut dice);
            bytes.truncate(self.longest);
        }
        bytes
    }

    fn mutate(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        match dice.below(20) {
            0 => flip_a_bit(bytes, dice),
            1 => overwrite_a_byte(bytes, dice),
            2 => overwrite_a_field(bytes, dice),
            3 => drop(bytes.drain(dice.piece(bytes.len()))),
            4 => bytes.truncate(dice.below(bytes.len() + 1)),
            5 => double_a_piece(bytes, dice),
            6 => repeat_a_piece(bytes, self.longest, dice),
            7 => change_the_lines(bytes, dice, |lines, dice| drop(lines.remove(dice.below(lines.len())))),
            8 => change_the_lines(bytes, dice, |lines, dice| {
                let line = dice.one_of(lines).clone();
                lines.insert(dice.below(lines.len()), line);
            }),
            9 => change_the_lines(bytes, dice, |lines, dice| {
                let one = dice.below(lines.len());
                let other = dice.below(lines.len());
                lines.swap(one, other);
            }),
            10 => splice(bytes, dice.one_of(self.seeds).as_slice(), dice),
            11 => {
                let other = dice.one_of(self.seeds);
                let piece = other[dice.piece(other.len())].to_vec();
                insert(bytes, &piece, dice);
            }
            12 => insert(bytes, dice.one_of(WORDS).as_bytes(), dice),
            13 => nest(bytes, dice),
            // Numbers cause most failures, so they are replaced most often.
            _ => replace_a_number(bytes, dice),
        }
    }
}

fn flip_a_bit(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

fn overwrite_a_byte(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte = *dice.one_of(b"\0\x01\x7f\x80\xff \n\"'[](){}=,.-+*/#@%0123456789aez");
    }
}

/// Overwrites a binary field of 2, 4 or 8 bytes, in either byte order, with a value near a power of
/// two.
fn overwrite_a_field(bytes: &mut [u8], dice: &mut Dice) {
    let width = *dice.one_of(&[2, 4, 8]);
    // A shift by 64 gives 0, from which the subtraction wraps to the largest numbers.
    let near = 1_u64.checked_shl(*dice.one_of(&[0, 7, 8, 15, 16, 31, 32, 63, 64])).unwrap_or(0);
    let value = near.wrapping_sub(dice.below(3) as u64).to_le_bytes();
    let at = dice.below(bytes.len());
    let backwards = dice.below(2) == 0;
    if let Some(field) = bytes.get_mut(at..at + width) {
        field.copy_from_slice(&value[..width]);
        if backwards {
            field.reverse();
        }
    }
}

fn double_a_piece(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let piece = dice.piece(bytes.len());
    let copy = bytes[piece.clone()].to_vec();
    bytes.splice(piece.end..piece.end, copy);
}

/// Repeats a piece, up to the length limit of an input.
fn repeat_a_piece(bytes: &mut Vec<u8>, longest: usize, dice: &mut Dice) {
    let piece = dice.piece(bytes.len().min(64));
    let most = longest / piece.len().max(1);
    let times = (1_usize << dice.below(17)).min(most);
    let copies = bytes[piece.clone()].repeat(times);
    bytes.splice(piece.end..piece.end, copies);
}

fn change_the_lines(bytes: &mut Vec<u8>, dice: &mut Dice, change: impl FnOnce(&mut Vec<Vec<u8>>, &mut Dice)) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if !lines.is_empty() {
        change(&mut lines, dice);
        *bytes = lines.concat();
    }
}

/// Joins the beginning of one input and the end of another.
fn splice(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    bytes.truncate(dice.below(bytes.len() + 1));
    bytes.extend_from_slice(&other[dice.below(other.len() + 1)..]);
}

fn insert(bytes: &mut Vec<u8>, piece: &[u8], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// Puts brackets around a piece, or only opening ones, up to a depth that no parser expects.
fn nest(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const PAIRS: &[(&str, &str)] = &[
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("[[", "]]"),
        ("{a=", "}"),
        ("{\"a\":", "}"),
        ("-", ""),
        ("min(", ")"),
        ("1+", ""),
        ("{a,b}", ""),
        ("a.", ""),
    ];
    let &(open, close) = dice.one_of(PAIRS);
    let depth = 1 << dice.below(16);
    let piece = dice.piece(bytes.len());
    if dice.below(4) > 0 {
        bytes.splice(piece.end..piece.end, close.repeat(depth).bytes());
    }
    bytes.splice(piece.start..piece.start, open.repeat(depth).bytes());
}

/// Replaces a number, with its fraction, by one from the edge of some type's range.
fn replace_a_number(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) {
        let end =
            bytes[start..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |found| start + found);
        numbers.push(start..end);
        at = end;
    }
    if !numbers.is_empty() {
        let number = dice.one_of(&numbers).clone();
        bytes.splice(number, dice.one_of(NUMBERS).bytes());
    }
}

/// Random decisions.
struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Returns a number below `bound`, or 0 for a bound of 0.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.0.next_u64().checked_rem(bound).unwrap_or(0)).unwrap_or(0)
    }

    fn one_of<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// Returns a range within this number of bytes. Short ranges are more frequent.
    fn piece(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = length - start;
        let bound = 1 + self.below(most + 1);
        start..start + self.below(bound.min(most + 1))
    }
}

/// An arbitrary seed: "mutant" in ASCII.
const SEED: u64 = 0x6d75_7461_6e74;

// Limits of integers with their neighbours, numbers that f64 does not have (2^53 + 1, 1e999), and
// forms that some parsers take for numbers.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e-300",
    "1e308",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "32768",
    "65535",
    "65536",
    "1000000",
    "16777216",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "1000000000000",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "00000000000000000000000000000000",
    "1_000",
    "0x10",
    "1e",
];

const WORDS: &[&str] = &[
    "nan",
    "inf",
    "-",
    "+",
    "=",
    ",",
    "\"",
    "'",
    "\0",
    "\n",
    "\r\n",
    "\u{feff}",
    // Overrides the direction of the text behind it.
    "\u{202e}",
    "é",
    "\u{1b}[31m",
    "true",
    "null",
    "[]",
    "{}",
    "[[flows]]\n",
    "[sweep]\n",
    "limit 4294967295",
    "1h",
    "1ns",
    "1tbit",
    "1bit",
    "100%",
    "unlimited",
];

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 20_000;

    #[test]
    fn a_mutant_is_identified_by_its_number() {
        let seeds = [b"qdiscs = [\"codel\", \"pie\"]\nseeds = 2\nduration = \"60s\"\n[link]\ndown = \"10mbit\"\nrtt = \"30ms\"\n".to_vec(), b"limit 1000".to_vec()];
        let mutator = Mutator::new(&seeds, LONGEST);
        let mutants: Vec<_> = (0..500).map(|number| mutator.mutant(number)).collect();
        assert_eq!(mutants[7], Mutator::new(&seeds, LONGEST).mutant(7));
        let mut different = mutants.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 400, "{} different ones of 500", different.len());
        assert!(mutants.iter().all(|mutant| mutant.len() <= LONGEST));
        assert!(mutants.iter().any(|mutant| mutant.len() > 10_000), "some are long");
    }

    #[test]
    fn even_an_empty_input_has_mutants() {
        let seeds = [Vec::new()];
        let mutator = Mutator::new(&seeds, LONGEST);
        assert!((0..500).any(|number| !mutator.mutant(number).is_empty()));
    }
}

//! Fuzzing of the parsers, in the unit tests: real bytes, damaged in every way that a generator with
//! a fixed seed thinks of. No parser may panic, and each test says what else must hold.
//!
//! `FUZZ_ROUNDS=1000000 FUZZ_SEED=7 cargo test --release fuzz` runs them long. A failure prints
//! the seed and the input.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Inputs for each parser, unless `FUZZ_ROUNDS` says otherwise.
const ROUNDS: u64 = 10_000;
/// Where they start, unless `FUZZ_SEED` says otherwise.
const SEED: u64 = 0x6769_742d_7361_6e64;
/// Long inputs find nothing that short ones do not.
const LONGEST: usize = 600;

/// What trips programs over.
const TOKENS: [&[u8]; 28] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"  ",
    b"/",
    b"..",
    b"../",
    b"-",
    b"--",
    b"\x1b[2J",
    b"\xff",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"\xe2\x80\x8b",
    b"\xf3\xa0\x80\x81",
    b"\\",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"null",
    b"0",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"gitdir: ",
    b"refs/heads/",
];

/// A sequence of numbers that is the same everywhere: splitmix64.
pub struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One below `end`; 0 where there is none.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap()
    }
}

/// Says what was tried when a check panics.
struct Trial<'a> {
    seed: u64,
    input: &'a [u8],
}

impl Drop for Trial<'_> {
    #[expect(clippy::print_stderr, reason = "whoever reads a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("FUZZ_SEED={} input: b\"{}\"", self.seed, self.input.escape_ascii());
        }
    }
}

/// Checks each of the real inputs, and damaged ones.
pub fn damaged(real: &[&[u8]], mut check: impl FnMut(&[u8])) {
    let number = |name: &str, default| match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    };
    let (rounds, first) = (number("FUZZ_ROUNDS", ROUNDS), number("FUZZ_SEED", SEED));
    for input in real {
        check(input);
    }
    for round in 0..rounds {
        // A round is the whole run of its own seed.
        let seed = first.wrapping_add(round);
        let input = damage(real, &mut Numbers(seed));
        let trial = Trial { seed, input: &input };
        check(trial.input);
    }
}

/// The same for text.
pub fn damaged_text(real: &[&str], mut check: impl FnMut(&str)) {
    let bytes: Vec<&[u8]> = real.iter().map(|text| text.as_bytes()).collect();
    damaged(&bytes, |bytes| check(&String::from_utf8_lossy(bytes)));
}

/// The same for lists of words, which are separated by line feeds here.
pub fn damaged_words(real: &[&str], mut check: impl FnMut(Vec<OsString>)) {
    let bytes: Vec<&[u8]> = real.iter().map(|text| text.as_bytes()).collect();
    damaged(&bytes, |bytes| {
        let words = bytes.split(|byte| *byte == b'\n');
        check(words.map(|word| OsString::from_vec(word.to_vec())).collect());
    });
}

fn damage(real: &[&[u8]], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = real[numbers.below(real.len())].to_vec();
    for _ in 0..=numbers.below(6) {
        let at = numbers.below(bytes.len() + 1);
        let end = at + numbers.below(bytes.len() - at + 1);
        match numbers.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, u8::try_from(numbers.below(256)).unwrap()),
            3 | 4 => insert(&mut bytes, at, TOKENS[numbers.below(TOKENS.len())]),
            5 => {
                let twice = bytes[at..end].to_vec();
                insert(&mut bytes, end, &twice);
            }
            6 => {
                let other = real[numbers.below(real.len())];
                let cut = numbers.below(other.len() + 1);
                bytes.truncate(at);
                insert(&mut bytes, at, &other[cut..]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    bytes.splice(at..at, more.iter().copied());
}

/// Whether a piece of an answer stands in the input.
pub fn contains(input: &[u8], piece: &[u8]) -> bool {
    piece.is_empty() || input.windows(piece.len()).any(|window| window == piece)
}

//! Which files git would write otherwise than their blobs are, by the attributes in force.
//!
//! Patterns are not matched exactly but never too narrowly: a line whose pattern may match a file counts,
//! and a later line that takes its attributes back does not. A file that is converted according to this
//! but not to git is left to git, which costs time and nothing else.

use std::collections::HashMap;

/// How git would write a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// As its blob is.
    #[default]
    Never,
    /// As its blob is; but a carriage return in it would make it look changed.
    OfLines,
    /// Otherwise, maybe.
    Maybe,
}

/// The lines of all attribute files that may have a say in how files are written.
#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    /// The folder of the file that the line is in, with a `/` at the end unless it is the top.
    folder: Vec<u8>,
    pattern: Pattern,
    conversion: Conversion,
}

#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// Any file.
    Any,
    /// Files of this name, where a `*` stands for anything.
    Name(Vec<u8>),
    /// Files at this path, where a `*` stands for anything.
    Path(Vec<u8>),
}

impl Rules {
    /// From attribute files: the folder that each is in, as in [`Rule`], and what it says.
    pub fn of(files: &[(Vec<u8>, Vec<u8>)]) -> Rules {
        let lines = || {
            files.iter().flat_map(|(folder, bytes)| {
                let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
                bytes.split(|byte| *byte == b'\n').map(move |line| (folder, line))
            })
        };
        let mut macros: HashMap<&[u8], Conversion> = HashMap::new();
        // A macro may name one that is defined later: until nothing is new.
        loop {
            let before = macros.clone();
            for (_, line) in lines() {
                let mut words = words(line);
                if let Some(name) = words.next().and_then(|word| word.strip_prefix(b"[attr]")) {
                    // The name may follow after a blank.
                    let name =
                        if name.is_empty() { words.next().unwrap_or_default() } else { name };
                    let conversion = strongest(words, &macros);
                    let known = macros.entry(name).or_default();
                    *known = conversion.max(*known);
                }
            }
            if macros == before {
                break;
            }
        }
        let rules = lines().filter_map(|(folder, line)| {
            let line = line.trim_ascii_start();
            let is_quoted = line.starts_with(b"\"");
            let mut rest = words(line);
            let word = if is_quoted { None } else { Some(rest.next()?) };
            if word.is_some_and(|word| word.starts_with(b"#") || word.starts_with(b"[attr]")) {
                return None;
            }
            let conversion = strongest(rest, &macros);
            let pattern = word.map_or(Pattern::Any, pattern);
            let folder = folder.clone();
            (conversion != Conversion::Never).then_some(Rule { folder, pattern, conversion })
        });
        Rules(rules.collect())
    }

    /// What may be done to the file at a path.
    pub fn conversion(&self, path: &[u8]) -> Conversion {
        let matching = self.0.iter().filter(|rule| rule.may_match(path));
        matching.map(|rule| rule.conversion).max().unwrap_or_default()
    }
}

impl Rule {
    fn may_match(&self, path: &[u8]) -> bool {
        let Some(path) = path.strip_prefix(&self.folder[..]) else { return false };
        match &self.pattern {
            Pattern::Any => true,
            Pattern::Name(name) => {
                matches(name, path.rsplit(|byte| *byte == b'/').next().unwrap_or(path))
            }
            Pattern::Path(whole) => matches(whole, path),
        }
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace() || *byte == 0x0b).filter(|word| !word.is_empty())
}

/// The strongest of what these attributes do.
fn strongest<'a>(
    words: impl Iterator<Item = &'a [u8]>,
    macros: &HashMap<&[u8], Conversion>,
) -> Conversion {
    let of_word = |word: &[u8]| {
        if word.starts_with(b"-") || word.starts_with(b"!") {
            return Conversion::Never;
        }
        let (name, value) = match word.iter().position(|byte| *byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        match (name, value) {
            (b"text", Some(b"auto")) => Conversion::Never,
            (b"text" | b"crlf", None) | (b"eol", Some(b"lf")) | (b"crlf", Some(b"input")) => {
                Conversion::OfLines
            }
            (b"text" | b"crlf" | b"eol" | b"ident" | b"filter" | b"working-tree-encoding", _) => {
                Conversion::Maybe
            }
            _ => macros.get(name).copied().unwrap_or_default(),
        }
    };
    words.map(of_word).max().unwrap_or_default()
}

fn pattern(word: &[u8]) -> Pattern {
    let special = |byte: &u8| matches!(byte, b'\\' | b'[' | b'?' | b'"');
    let word = word.strip_prefix(b"/").map_or((word, false), |rest| (rest, true));
    let (word, is_anchored) = (word.0, word.1 || word.0.contains(&b'/'));
    if word.iter().any(special) {
        return Pattern::Any;
    }
    // All that is below a folder.
    let body = word.strip_suffix(b"/**").unwrap_or(word);
    if body.windows(2).any(|pair| pair == b"**") {
        return Pattern::Any;
    }
    let lower = word.to_ascii_lowercase();
    if is_anchored { Pattern::Path(lower) } else { Pattern::Name(lower) }
}

/// Whether a text is like a pattern in which a `*` stands for any bytes; in whatever case.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where to go on after a `*` that has to stand for more.
    let mut again = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at + 1, from));
                at += 1;
            }
            Some(byte) if *byte == text[from].to_ascii_lowercase() => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((next, start)) = again else { return false };
                again = Some((next, start + 1));
                (at, from) = (next, start + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    fn rules(files: &[(&str, &str)]) -> Rules {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let files = files.iter().map(|(folder, text)| (bytes(folder), bytes(text)));
        Rules::of(&files.collect::<Vec<_>>())
    }

    #[test]
    fn what_converts_is_told_from_what_does_not() {
        use Conversion::{Maybe, Never, OfLines};
        for (attributes, wanted) in [
            ("diff=x merge=ours -text !eol binary export-ignore", Never),
            ("text=auto", Never),
            ("text", OfLines),
            ("eol=lf", OfLines),
            ("crlf=input", OfLines),
            ("text eol=crlf", Maybe),
            ("text=auto ident", Maybe),
            ("filter=lfs -text", Maybe),
            ("working-tree-encoding=UTF-16", Maybe),
            ("text=other", Maybe),
            ("-filter -ident", Never),
        ] {
            let rules = rules(&[("", &format!("# *.c filter=x\n*.c\t{attributes}\r\n"))]);
            assert_eq!(rules.conversion(b"in/a.c"), wanted, "{attributes}");
            assert_eq!(rules.conversion(b"in/a.h"), Never, "{attributes}");
        }
    }

    #[test]
    fn macros_count_however_they_are_indented() {
        let rules = rules(&[("", "a one\nb two\n \t[attr]one  filter=x\n[attr]\t two  ident\n")]);
        let told: Vec<_> = [&b"a"[..], b"b"].map(|path| rules.conversion(path)).into();
        assert_eq!(told, [Conversion::Maybe, Conversion::Maybe]);
    }

    #[test]
    fn macros_count_by_what_they_stand_for() {
        let text = "a outer\nb -outer\nc other\n[attr]outer inner\n[attr]inner filter=x\n[attr]other -text\n";
        let rules = rules(&[("", text)]);
        let told: Vec<_> = [&b"a"[..], b"b", b"c"].map(|path| rules.conversion(path)).into();
        assert_eq!(told, [Conversion::Maybe, Conversion::Never, Conversion::Never]);
    }

    #[test]
    fn a_pattern_never_matches_less_than_gits() {
        let is_matched = |folder: &str, pattern: &str, path: &str| {
            let rules = rules(&[(folder, &format!("{pattern} filter=x\n"))]);
            rules.conversion(path.as_bytes()) == Conversion::Maybe
        };
        for (folder, pattern, path) in [
            ("", "*", "a/b"),
            ("", "*.C", "a/b.c"),
            ("", "a*b*c", "in/axxbyyc"),
            ("", "/a", "a"),
            ("", "a/*.c", "a/b.c"),
            ("", "a/**", "a/b/c"),
            ("", "**/c", "c"),
            ("", "[ab].c", "a.c"),
            ("", "\"a b\"", "a b"),
            ("", "a?c", "abc"),
            ("", "\\#a", "#a"),
            ("sub/", "*.c", "sub/deep/a.c"),
            ("sub/", "/a.c", "sub/a.c"),
        ] {
            assert!(is_matched(folder, pattern, path), "{folder} {pattern} {path}");
        }
        for (folder, pattern, path) in [
            ("", "*.c", "a/b.h"),
            ("", "/a.c", "in/a.c"),
            ("", "a/**", "b/a/c"),
            ("", "name", "a/named"),
            ("sub/", "*.c", "a.c"),
            ("sub/", "*", "other/a.c"),
        ] {
            assert!(!is_matched(folder, pattern, path), "{folder} {pattern} {path}");
        }
    }

    #[test]
    fn fuzz_attributes() {
        let real: [&[u8]; 2] =
            [b"*.c text\n[attr]x filter=y\n\"a b\" x\n", b"a/** -text\n* eol=crlf\n"];
        fuzz::damaged(&real, |input| {
            let rules = Rules::of(&[(Vec::new(), input.to_vec())]);
            rules.conversion(b"a/b.c");
        });
    }
}

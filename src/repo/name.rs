//! Names: which are branches, and the folder and the slug each gives. Pure.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Folders that begin with this are explorations, told by name alone.
pub const EXPLORATION: &str = "exploration-";
/// The longest folder name, in bytes.
const LONGEST: usize = 64;

/// Why a name cannot become a new branch of ours, git's own rules aside.
pub fn reserved(name: &OsStr) -> Option<&'static str> {
    let bytes = name.as_bytes();
    let hex = bytes.iter().all(u8::is_ascii_hexdigit) && (7..=64).contains(&bytes.len());
    match bytes {
        b"" => Some("is not a name"),
        b"HEAD" | b"@" => Some("is git's own name for the current commit"),
        _ if bytes.starts_with(b"refs/") => Some("is a full ref name, not a branch name"),
        _ if hex => Some("looks like an object id"),
        _ => None,
    }
}

/// Whether git certainly takes this as a branch name, so that it need not be asked.
pub fn surely_valid(name: &OsStr) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let mut parts = name.as_bytes().split(|byte| *byte == b'/');
    parts.all(|part| part.first().is_some_and(u8::is_ascii_alphanumeric) && part.iter().all(plain))
}

/// A branch name made of a sentence: `fix-the-login-bug`.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            _ if letter.is_ascii_alphanumeric() => slug.push(letter),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let cut = slug.char_indices().nth(50).map_or(slug.len(), |(index, _)| index);
    let slug = slug[..cut].trim_matches('-');
    match reserved(OsStr::new(slug)) {
        Some(_) if slug.is_empty() => "my-sandbox".into(),
        Some(_) => format!("branch-{slug}"),
        // Not even on file systems that do not tell case apart.
        None if slug == "head" => format!("branch-{slug}"),
        None => slug.to_owned(),
    }
}

/// The folder of a branch.
pub fn branch_folder(branch: &OsStr) -> String {
    let folder = folder(branch);
    // The prefix tells an exploration even where git cannot be asked.
    if folder.starts_with(EXPLORATION) {
        shorten(&format!("branch-{folder}"), branch)
    } else {
        folder
    }
}

/// The folder of an exploration.
pub fn exploration_folder(name: &OsStr) -> String {
    shorten(&format!("{EXPLORATION}{}", folder(name)), name)
}

/// `folder-2`, `folder-3`: still short enough.
pub fn numbered(folder: &str, number: u32) -> String {
    let suffix = format!("-{number}");
    format!("{}{suffix}", head(folder, LONGEST - suffix.len()))
}

/// A name as a folder: no letter that a shell or some file system trips over, no leading `.` or
/// `-`, no trailing `.`, at most 64 bytes.
fn folder(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    let safe = |letter: char| {
        let kept = letter.is_alphanumeric() && letter != char::REPLACEMENT_CHARACTER;
        if kept || "._+@,-".contains(letter) { letter } else { '-' }
    };
    let text: String = text.chars().map(safe).collect();
    let text = text.trim_start_matches(['.', '-']).trim_end_matches('.');
    // git itself trips over a folder called '@'.
    match text.contains(char::is_alphanumeric) {
        true => shorten(text, name),
        false => format!("branch-{}", &hash(name)[..8]),
    }
}

fn shorten(folder: &str, name: &OsStr) -> String {
    if folder.len() <= LONGEST {
        return folder.to_owned();
    }
    let hash = hash(name);
    let hash = &hash[..8];
    format!("{}-{hash}", head(folder, LONGEST - hash.len() - 1))
}

/// Returns at most the first `length` bytes, cut between two characters.
fn head(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A hash that is the same in every release: FNV-1a, 64 bits, in hex. Rust's own may change.
pub fn hash(name: &OsStr) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    fn folder_of(name: &str) -> String {
        branch_folder(OsStr::new(name))
    }

    #[test]
    fn folders() {
        assert_eq!(folder_of("feat/ui"), "feat-ui");
        assert_eq!(folder_of("größe_1.2+x@y"), "größe_1.2+x@y");
        assert_eq!(folder_of("a$b&c;d'e\"f*g"), "a-b-c-d-e-f-g");
        assert_eq!(folder_of("#12"), "12");
        assert_eq!(folder_of("a."), "a");
        assert_eq!(folder_of("exploration-x"), "branch-exploration-x");
        for odd in ["!!!", "@@", "a@".trim_start_matches('a'), "_"] {
            assert_eq!(folder_of(odd).len(), "branch-".len() + 8, "{odd}");
        }
        assert_eq!(exploration_folder(OsStr::new("a/b")), "exploration-a-b");
        assert_eq!(branch_folder(OsStr::from_bytes(b"a\xffb")), "a-b");
    }

    #[test]
    fn long_folders_are_cut_and_stay_apart() {
        let (one, other) =
            (folder_of(&format!("{}1", "ü".repeat(99))), folder_of(&"ü".repeat(100)));
        assert!(one.len() <= 64 && other.len() <= 64 && one != other, "{one} {other}");
        assert_eq!(folder_of(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(numbered(&"x".repeat(64), 12), format!("{}-12", "x".repeat(61)));
        assert!(exploration_folder(OsStr::new(&"x".repeat(64))).len() <= 64);
    }

    #[test]
    fn slugs() {
        assert_eq!(slug("Fix the login bug"), "fix-the-login-bug");
        assert_eq!(slug("  --Ünder_score!! "), "nder-score");
        assert_eq!(slug("🎉"), "my-sandbox");
        assert_eq!(slug("refs/heads/x"), "refs-heads-x");
        assert_eq!(slug("DEADBEEF"), "branch-deadbeef");
        assert_eq!(slug(&"long words ".repeat(20)).len(), 50);
    }

    #[test]
    fn reserved_names() {
        let taken = |name: &str| reserved(OsStr::new(name)).is_some();
        assert!(
            ["HEAD", "@", "refs/heads/x", "deadbeef", "1234567", ""].map(taken).iter().all(|t| *t)
        );
        assert!(["head", "fix", "beef", "1234567x", "x/refs/y"].map(taken).iter().all(|t| !t));
    }

    #[test]
    fn sure_names() {
        let sure = |name: &str| surely_valid(OsStr::new(name));
        assert!(["fix", "feat/ui-2", "a_b/C9"].map(sure).iter().all(|sure| *sure));
        assert!(
            ["", "a//b", "/a", "a/", "-a", "a/.b", "a.lock", "a..b", "ä"]
                .map(sure)
                .iter()
                .all(|s| !s)
        );
    }

    #[test]
    fn fuzz_names() {
        let long = "ü".repeat(100);
        let real = ["feat/ui", "exploration-x", "größe_1.2+x@y", "..", "-", "@", "HEAD", &long];
        let real: Vec<&[u8]> = real.iter().map(|name| name.as_bytes()).collect();
        fuzz::damaged(&real, |input| {
            let name = OsStr::from_bytes(input);
            let (branch, exploration) = (branch_folder(name), exploration_folder(name));
            for folder in [&branch, &exploration, &numbered(&branch, u32::MAX)] {
                let good = |letter: char| letter.is_alphanumeric() || "._+@,-".contains(letter);
                assert!(folder.chars().all(good), "{folder}");
                assert!(!folder.starts_with(['.', '-']) && !folder.is_empty(), "{folder}");
                assert!(folder.len() <= LONGEST, "{folder}");
                assert!(folder.contains(char::is_alphanumeric), "{folder}");
            }
            assert!(!branch.starts_with(EXPLORATION) && exploration.starts_with(EXPLORATION));
            let slug = slug(&name.to_string_lossy());
            assert!(surely_valid(OsStr::new(&slug)) && reserved(OsStr::new(&slug)).is_none());
        });
    }
}

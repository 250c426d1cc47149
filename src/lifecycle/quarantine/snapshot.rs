//! The refs of a quarantine: a snapshot of the repository's, in the form of `packed-refs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::git::Git;

/// A ref: the object that it names and, of a tag object, the one behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The object.
    pub id: String,
    /// What a tag object leads to.
    pub peeled: Option<String>,
}

/// Refs by their full names.
pub type Refs = BTreeMap<String, Named>;

/// Refs that are no part of a snapshot: our own, and those of single worktrees.
const LEFT_OUT: [&str; 4] = ["refs/sandbox/", "refs/bisect/", "refs/worktree/", "refs/rewritten/"];
const HEADER: &str = "# pack-refs with: peeled fully-peeled sorted \n";

/// The refs of a repository, and every commit that one of them leads to.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The refs.
    pub refs: Refs,
    /// The commits.
    pub commits: BTreeSet<String>,
}

/// Asks git for all refs. Git runs in the common dir. What tag objects lead to is a question of its own:
/// with it in the same format git takes three times as long for every ref.
pub fn of(git: &Git) -> Result<Snapshot> {
    let doing = "read the refs";
    let format = "--format=%(objectname) %(objecttype) %(refname)";
    let listed = git.look(["for-each-ref", format]).read(doing)?;
    let (mut snapshot, tags) = listed_refs(&listed);
    if !tags.is_empty() {
        let words = ["cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer"];
        let questions = tags.iter().fold(String::new(), |text, id| text + id + "^{}\n");
        let answer = git.look(words).ask_with(questions.into_bytes())?;
        let peeled = answer.ok().then(|| peeled(&tags, &answer.stdout)).flatten();
        let peeled =
            peeled.ok_or_else(|| Error::Git { doing: doing.to_owned(), why: answer.why() })?;
        snapshot.peel(&peeled);
    }
    Ok(snapshot)
}

impl Snapshot {
    /// Adds what tag objects lead to.
    fn peel(&mut self, peeled: &BTreeMap<String, Peeled>) {
        for named in self.refs.values_mut() {
            named.peeled = peeled.get(&named.id).map(|peeled| peeled.id.clone());
        }
        let commits = peeled.values().filter(|peeled| peeled.is_commit);
        self.commits.extend(commits.map(|peeled| peeled.id.clone()));
    }
}

/// What a tag object leads to.
struct Peeled {
    id: String,
    is_commit: bool,
}

/// The answers to `<id>^{}` for each tag object; `None` if git did not answer for each.
fn peeled(tags: &BTreeSet<String>, stdout: &[u8]) -> Option<BTreeMap<String, Peeled>> {
    let text = std::str::from_utf8(stdout).ok()?;
    let answers = text.lines().map(|line| {
        let (id, kind) = line.split_once(' ').filter(|(id, _)| is_id(id))?;
        Some(Peeled { id: id.to_owned(), is_commit: kind == "commit" })
    });
    let answers: Vec<Peeled> = answers.collect::<Option<_>>()?;
    (answers.len() == tags.len()).then(|| tags.iter().cloned().zip(answers).collect())
}

/// The refs that git listed, with the commits that they name, and the tag objects among what they name.
fn listed_refs(listed: &[u8]) -> (Snapshot, BTreeSet<String>) {
    let (mut snapshot, mut tags) = (Snapshot::default(), BTreeSet::new());
    for line in listed.split(|byte| *byte == b'\n') {
        // A name that is not text cannot be reached by our words either.
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let mut words = line.splitn(3, ' ');
        let (Some(id), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if LEFT_OUT.iter().any(|lead| name.starts_with(lead)) {
            continue;
        }
        match kind {
            "commit" if !snapshot.commits.contains(id) => {
                snapshot.commits.insert(id.to_owned());
            }
            "tag" => {
                tags.insert(id.to_owned());
            }
            _ => {}
        }
        snapshot.refs.insert(name.to_owned(), Named { id: id.to_owned(), peeled: None });
    }
    (snapshot, tags)
}

/// The text of a `packed-refs` file with these refs.
pub fn packed(refs: &Refs) -> String {
    let mut text = HEADER.to_owned();
    for (name, Named { id, peeled }) in refs {
        let _ = writeln!(text, "{id} {name}");
        if let Some(peeled) = peeled {
            let _ = writeln!(text, "^{peeled}");
        }
    }
    text
}

/// The refs in a `packed-refs` file. Lines that are not understood are passed over.
pub fn parse(text: &str) -> Refs {
    let mut refs = Refs::new();
    let mut last: Option<String> = None;
    for line in text.lines() {
        if let Some(peeled) = line.strip_prefix('^') {
            let named = last.as_ref().and_then(|name| refs.get_mut(name));
            if let Some(named) = named.filter(|_| is_id(peeled)) {
                named.peeled = Some(peeled.to_owned());
            }
            continue;
        }
        last = None;
        if let Some((id, name)) = line.split_once(' ')
            && is_id(id)
            && name.starts_with("refs/")
        {
            refs.insert(name.to_owned(), Named { id: id.to_owned(), peeled: None });
            last = Some(name.to_owned());
        }
    }
    refs
}

/// Whether a text is an object id.
pub fn is_id(text: &str) -> bool {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(hex) && text.bytes().any(|byte| byte != b'0')
}

/// The refs that a quarantine gets when the repository has gone on: `ours` is what the quarantine had,
/// `before` the snapshot that it was made from, `now` the repository's. What changed inside stays.
pub fn brought_up_to_date(ours: &Refs, before: &Refs, now: &Refs) -> Refs {
    let names: BTreeSet<&String> = ours.keys().chain(before.keys()).chain(now.keys()).collect();
    let choose = |name: &String| match ours.get(name) == before.get(name) {
        true => now.get(name),
        false => ours.get(name),
    };
    names.into_iter().filter_map(|name| Some((name.clone(), choose(name)?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    fn id(letter: &str) -> String {
        letter.repeat(40)
    }

    #[test]
    fn refs_go_through_a_file_and_come_back() {
        let [first, tag, blob, other, left_out, second] = ["a", "b", "c", "d", "e", "f"].map(id);
        let listed = format!(
            "{first} commit refs/heads/x\n{tag} tag refs/tags/v\n{blob} blob refs/tags/w\n{other} tag refs/tags/u\n\
             {first} commit refs/sandbox/kept/y\n{left_out} tag refs/worktree/z\n"
        );
        let (mut snapshot, tags) = listed_refs(listed.as_bytes());
        assert_eq!(tags, BTreeSet::from([tag.clone(), other.clone()]));
        assert_eq!(snapshot.commits, BTreeSet::from([first.clone()]));
        let answer = format!("{second} commit\n{blob} blob\n");
        snapshot.peel(&peeled(&tags, answer.as_bytes()).unwrap());
        assert_eq!(snapshot.commits, BTreeSet::from([first.clone(), second.clone()]));
        let text = packed(&snapshot.refs);
        let wanted = format!(
            "{HEADER}{first} refs/heads/x\n{other} refs/tags/u\n^{blob}\n{tag} refs/tags/v\n^{second}\n{blob} refs/tags/w\n"
        );
        assert_eq!(text, wanted);
        assert_eq!(parse(&text), snapshot.refs);
    }

    #[test]
    fn what_git_does_not_say_of_a_tag_object_is_an_error() {
        let tags = BTreeSet::from([id("a"), id("b")]);
        let one = format!("{} commit\n", id("c"));
        assert!(peeled(&tags, one.as_bytes()).is_none());
        let missing = format!("{one}{}^{{}} missing\n", id("b"));
        assert!(peeled(&tags, missing.as_bytes()).is_none());
        assert_eq!(peeled(&tags, one.repeat(2).as_bytes()).map(|found| found.len()), Some(2));
    }

    #[test]
    fn what_changed_inside_stays_and_the_rest_follows_the_repository() {
        let refs = |pairs: &[(&str, &str)]| -> Refs {
            let named = |letter: &str| Named { id: id(letter), peeled: None };
            pairs.iter().map(|(name, letter)| ((*name).to_owned(), named(letter))).collect()
        };
        let before = refs(&[("gone", "a"), ("moved", "a"), ("ours", "a"), ("deleted", "a")]);
        let ours = refs(&[("gone", "a"), ("moved", "a"), ("ours", "b"), ("made", "b")]);
        let now = refs(&[("moved", "c"), ("ours", "c"), ("new", "c"), ("deleted", "c")]);
        let wanted = refs(&[("moved", "c"), ("ours", "b"), ("made", "b"), ("new", "c")]);
        assert_eq!(brought_up_to_date(&ours, &before, &now), wanted);
    }

    #[test]
    fn fuzz_packed_refs() {
        let real = format!("{HEADER}{} refs/heads/x\n^{}\n{} refs/y\n", id("a"), id("b"), id("c"));
        fuzz::damaged_text(&[&real], |text| {
            let refs = parse(text);
            assert!(refs.iter().all(|(name, it)| name.starts_with("refs/") && is_id(&it.id)));
            assert_eq!(parse(&packed(&refs)), refs);
        });
    }
}

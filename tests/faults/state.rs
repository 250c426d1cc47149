//! Everything that stands in a home, as a text in which ids and what only this run could have are left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::Test;
use crate::fixture::files::tree;

/// What is not compared: objects, of which more may be left than are needed; the vault, whose items are compared by
/// being restored; indexes, which know the files by their inodes; locks; the fake git.
const LEFT_OUT: [&str; 7] = [
    "objects",
    ".vault.git",
    "index",
    "sandbox.lock",
    "sandbox.merge.lock",
    "sandbox-spares.lock",
    "fake",
];

/// Returns every file of the home with its bytes, every entry of every index, and the refs of the vault.
#[track_caller]
pub fn state(test: &Test) -> String {
    let files = kept_by_content(test, tree(&test.home, &LEFT_OUT));
    let mut lines: Vec<String> = files.lines().map(|line| without_ids(&told(line))).collect();
    for index in indexes(&test.home) {
        let name = index.strip_prefix(&test.home).unwrap().display().to_string();
        let mut command = test.command("git", &test.home);
        command.args(["ls-files", "--stage", "-v", "--resolve-undo"]).env("GIT_INDEX_FILE", &index);
        command.env("GIT_DIR", index.parent().unwrap()).env("GIT_WORK_TREE", &test.home);
        let output = command.output().unwrap();
        let entries =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let name = without_ids(&name);
        lines.extend(entries.lines().map(|entry| format!("{name}: {entry}")));
    }
    let vault = test.home.join(".cache/git-sandbox/worktrees/.vault.git");
    if vault.exists() {
        // It may be half-made.
        let words = ["--git-dir=.", "for-each-ref", "--format=%(refname)"];
        let output = test.command("git", &vault).args(words).output().unwrap();
        let refs = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.extend(refs.lines().map(|name| format!("vault {}", without_ids(name))));
    }
    lines.retain(|line| !line.is_empty());
    lines.sort();
    lines.join("\n") + "\n"
}

/// Returns what a user wrote, of a state: the content of each file outside of git dirs, each entry of an index without
/// the index's name, and where each branch is.
pub fn work(state: &str) -> BTreeSet<String> {
    let is_work = |name: &str| {
        !name.contains("/.git/") && name.contains('/') || name.contains("/refs/heads/")
    };
    let of_line = |line: &str| {
        if let Some((_, entry)) = line.split_once("index: ") {
            return Some(entry.to_owned());
        }
        let (name, content) = line.split_once(' ')?;
        let (_, content) = content.split_once(' ')?;
        let is_file = content.starts_with('"') && !content.starts_with("\"gitdir: ");
        let is_record = name.ends_with("/journal.json");
        (is_work(name) && is_file && !is_record).then(|| content.to_owned())
    };
    state.lines().filter_map(of_line).collect()
}

/// Returns the indexes below a folder.
fn indexes(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name();
            match entry.file_type().unwrap().is_dir() {
                true if LEFT_OUT.iter().any(|left_out| name == *left_out) => {}
                true => todo.push(entry.path()),
                false if name == "index" => found.push(entry.path()),
                false => {}
            }
        }
    }
    found
}

/// Replaces the ids of commits that refs lead to by their trees and parents: where git is not told a date, it takes that
/// of the machine.
#[track_caller]
fn kept_by_content(test: &Test, text: String) -> String {
    let format = "--format=%(objectname) %(tree) %(parent)";
    let kept = test.git(&["for-each-ref", format, "refs/sandbox", "refs/heads"]);
    let kept = kept.lines().filter_map(|line| line.split_once(' '));
    kept.fold(text, |text, (id, content)| text.replace(id, &format!("commit of {content}")))
}

/// What a second attempt adds to a reflog.
const OURS: [&str; 2] = ["\tgit sandbox: ", "\treset: moving to HEAD"];

/// Leaves out what is only told, and what git and we make and drop as needed. In a journal: what was seen of the
/// sandbox, and how its private git dir looked then; a fact that could not be read is told there. In a record: how
/// both sides of a quarantine looked. In a reflog: our own entries; a removal that was taken back has left two. The
/// main checkout's `ORIG_HEAD` is a convenience, which a merge that is completed later does not write.
fn told(line: &str) -> String {
    let (name, content) = line.split_once(' ').unwrap_or((line, ""));
    let (mode, text) = content.split_once(' ').unwrap_or((content, ""));
    let Ok(serde_json::Value::String(text)) = serde_json::from_str(text) else {
        let is_folder = text == "/"
            && ["/worktrees", "/refs/sandbox", "/refs/sandbox/kept", "/.trash"]
                .iter()
                .any(|end| name.ends_with(end));
        return if is_folder { String::new() } else { line.to_owned() };
    };
    let text = match name {
        "app/.git/ORIG_HEAD" => return String::new(),
        name if name.contains("/logs/") => {
            let is_told = |entry: &&str| OURS.iter().any(|ours| entry.contains(ours));
            let entries = text.lines().filter(|entry| !is_told(entry));
            entries.collect::<Vec<_>>().join(" | ")
        }
        name if name.ends_with("/journal.json") => {
            without(&text, &["holds", "refs", "fingerprint", "ignored", "why"])
        }
        name if name.ends_with("/sandbox.json") => without(&text, &["inside", "outside"]),
        _ => return line.to_owned(),
    };
    format!("{name} {mode} {text}")
}

/// Returns a text of JSON without these keys, at the top or one below.
fn without(text: &str, keys: &[&str]) -> String {
    let Ok(serde_json::Value::Object(mut top)) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    for key in keys {
        top.remove(*key);
        for inner in top.values_mut().filter_map(serde_json::Value::as_object_mut) {
            inner.remove(*key);
        }
    }
    serde_json::Value::Object(top).to_string()
}

/// Replaces words of 8 or 16 hexadecimal digits.
fn without_ids(text: &str) -> String {
    let mut plain = String::new();
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() {
            word.push(letter);
            continue;
        }
        let is_id = matches!(word.len(), 8 | 16)
            && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        plain += if is_id { "ID" } else { &word };
        plain.push(letter);
        word.clear();
    }
    plain.trim_end_matches('\n').to_owned()
}

//! `git sandbox diff`

use std::path::PathBuf;

use serde::Serialize;

use crate::cli::args::Args;
use crate::cli::spec::{COLOR, JSON, NAME_ONLY, STAT};
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::git::porcelain::{self, Changed};
use crate::sandbox::difference::{Difference, Fork};
use crate::sandbox::{Sandbox, State};
use crate::sys::signals;
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&STAT, &NAME_ONLY, &JSON])?;
    let here = Here::find(args, out)?;
    let sandbox = here.named(args)?;
    check(sandbox)?;
    // Ctrl-C ends the pager; the copy of the index is still to be deleted.
    signals::note();
    let fork = Fork::of(&here.repo, &here.worktrees.main, sandbox)?;
    let difference = Difference::of(&here.repo, sandbox, &fork)?;
    if fork.base.is_none() {
        out.note("no base is known: only what is not committed is shown");
    }
    for path in &difference.nested {
        out.warn(&format!("'{}' is a repository of its own: not shown", path.display()));
    }
    if args.has(&JSON) {
        out.answer_json(&answer(sandbox, fork, &difference)?)?;
        return Ok(0);
    }
    let mut options = Vec::new();
    let colour = args.word(&COLOR).map(|when| format!("--color={when}"));
    options.extend(colour.as_deref());
    options.extend(args.has(&STAT).then_some("--stat"));
    options.extend(args.has(&NAME_ONLY).then_some("--name-only"));
    match difference.call(&options).hand_over()? {
        Some(code) => Ok(u8::try_from(code).unwrap_or(1)),
        // The pager was left.
        None => Err(Error::ClosedPipe),
    }
}

fn check(sandbox: &Sandbox) -> Result<()> {
    let name = sandbox.name();
    match &sandbox.state {
        State::Ready => Ok(()),
        State::Creating => Err(Error::Unfinished { name }),
        State::Missing => Err(Error::Gone { name }),
        State::Orphan => {
            Err(Error::Damaged { name, why: "its repository cannot be reached".into() })
        }
        State::Damaged(why) => Err(Error::Damaged { name, why: why.to_string() }),
    }
}

#[derive(Serialize)]
struct Answer {
    name: String,
    path: String,
    base: Option<String>,
    merge_base: String,
    insertions: u64,
    deletions: u64,
    files: Vec<ChangedFile>,
}

#[derive(Serialize)]
struct ChangedFile {
    path: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    /// Null for a binary file.
    insertions: Option<u64>,
    deletions: Option<u64>,
}

fn answer(sandbox: &Sandbox, fork: Fork, difference: &Difference) -> Result<Answer> {
    let words = ["--raw", "--numstat", "-z", "--no-ext-diff", "--no-textconv"];
    let bytes = difference.call(&words).read("find what it changed")?;
    let changes = porcelain::changed_lines(&bytes).ok_or_else(|| Error::Git {
        doing: "find what it changed".into(),
        why: "its answer was not understood".into(),
    })?;
    let sum = |part: fn((u64, u64)) -> u64| {
        changes.iter().filter_map(|changed| changed.lines).map(part).sum()
    };
    Ok(Answer {
        name: sandbox.name(),
        path: sandbox.path.to_string_lossy().into_owned(),
        base: fork.base,
        merge_base: fork.commit,
        insertions: sum(|(added, _)| added),
        deletions: sum(|(_, deleted)| deleted),
        files: changes.iter().map(file).collect(),
    })
}

fn file(changed: &Changed) -> ChangedFile {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    ChangedFile {
        path: text(&changed.path),
        status: match changed.letter {
            b'A' => "added",
            b'C' => "copied",
            b'D' => "deleted",
            b'R' => "renamed",
            b'T' => "type-changed",
            _ => "modified",
        },
        old_path: changed.old_path.as_ref().map(text),
        insertions: changed.lines.map(|(added, _)| added),
        deletions: changed.lines.map(|(_, deleted)| deleted),
    }
}

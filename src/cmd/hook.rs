//! `git sandbox hook claude`
//!
//! Claude Code asks for its worktrees through two hooks. It takes the last line of stdout as the path
//! of the one it gets, and any exit status but 0 as a failure. When it ends it tells of the worktree,
//! from whatever folder, often while it sits in it: that is no reason to keep it, work in it is.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cli::args::Args;
use crate::cmd::context::{Here, lock_repo, removed};
use crate::error::{Doing, Error, Result};
use crate::lifecycle::create::{Action, Maker, Wish};
use crate::lifecycle::remove::{self, Outcome, Remover};
use crate::repo::root::Root;
use crate::repo::{Repo, name};
use crate::sandbox::in_use::Processes;
use crate::sandbox::journal::Why;
use crate::sys::{clock, path, signals};
use crate::ui::out::Out;

/// More than any event holds.
const LARGEST: u64 = 16 << 20;

/// What Claude Code sends.
#[derive(Debug, Deserialize)]
struct Event {
    hook_event_name: String,
    cwd: Option<PathBuf>,
    name: Option<String>,
    worktree_path: Option<PathBuf>,
}

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    if args.operands.iter().any(|agent| agent != "claude") {
        return Err(args.wrong("<agent> is claude: no other one is known"));
    }
    let mut text = Vec::new();
    let read = std::io::stdin().take(LARGEST).read_to_end(&mut text);
    read.doing(|| "read the event on stdin".into())?;
    let bad = |why: String| Error::BadEvent { why };
    let event: Event = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
    match (event.hook_event_name.as_str(), event.name, event.worktree_path) {
        ("WorktreeCreate", Some(name), _) => create(out, event.cwd.as_deref(), &name),
        ("WorktreeRemove", _, Some(path)) => remove(args, out, &path),
        ("WorktreeCreate", None, _) => Err(bad("it has no 'name'".into())),
        ("WorktreeRemove", _, None) => Err(bad("it has no 'worktree_path'".into())),
        (other, ..) => Err(bad(format!("'{other}' is none that is served"))),
    }
}

/// Creates the sandbox of that name, or resumes it.
fn create(out: &mut Out, cwd: Option<&Path>, name: &str) -> Result<u8> {
    if let Some(cwd) = cwd {
        std::env::set_current_dir(cwd).at("go to", cwd)?;
    }
    signals::note();
    let (repo, lock) = lock_repo(*out)?;
    let root = Root::wanted(None, &repo.config, &repo.git)?;
    let maker = Maker { repo: &repo, root, out: *out, now: clock::now()?, author: None };
    let branch = OsString::from(name);
    let folder = name::branch_folder(&branch);
    let wish = Wish {
        branch: Some(branch),
        folder,
        from: None,
        task: None,
        confine: None,
        author: None,
        dir: None,
        remote: None,
        with_changes: false,
        pull: None,
    };
    let outcome = maker.ensure(&wish, Some(lock))?;
    for trouble in &outcome.troubles {
        out.warn(&format!("{trouble}; the sandbox stays"));
    }
    let done = if outcome.action == Action::Resumed { "resumed" } else { "created" };
    out.note(&format!("{done} sandbox '{}'", outcome.path.to_string_lossy()));
    out.answer_path(&outcome.path)?;
    Ok(0)
}

/// Removes a sandbox unless there is work in it; whatever comes of it, the agent can end.
fn remove(args: &Args, out: &mut Out, folder: &Path) -> Result<u8> {
    // A worktree that is gone needs nothing more.
    let Ok(folder) = folder.canonicalize() else { return Ok(0) };
    let Ok(found) = Repo::at(&folder) else { return Ok(keep_alone(&folder, *out)) };
    // Not from inside of it: what is removed must not be where we are, nor where git runs.
    std::env::set_current_dir(&found.common).at("go to", &found.common)?;
    let repo = Repo::at(&found.common)?;
    let (here, lock) = Here::locked(repo, args, out)?;
    let sandbox = here.sandboxes.iter().find(|it| path::is_same(&it.path, &folder));
    let Some(sandbox) = sandbox.filter(|sandbox| sandbox.managed) else {
        return Ok(keep_alone(&folder, *out));
    };
    let (trash, processes) = (here.trash(&lock), Processes::lazily());
    let remover = Remover {
        trash: &trash,
        worktrees: &here.worktrees,
        lock: Some(&lock),
        processes: &processes,
    };
    let why = Why::ByAgent;
    let wish = remove::Wish { force: 0, why, delete_branch: false, merged_into: None };
    match remover.remove(sandbox, &wish)? {
        Outcome::Refused(refusal) => {
            out.note(&format!("kept sandbox '{}': {refusal}", sandbox.name()));
        }
        gone => removed::say_gone(sandbox, &gone, *out),
    }
    Ok(0)
}

/// Another folder is none of ours.
fn keep_alone(folder: &Path, out: Out) -> u8 {
    out.note(&format!("kept '{}': it is no sandbox", folder.display()));
    0
}

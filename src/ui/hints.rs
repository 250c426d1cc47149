//! The next step after each error, where there is one: mostly a command that can be pasted.

use crate::error::Error;
use crate::ui::words::shell_word;

/// Returns the next steps after an error, one line each.
pub fn after(error: &Error) -> Vec<String> {
    match error {
        Error::UnknownCommand { synonym: Some(ours), .. } => vec![format!("git sandbox {ours}")],
        Error::Usage { nearest: Some(word), .. }
        | Error::UnknownCommand { nearest: Some(word), .. }
        | Error::UnknownSandbox { nearest: Some(word), .. }
        | Error::UnknownTrash { nearest: Some(word), .. } => {
            vec![format!("did you mean '{word}'?")]
        }
        Error::UnknownCommand { .. } => vec!["'git sandbox -h' lists the commands".into()],
        Error::UnreadableRepository { remedy, .. } => remedy.clone(),
        Error::NotARepository => {
            let all = |what| format!("of every repository: git sandbox {what} --all");
            ["list", "restore"].map(all).into()
        }
        Error::NoGit => vec!["install git 2.36 or later and put it on PATH".into()],
        Error::OldGit { .. } => vec!["install git 2.36 or later".into()],
        Error::NoCommits => {
            vec!["make one first: git commit --allow-empty -m 'Initial commit'".into()]
        }
        Error::TypedAfter { words, error } => match &**error {
            Error::BadName { slug, .. } => vec![format!("{words} {slug}")],
            Error::BranchInTheWay { branch, .. } => vec![format!("{words} {}", beside(branch))],
            other => after(other),
        },
        Error::BadName { name, slug, is_commit: true, .. } => {
            vec![format!("git sandbox new {slug} --from {}", shell_word(name))]
        }
        Error::BadName { name, slug, .. } if name.contains(char::is_whitespace) => {
            vec![format!("git sandbox new {slug} {}", shell_word(name))]
        }
        Error::BadName { slug, .. } => vec![format!("git sandbox new {slug}")],
        Error::CheckedOutInMain { branch, slug } => {
            vec![format!("git sandbox new {} --from {}", shell_word(slug), shell_word(branch))]
        }
        Error::FromExisting { branch, .. } => {
            let word = shell_word(branch);
            vec![format!("to use it as it is: git sandbox new {word}")]
        }
        Error::BranchInTheWay { branch, .. } => vec![format!("git sandbox new {}", beside(branch))],
        Error::NoneIdle { task } => {
            vec![format!("to make another: git sandbox new <name> {}", shell_word(task))]
        }
        Error::NoStart { .. } => vec!["name a branch, a tag or a commit".into()],
        Error::Root { hint: Some(hint), .. }
        | Error::NotMerged { hint: Some(hint), .. }
        | Error::NotRenamed { hint: Some(hint), .. } => vec![hint.clone()],
        Error::RestoreTaken { name, .. } | Error::RestoreClaimed { name, .. } => {
            let other = shell_word(&format!("{name}-2"));
            vec![format!("git sandbox restore {} --as {other}", shell_word(name))]
        }
        Error::Refused { name, first, force, .. } => {
            let name = shell_word(name);
            let forced = force.map(|force| {
                format!("to move it to the trash as it is: git sandbox rm {force} {name}")
            });
            first.iter().cloned().chain(forced).collect()
        }
        Error::InTrash { id, .. } => vec![format!("git sandbox restore {}", shell_word(id))],
        Error::NotRemoved { path, .. } => {
            vec![format!("cd {}", shell_word(&path.to_string_lossy()))]
        }
        Error::UnknownTrash { all, .. } => vec![what_lists_the_removed(*all)],
        Error::UnknownMainWorktree { .. } => vec!["run this in the main worktree".into()],
        Error::NotThere { path, .. } => vec![
            "mount the disk it is on, or, if it is gone for good:".into(),
            format!("git worktree remove --force --force {}", shell_word(&path.to_string_lossy())),
        ],
        Error::OddFile { path } => vec![format!("rm {}", shell_word(&path.to_string_lossy()))],
        Error::Damaged { .. } => vec!["git worktree repair".into()],
        Error::Unfinished { name } | Error::Gone { name } => {
            vec![format!("git sandbox new {}", shell_word(name))]
        }
        Error::Moved { .. } => vec!["git sandbox doctor --fix".into()],
        Error::NotForgotten { path, .. } => vec![
            "if you can do without them:".into(),
            format!("git worktree remove --force --force {}", shell_word(&path.to_string_lossy())),
        ],
        Error::UnknownSandbox { .. } => {
            vec!["'git sandbox list' shows what there is".into()]
        }
        Error::Ambiguous { candidates, .. } => candidates.clone(),
        Error::NotConfined { hints, .. } => hints.clone(),
        Error::NotTaken { name, .. } => vec![afresh(name)],
        Error::NoBase { .. } => vec!["name one with '--into <branch>'".into()],
        Error::NotInASandbox => vec!["name one that 'git sandbox list' shows".into()],
        Error::NoRemote { .. } => vec!["'git remote -v' shows what there is".into()],
        Error::NoTmux => {
            vec!["install tmux, or use 'git sandbox run --background'".into()]
        }
        Error::NotInstalledByUs { path } => {
            let path = shell_word(&path.to_string_lossy());
            vec![format!("to keep it aside: mv {path} {path}.orig")]
        }
        Error::Config { key, .. } if key.contains('.') => {
            vec![format!("git config --show-origin --get-all {key}")]
        }
        _ => Vec::new(),
    }
}

/// Names the command that lists removed sandboxes, of this repository or of every one.
fn what_lists_the_removed(all: bool) -> String {
    let all = if all { " --all" } else { "" };
    format!("'git sandbox restore{all}' lists what can be brought back")
}

/// A name like that of a branch which no other one is in the way of.
fn beside(branch: &str) -> String {
    let flat = branch.replace('/', "-");
    shell_word(&if flat == branch { format!("{flat}-2") } else { flat })
}

/// How to go on without what cannot be taken over.
fn afresh(name: &str) -> String {
    let word = shell_word(name);
    format!("to start afresh, with all of it in the trash: git sandbox rm --force {word}")
}

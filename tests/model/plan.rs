//! What a run is made of: steps, deeds of the user, commands of ours, faults.

use crate::script::{How, Script};

/// How a user makes or destroys work in a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Untracked,
    StagedThenOverwritten,
    Unstaged,
    /// An edit of equal size, with the time put back.
    EditUnseen,
    /// An untracked file beside a tracked one, whose name differs in case only.
    CaseTwin,
    Commit,
    /// Detaches HEAD first.
    CommitDetached,
    Amend,
    ResetAway,
    /// Below this, leading to that.
    PrivateRef(&'static str, RefTo),
    Stash,
    StoppedRebase,
    Conflict,
    Bisect,
    Ignored,
    Precious,
    AssumeUnchanged,
    SkipWorktree,
    NestedRepository,
    IgnoredRepository,
    SubmoduleCommit,
    Chmod,
    Rename,
    Symlink,
    Lock,
    /// Their own untracked file.
    DeleteFile,
    /// The whole sandbox, by hand.
    DeleteFolder,
}

/// What a private ref leads to, and nothing else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefTo {
    Commit,
    Blob,
    Tag,
}

/// How a user works in the main checkout.
#[derive(Clone, Copy, Debug)]
pub enum MainDeed {
    Untracked,
    Staged,
    Commit,
    /// A file where a merge of this sandbox would put one; git may be told to ignore it.
    InTheWay(&'static str),
}

/// What a user does in the main checkout while a command of ours runs.
#[derive(Clone, Copy, Debug)]
pub enum Beside {
    Commit,
    /// Merges a branch that conflicts, and begins to resolve it.
    Merge,
    /// Switches to a new branch.
    Switch,
}

/// What the hooks of a repository do to a merge of ours.
#[derive(Clone, Copy, Debug)]
pub enum Hooks {
    None,
    Refuse,
    Stage,
    StageAndRefuse,
    /// Let the commit be made, but not the branch be moved.
    RefuseRef,
}

/// A command of ours; `&str`s are names of sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    New(&'static str),
    NewTask(&'static str),
    NewFrom(&'static str),
    NewWithChanges(&'static str),
    NewDetached(&'static str),
    NewAndReapDaily(&'static str),
    NewAndRun(&'static str),
    List,
    ListAll,
    Show(&'static str),
    Run(&'static str),
    /// Runs a script of the user's.
    Script(&'static str, How, Script),
    Stop(&'static str),
    StopAndRm(&'static str),
    StopAndRmForced(&'static str),
    /// To the second name.
    Rename(&'static str, &'static str),
    Rm(&'static str),
    RmForced(&'static str),
    RmTwiceForced(&'static str),
    RmWithBranch(&'static str),
    Restore(&'static str),
    RestoreAs(&'static str),
    /// What can be brought back, of all repositories.
    RestoreList,
    Reap,
    ReapForced,
    ReapAll,
    ReapMerged,
    Purge,
    PurgeNamed(&'static str),
    Doctor,
    DoctorFix,
    Merge(&'static str),
    MergeSquashed(&'static str),
    MergeRebased(&'static str),
    MergeKept(&'static str),
}

/// What git heeds of files, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    IgnoreStat,
    NoCtime,
    MinimalStat,
    IgnoreCase,
    Autocrlf,
    /// A rule to ignore what is in `new/`.
    Exclude,
    /// None of these any more.
    Usual,
}

/// How a user works in a folder that is in the trash.
#[derive(Clone, Copy, Debug)]
pub enum TrashDeed {
    EditUnseen,
    Untracked,
    Commit,
}

/// Who writes into a folder while it is put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A process with its current folder there.
    Inside,
    /// The same, by a path that only its own mount namespace has.
    Namespace,
    /// One that only comes by.
    Outside,
}

/// What goes wrong while a command of ours runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The whole process group is killed after so many milliseconds.
    Kill(u64),
    /// Our process is killed at its n-th step.
    Crash(u64),
    /// The same, and what was not synced is lost.
    PowerLoss(u64),
    /// The n-th git misbehaves.
    Git(u64, GitFault),
    /// The disk has room for so many pages only.
    Full(u64),
    ReadOnly,
}

/// How a git misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitFault {
    FailsBefore,
    FailsAfter,
    DiesBefore,
    DiesAfter,
    /// Until it and the whole group are killed.
    Hangs,
    /// Everything is killed just before it.
    AllDieBefore,
    AllDieAfter,
}

/// What other programs do to a repository at any time.
#[derive(Clone, Copy, Debug)]
pub enum Foreign {
    Gc,
    Prune,
    /// Destroys what only reflogs of live sandboxes hold.
    ExpireReflogs,
}

/// Who uses a sandbox.
#[derive(Clone, Copy, Debug)]
pub enum Sitter {
    /// A command that `run` started.
    Ours,
    /// A process with its current folder there.
    Foreign,
}

#[derive(Clone, Debug)]
pub enum Step {
    User(usize, &'static str, Deed),
    Main(usize, MainDeed),
    Ours(usize, Call, Fault),
    AtOnce(Vec<(usize, Call, Fault)>),
    /// Days go by.
    Clock(i64),
    Foreign(usize, Foreign),
    InUse(usize, &'static str, Sitter, Call),
    /// A command of ours and, so many milliseconds later, the user in the main checkout.
    Beside(usize, Call, Beside, u64),
    Hooks(usize, Hooks),
    /// A repository goes out of reach.
    Away(usize),
    Setting(usize, Setting),
    InTrash(usize, TrashDeed),
    /// Somebody writes into a folder in the trash, so many milliseconds after a command of ours began.
    Written(usize, Writer, Call, u64),
    /// It is in its place again.
    Back(usize),
    /// Commands of ours while the user edits a checkout whose files may be copied: that of a sandbox or
    /// the main one.
    Edited(usize, Option<&'static str>, Vec<Call>),
}

/// A file system of its own that can be full or read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    None,
    /// Under the root.
    Root,
    /// Under repositories and root.
    Home,
}

#[derive(Debug)]
pub struct Plan {
    pub disk: Disk,
    /// One repository, or two of the same name.
    pub repositories: usize,
    pub steps: Vec<Step>,
}

impl Call {
    /// What is typed after `git sandbox`.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Call::New(name) | Call::NewAndReapDaily(name) => vec!["new", name],
            Call::NewTask(name) => vec!["new", name, "Some", "task"],
            Call::NewFrom(name) => vec!["new", name, "--from", "side"],
            Call::NewWithChanges(name) => vec!["new", name, "--with-changes"],
            Call::NewDetached(name) => vec!["new", "--detach", &name["exploration-".len()..]],
            Call::NewAndRun(name) => vec!["new", name, "--", "true"],
            Call::List => vec!["list"],
            Call::ListAll => vec!["list", "--all"],
            Call::Show(name) => vec!["show", folder(name)],
            Call::Run(name) => vec!["run", folder(name), "--", "true"],
            Call::Script(name, how, script) => {
                [how.words(), &[folder(name), "--", "sh", "-c", script.text]].concat()
            }
            Call::Stop(name) => vec!["stop", "--timeout=1", folder(name)],
            Call::StopAndRm(name) => vec!["stop", "--timeout=1", "--rm", folder(name)],
            Call::StopAndRmForced(name) => {
                vec!["stop", "--timeout=1", "--rm", "--force", folder(name)]
            }
            Call::Rename(name, new) => vec!["rename", folder(name), new],
            Call::Rm(name) => vec!["rm", folder(name)],
            Call::RmForced(name) => vec!["rm", "--force", folder(name)],
            Call::RmTwiceForced(name) => vec!["rm", "--force", "--force", folder(name)],
            Call::RmWithBranch(name) => vec!["rm", "--delete-branch", folder(name)],
            Call::Restore(name) => vec!["restore", folder(name)],
            Call::RestoreAs(name) => vec!["restore", folder(name), "--as", "back"],
            Call::RestoreList => vec!["restore", "--all"],
            Call::Reap => vec!["reap"],
            Call::ReapForced => vec!["reap", "--force"],
            Call::ReapAll => vec!["reap", "--all"],
            Call::ReapMerged => vec!["reap", "--merged"],
            Call::Purge => vec!["reap", "--purge"],
            Call::PurgeNamed(name) => vec!["reap", "--purge", folder(name)],
            Call::Doctor => vec!["doctor"],
            Call::DoctorFix => vec!["doctor", "--fix"],
            Call::Merge(name) => vec!["merge", folder(name)],
            Call::MergeSquashed(name) => vec!["merge", "--squash", folder(name)],
            Call::MergeRebased(name) => vec!["merge", "--rebase", folder(name)],
            Call::MergeKept(name) => vec!["merge", "--keep", folder(name)],
        }
    }

    /// Whether it merges into the main branch.
    pub fn merges(self) -> bool {
        matches!(
            self,
            Call::Merge(_) | Call::MergeSquashed(_) | Call::MergeRebased(_) | Call::MergeKept(_)
        )
    }

    /// Whether it may take a sandbox that has work in it, and has this name.
    pub fn may_take(self, sandbox: &str) -> bool {
        match self {
            Call::RmForced(name) | Call::RmTwiceForced(name) | Call::StopAndRmForced(name) => {
                is_called(sandbox, name)
            }
            Call::ReapForced => true,
            _ => false,
        }
    }

    /// Whether it may go on in the background.
    pub fn goes_on(self) -> bool {
        matches!(
            self,
            Call::NewAndReapDaily(_)
                | Call::Reap
                | Call::ReapForced
                | Call::ReapAll
                | Call::ReapMerged
                | Call::Purge
                | Call::PurgeNamed(_)
        )
    }

    /// The branch that it may make.
    pub fn makes(self) -> Option<String> {
        match self {
            Call::New(name)
            | Call::NewTask(name)
            | Call::NewFrom(name)
            | Call::NewWithChanges(name)
            | Call::NewAndReapDaily(name)
            | Call::NewAndRun(name)
            | Call::Rename(_, name) => Some(format!("refs/heads/{name}")),
            _ => None,
        }
    }
}

impl Step {
    /// The repository that somebody works in, and cannot while it is out of reach.
    pub fn works_in(&self) -> Option<usize> {
        match self {
            Step::User(repo, ..)
            | Step::Main(repo, _)
            | Step::Foreign(repo, _)
            | Step::InUse(repo, ..)
            | Step::Beside(repo, ..)
            | Step::Setting(repo, _)
            | Step::InTrash(repo, _)
            | Step::Written(repo, ..)
            | Step::Edited(repo, ..)
            | Step::Hooks(repo, _) => Some(*repo),
            Step::Ours(..) | Step::AtOnce(_) | Step::Clock(_) | Step::Away(_) | Step::Back(_) => {
                None
            }
        }
    }
}

impl Fault {
    /// Whether gits are killed along with us.
    pub fn kills_all(self) -> bool {
        let deadly = [GitFault::Hangs, GitFault::AllDieBefore, GitFault::AllDieAfter];
        match self {
            Fault::Kill(_) => true,
            Fault::Git(_, how) => deadly.contains(&how),
            _ => false,
        }
    }
}

/// The folder of a sandbox.
pub fn folder(name: &'static str) -> &'static str {
    match name {
        "feat/ui" => "feat-ui",
        "feat/new" => "feat-new",
        other => other,
    }
}

/// Whether a folder stands for this name, is the second to do so, or was restored under another.
pub fn is_called(sandbox: &str, name: &'static str) -> bool {
    let rest = sandbox.strip_prefix(folder(name));
    sandbox == "back" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

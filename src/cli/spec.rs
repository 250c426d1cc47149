//! The table: every command, option and operand, with its help text and what completes it.
//!
//! Data only. The parser, `-h` and `--help` follow it; so will the man page and the completions.
//! Rows are statics asked for by reference (`args.has(&JSON)`), so a misspelt option does not
//! compile and a shared option is worded once.

/// What a value names, and so what completes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sandbox of this repository.
    Sandbox,
    /// A removed sandbox.
    Removed,
    /// A local or remote branch, or a new name.
    Branch,
    /// Anything git resolves to a commit.
    Commit,
    /// A folder.
    Folder,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number from 1 to this one.
    Count(u32),
    /// Free text.
    Text,
}

/// The value an option takes.
#[derive(Debug)]
pub struct Value {
    /// Shown in angle brackets.
    pub name: &'static str,
    /// What it names.
    pub kind: Kind,
    /// What the option alone means, where its value may be left out. Such a value follows `=` only.
    pub left_out: Option<&'static str>,
}

/// An option.
#[derive(Debug)]
pub struct Opt {
    /// Without the two dashes.
    pub long: &'static str,
    /// The one-letter form.
    pub short: Option<char>,
    /// What follows it; `None` for a switch.
    pub value: Option<Value>,
    /// One line, lower case, no full stop.
    pub help: &'static str,
}

/// How often an operand may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    One,
    /// Once or not at all.
    Optional,
    /// At least once.
    Some,
    /// Any number of times.
    Many,
}

/// A word without dashes.
#[derive(Debug)]
pub struct Operand {
    /// Shown in angle brackets.
    pub name: &'static str,
    /// What it names.
    pub kind: Kind,
    /// How often.
    pub times: Times,
}

/// What the words after `--` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterDashes {
    /// Operands, whatever they start with.
    Operands,
    /// A command to be run.
    Command,
    /// A command to be run, which may also follow the operands without `--`.
    CommandAnywhere,
}

/// Which command: every row of the table has one, and the dispatch in `cmd/` must know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Diff,
    Doctor,
    Hook,
    List,
    Merge,
    New,
    Path,
    Reap,
    Rename,
    Restore,
    Rm,
    Run,
    Setup,
    Show,
    Stop,
    Wait,
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Which one it is.
    pub verb: Verb,
    /// What is typed after `git sandbox`.
    pub name: &'static str,
    /// One line, lower case, no full stop.
    pub about: &'static str,
    /// Further lines for `--help`.
    pub details: &'static str,
    /// In their order.
    pub operands: &'static [Operand],
    /// What `--` announces.
    pub after_dashes: AfterDashes,
    /// Its own options; [`COMMON`] ones come on top.
    pub options: &'static [&'static Opt],
}

/// The most days that an option takes: a hundred years.
const DAYS: u32 = 36_500;
/// The most seconds that an option takes: more than eleven days.
const SECONDS: u32 = 1_000_000;

const fn switch(long: &'static str, help: &'static str) -> Opt {
    Opt { long, short: None, value: None, help }
}

const fn valued(long: &'static str, name: &'static str, kind: Kind, help: &'static str) -> Opt {
    Opt { long, short: None, value: Some(Value { name, kind, left_out: None }), help }
}

const fn maybe_valued(
    long: &'static str,
    name: &'static str,
    kind: Kind,
    left_out: &'static str,
    help: &'static str,
) -> Opt {
    let value = Some(Value { name, kind, left_out: Some(left_out) });
    Opt { long, short: None, value, help }
}

/// `-h`
pub static SHORT_HELP: Opt =
    Opt { long: "", short: Some('h'), value: None, help: "show the usage" };
/// `--help`
pub static HELP: Opt = switch("help", "show the options with their meaning");
/// `--version`, which only the program itself takes
pub static VERSION: Opt =
    Opt { long: "version", short: Some('V'), value: None, help: "show the version" };
/// `--color`
pub static COLOR: Opt = valued(
    "color",
    "when",
    Kind::OneOf(&["auto", "always", "never"]),
    "colour the output: auto, always or never",
);
/// `--json`
pub static JSON: Opt = switch("json", "print the answer as JSON");
/// `--name`
pub static NAME: Opt = valued(
    "name",
    "branch",
    Kind::Branch,
    "use this branch; every operand is then part of the task",
);
/// `--branch`
pub static BRANCH: Opt =
    valued("branch", "branch", Kind::Branch, "use this branch in the folder that <name> gives");
/// `--from`
pub static FROM: Opt = valued("from", "commit", Kind::Commit, "start there instead of at HEAD");
/// `--detach`
pub static DETACH: Opt = switch("detach", "make no branch: a detached HEAD in exploration-<name>");
/// `--dir`
pub static DIR: Opt =
    valued("dir", "parent", Kind::Folder, "put it into this folder; it will never be reaped");
/// `--root`
pub static ROOT: Opt = valued(
    "root",
    "folder",
    Kind::Folder,
    "keep sandboxes below this folder instead of sandbox.root",
);
/// `--pr`
pub static PR: Opt = valued(
    "pr",
    "request",
    Kind::Text,
    "use this pull or merge request: a number, <remote>/<number> or an address",
);
/// `--with-changes`
pub static WITH_CHANGES: Opt =
    switch("with-changes", "copy the uncommitted changes of the current worktree into it");
/// `--count`
pub static COUNT: Opt =
    valued("count", "n", Kind::Count(1000), "make a pool: <name>-1 to <name>-<n>");
/// `--all`
pub static ALL: Opt = switch("all", "those of every repository below the root");
/// `--wide`
pub static WIDE: Opt = switch("wide", "also show size, upstream and path");
/// `--sort`
pub static SORT: Opt = valued(
    "sort",
    "by",
    Kind::OneOf(&["name", "age", "agent", "work"]),
    "sort by name, age, agent or work",
);
/// `--watch`
pub static WATCH: Opt = switch("watch", "show the list again every 2 s, until Ctrl-C");
/// `-z`
pub static NUL: Opt =
    Opt { long: "", short: Some('z'), value: None, help: "print paths only, each ended by a NUL" };
/// `--names`
pub static NAMES: Opt = switch("names", "print names only");
/// `--describe`
pub static DESCRIBE: Opt =
    switch("describe", "with --names: add a tab and a few words, as completion shows them");

/// `--stat`
pub static STAT: Opt = switch("stat", "show how many lines changed in each file");
/// `--name-only`
pub static NAME_ONLY: Opt = switch("name-only", "show the names of the changed files only");

/// `--force`
pub static FORCE: Opt = Opt {
    long: "force",
    short: Some('f'),
    value: None,
    help: "remove what has work in it; twice: also what is locked or in use",
};
/// `--force` of `reap`
pub static FORCE_STALE: Opt = Opt {
    long: "force",
    short: Some('f'),
    value: None,
    help: "also retire stale ones with work in them",
};
/// `--dry-run`
pub static DRY_RUN: Opt = Opt {
    long: "dry-run",
    short: Some('n'),
    value: None,
    help: "say what would be done and change nothing",
};
/// `--delete-branch`
pub static DELETE_BRANCH: Opt =
    switch("delete-branch", "also delete its branch, if its base or upstream has every commit");
/// `--as`
pub static AS: Opt = valued("as", "name", Kind::Text, "bring it back under another folder name");

/// `--into`
pub static INTO: Opt = valued(
    "into",
    "branch",
    Kind::Branch,
    "merge into this branch instead of the one it started from",
);
/// `--ff-only`
pub static FF_ONLY: Opt = switch("ff-only", "only if the other branch has no commits of its own");
/// `--squash`
pub static SQUASH: Opt = switch("squash", "bring all its changes in as one commit");
/// `--rebase`
pub static REBASE: Opt = switch("rebase", "replay its commits on top of the other branch");
/// `-m`
pub static MESSAGE: Opt = Opt {
    long: "message",
    short: Some('m'),
    value: Some(Value { name: "text", kind: Kind::Text, left_out: None }),
    help: "the message of the merge commit or of the squashed one",
};
/// `--branch` of `merge`
pub static AS_BRANCH: Opt =
    valued("branch", "branch", Kind::Branch, "give a detached sandbox this branch first");
/// `--keep`
pub static KEEP: Opt = switch("keep", "keep the sandbox after the merge");

/// `--merged`
pub static MERGED: Opt = switch("merged", "also retire clean ones whose branch is in its base");
/// `--older-than`
pub static OLDER_THAN: Opt =
    valued("older-than", "days", Kind::Count(DAYS), "retire what was unused for so many days");
/// `--purge`
pub static PURGE: Opt =
    switch("purge", "put away now what is in the trash; with names: delete those for good");

/// `--fix`
pub static FIX: Opt = switch("fix", "repair what can be repaired without losing anything");

/// `--no-run`
pub static NO_RUN: Opt = switch("no-run", "only create it, even with sandbox.agent set");
/// `--author`
pub static AUTHOR: Opt =
    valued("author", "author", Kind::Text, "author and committer there, as 'Name <email>'");
/// `--background`
pub static BACKGROUND: Opt = switch("background", "run it in the background, with a log");
/// `--tmux`
pub static TMUX: Opt = switch("tmux", "run it in a window of the tmux session sandbox-<project>");
/// `--confine`
pub static CONFINE: Opt = maybe_valued(
    "confine",
    "level",
    Kind::OneOf(&["full", "landlock"]),
    "full",
    "let it change nothing but its sandbox (landlock: weaker)",
);
/// `--no-confine`
pub static NO_CONFINE: Opt =
    switch("no-confine", "do not confine it, whatever config and the sandbox's record say");
/// `--network`
pub static NETWORK: Opt = valued(
    "network",
    "reach",
    Kind::OneOf(&["on", "off", "hosts"]),
    "what a confined command reaches of the network",
);
/// `--container`
pub static CONTAINER: Opt =
    valued("container", "image", Kind::Text, "run it confined in a container of this image");
/// `--confine` of `doctor`
pub static CAN_CONFINE: Opt =
    switch("confine", "say whether this machine can confine commands, and what it lacks");
/// `--restart`
pub static RESTART: Opt = maybe_valued(
    "restart",
    "n",
    Kind::Count(1000),
    "5",
    "start it again when it fails, until n quick failures in a row (5)",
);
/// `--next`
pub static NEXT: Opt =
    valued("next", "task", Kind::Text, "give this task to the next idle sandbox, and run it there");
/// `--all` of `run`
pub static ALL_IDLE: Opt = switch("all", "in every sandbox that has a task and is idle");
/// `--release`
pub static RELEASE: Opt = switch("release", "clear the task: the sandbox is free for another");
/// `--all` of `wait`
pub static ALL_AT_WORK: Opt = switch("all", "for every sandbox of this repository");
/// `--timeout` of `wait`
pub static WAIT_AT_MOST: Opt = valued(
    "timeout",
    "seconds",
    Kind::Count(SECONDS),
    "fail when something still runs after so long",
);
/// `--log`
pub static LOG: Opt = switch("log", "print the log of its last background command");
/// `--follow`
pub static FOLLOW: Opt = switch("follow", "print the log and go on until nothing runs in it");
/// `--mounts`
pub static MOUNTS: Opt = switch("mounts", "print what a container must mount, as '-v' options");
/// `--rm`
pub static RM_TOO: Opt = switch("rm", "also remove it, if that is safe");
/// `--timeout`
pub static TIMEOUT: Opt = valued(
    "timeout",
    "seconds",
    Kind::Count(SECONDS),
    "kill what has not ended after so long, instead of 10 s",
);
/// `--all` of `stop`
pub static ALL_HERE: Opt = switch("all", "in every sandbox of this repository");

/// `--print`
pub static PRINT: Opt = valued(
    "print",
    "what",
    Kind::OneOf(&[
        "man",
        "bash",
        "zsh",
        "fish",
        "fish-conf",
        "function-bash",
        "function-zsh",
        "function-fish",
    ]),
    "print one of the files, for packagers",
);
/// `--agent`
pub static AGENT: Opt = valued(
    "agent",
    "agent",
    Kind::OneOf(&["claude"]),
    "have this agent make its worktrees with git sandbox",
);
/// `--timer`
pub static TIMER: Opt = switch("timer", "clean up once a day: git sandbox reap --all");
/// `--function`
pub static FUNCTION: Opt =
    valued("function", "name", Kind::Text, "call the shell function so, instead of 'sb'");
/// `--uninstall`
pub static UNINSTALL: Opt = switch("uninstall", "remove what setup installed");

/// Options that every command takes.
pub static COMMON: &[&Opt] = &[&COLOR, &SHORT_HELP, &HELP];

const ONE_OR_CURRENT: Operand =
    Operand { name: "name", kind: Kind::Sandbox, times: Times::Optional };

/// `git sandbox new`
pub static NEW: Command = Command {
    verb: Verb::New,
    name: "new",
    about: "create or resume a sandbox and print its path",
    details: "\
<name> is a branch: one that exists here, one that exactly one remote has, or a new one
that starts at HEAD. If that branch is in a sandbox already, this resumes it. The words
after it are the task, kept with the sandbox. Without <name> the sandbox is an
exploration: a detached HEAD with no branch.

With --pr the branch is 'pr-<number>', fetched from the remote; the same command later
brings it up to date, if nothing local is in the way.

After '--' comes a command that is run in it; in its words {task}, {name}, {branch}, {path}
and {beacon} are filled in. With sandbox.agent set, a task starts that agent, if stdout is
a terminal. With --background either goes on by itself, with --count in every sandbox of
the pool.",
    operands: &[
        Operand { name: "name", kind: Kind::Branch, times: Times::Optional },
        Operand { name: "task", kind: Kind::Text, times: Times::Many },
    ],
    after_dashes: AfterDashes::Command,
    options: &[
        &NAME,
        &BRANCH,
        &FROM,
        &DETACH,
        &COUNT,
        &PR,
        &WITH_CHANGES,
        &DIR,
        &ROOT,
        &AUTHOR,
        &NO_RUN,
        &BACKGROUND,
        &RESTART,
        &CONFINE,
        &NO_CONFINE,
        &NETWORK,
        &JSON,
    ],
};

/// `git sandbox list`
pub static LIST: Command = Command {
    verb: Verb::List,
    name: "list",
    about: "list the sandboxes: who works in them, what they hold, age and task",
    details: "\
Every linked worktree of the repository is listed. Those outside the root, made by
--dir, by plain git or by another tool, are 'external' and come last.

NAME is the branch or, without one, the folder; '*' marks the sandbox you are in, '!' one
that needs you, a tick one that is merged. WORK: commits ahead of the base, lines added
and deleted since, '*' with the number of files that are not committed. BASE: how many
commits the base is ahead. EXPIRES is shown in the last 7 days.

'hidden' counts edits of files that git was told not to look at, 'unpushed' commits that
no remote has, and 'nested' says that a repository inside holds work of its own. AGENT:
the command that runs and for how long, or how the last one ended.",
    operands: &[],
    after_dashes: AfterDashes::Operands,
    options: &[&ALL, &WIDE, &SORT, &WATCH, &NAMES, &DESCRIBE, &NUL, &ROOT, &JSON],
};

/// `git sandbox show`
pub static SHOW: Command = Command {
    verb: Verb::Show,
    name: "show",
    about: "show everything known about one sandbox",
    details: "Inside a sandbox, <name> defaults to it.",
    operands: &[ONE_OR_CURRENT],
    after_dashes: AfterDashes::Operands,
    options: &[&LOG, &FOLLOW, &MOUNTS, &ROOT, &JSON],
};

/// `git sandbox path`
pub static PATH: Command = Command {
    verb: Verb::Path,
    name: "path",
    about: "print the path of a sandbox",
    details: "\
Inside a sandbox, <name> defaults to it. '^' is the main worktree.",
    operands: &[ONE_OR_CURRENT],
    after_dashes: AfterDashes::Operands,
    options: &[],
};

/// `git sandbox diff`
pub static DIFF: Command = Command {
    verb: Verb::Diff,
    name: "diff",
    about: "show what a sandbox changed since it left its base",
    details: "\
Committed, staged, unstaged and untracked changes are shown as one diff from the commit
where the sandbox left its base to its files, by your git: with its pager, its colours and
its diff settings. Nothing in the sandbox is touched, its index included. Inside a sandbox,
<name> defaults to it.",
    operands: &[ONE_OR_CURRENT],
    after_dashes: AfterDashes::Operands,
    options: &[&STAT, &NAME_ONLY, &JSON],
};

/// `git sandbox rename`
pub static RENAME: Command = Command {
    verb: Verb::Rename,
    name: "rename",
    about: "rename a sandbox: its branch and its folder together",
    details: "\
The branch keeps its commits, its reflog and its upstream, and the sandbox its task. If
the folder is taken, the new one gets '-2', as with 'new'. Without a branch only the
folder is renamed. A sandbox that is in use or locked, or that you are in, is refused.",
    operands: &[
        Operand { name: "name", kind: Kind::Sandbox, times: Times::One },
        Operand { name: "new", kind: Kind::Text, times: Times::One },
    ],
    after_dashes: AfterDashes::Operands,
    options: &[&ROOT],
};

/// `git sandbox rm`
pub static RM: Command = Command {
    verb: Verb::Rm,
    name: "rm",
    about: "move sandboxes to the trash, unless there is work in them",
    details: "\
Nothing is deleted: the folder is renamed into the trash, from where 'git sandbox
restore' brings it back as it was. The branch stays. A sandbox with uncommitted
changes, hidden edits, an operation in progress or unsaved work in a nested repository
is refused without --force; one that is locked or in use without --force twice.",
    operands: &[Operand { name: "name", kind: Kind::Sandbox, times: Times::Some }],
    after_dashes: AfterDashes::Operands,
    options: &[&FORCE, &DRY_RUN, &DELETE_BRANCH, &ROOT, &JSON],
};

/// `git sandbox restore`
pub static RESTORE: Command = Command {
    verb: Verb::Restore,
    name: "restore",
    about: "bring a removed sandbox back as it was, or list those that can be",
    details: "\
<name> is the name, the branch or the id that the list shows; of several with one name
it is the newest. Without it, what can be brought back is listed.",
    operands: &[Operand { name: "name", kind: Kind::Removed, times: Times::Optional }],
    after_dashes: AfterDashes::Operands,
    options: &[&AS, &ALL, &NAMES, &DESCRIBE, &ROOT, &JSON],
};

/// `git sandbox reap`
pub static REAP: Command = Command {
    verb: Verb::Reap,
    name: "reap",
    about: "retire stale sandboxes and put away what was in the trash for its period",
    details: "\
A sandbox below the root that was not used for its period and has no work in it is moved
to the trash. What has been in the trash for sandbox.trashExpiryDays is put away in the
vault, from where 'restore' brings it back too. Worktrees outside the root, locked ones
and ones in use are never taken. Only 'reap --purge <name>' deletes, for good, what is
named; it says what will be gone and, on a terminal, asks. With --all, --purge takes ids
only, but for orphans.",
    operands: &[Operand { name: "name", kind: Kind::Removed, times: Times::Many }],
    after_dashes: AfterDashes::Operands,
    options: &[&DRY_RUN, &MERGED, &OLDER_THAN, &FORCE_STALE, &PURGE, &ALL, &ROOT, &JSON],
};

/// `git sandbox merge`
pub static MERGE: Command = Command {
    verb: Verb::Merge,
    name: "merge",
    about: "merge its branch back and, once that is confirmed, remove it",
    details: "\
The branch goes into the one that the sandbox started from or, if none is known, into the
default branch. The merge is made in a scratch worktree, with the hooks and settings of
'git merge', and reaches your checkout only as a fast-forward; uncommitted work stays as it
is. A conflict or a failing hook changes nothing. Afterwards the sandbox is moved to the
trash; its branch stays, unless --delete-branch is given. Inside a sandbox, <name>
defaults to it.",
    operands: &[ONE_OR_CURRENT],
    after_dashes: AfterDashes::Operands,
    options: &[
        &INTO,
        &FF_ONLY,
        &SQUASH,
        &REBASE,
        &MESSAGE,
        &AS_BRANCH,
        &KEEP,
        &DELETE_BRANCH,
        &DRY_RUN,
        &ROOT,
        &JSON,
    ],
};

/// `git sandbox doctor`
pub static DOCTOR: Command = Command {
    verb: Verb::Doctor,
    name: "doctor",
    about: "find what crashes, moves and other tools left behind, and repair it",
    details: "\
Looks for sandboxes that were half made, entries without a folder and folders without an
entry, moved repositories and sandboxes, interrupted removals, leftovers in the trash and
a root that is open to others. Exits with 1 while something is left. --confine looks at
the machine instead: whether it can confine commands, and what to do if it cannot.",
    operands: &[],
    after_dashes: AfterDashes::Operands,
    options: &[&FIX, &CAN_CONFINE, &ROOT, &JSON],
};

/// `git sandbox run`
pub static RUN: Command = Command {
    verb: Verb::Run,
    name: "run",
    about: "run a command in a sandbox, marking it in use",
    details: "\
Without a command it is sandbox.agent, with the task as its argument, or else your shell.
An agent that worked there before is started as sandbox.agentResume says and gets the
beacon, a few lines on how things stand. In the words of a command {task}, {name},
{branch}, {path} and {beacon} are filled in. Its exit code is the command's own; TERM and
HUP are passed on to it. Inside a sandbox, 'run -- <cmd>' means that one.",
    operands: &[ONE_OR_CURRENT],
    after_dashes: AfterDashes::CommandAnywhere,
    options: &[
        &BACKGROUND,
        &RESTART,
        &TMUX,
        &ALL_IDLE,
        &NEXT,
        &AUTHOR,
        &CONFINE,
        &NO_CONFINE,
        &NETWORK,
        &CONTAINER,
    ],
};

/// `git sandbox stop`
pub static STOP: Command = Command {
    verb: Verb::Stop,
    name: "stop",
    about: "end what runs in a sandbox; the sandbox stays",
    details: "\
What 'run' or 'new' started there, and what that started, gets TERM, and KILL if it has
not ended in time. A tmux window that stays although its command has ended is closed.
Processes there that were started otherwise are named, with the command that ends them.
With --rm the sandbox is then moved to the trash, unless there is work in it; --all --rm
keeps worktrees outside the root. Inside a sandbox, <name> defaults to it.",
    operands: &[Operand { name: "name", kind: Kind::Sandbox, times: Times::Many }],
    after_dashes: AfterDashes::Operands,
    options: &[&RM_TOO, &FORCE, &RELEASE, &TIMEOUT, &ALL_HERE, &ROOT],
};

/// `git sandbox wait`
pub static WAIT: Command = Command {
    verb: Verb::Wait,
    name: "wait",
    about: "wait until what runs in a sandbox has ended",
    details: "\
Prints how the last command of each ended, and exits with 0 if all of them succeeded. One
that will be started again has not ended. Inside a sandbox, <name> defaults to it.",
    operands: &[Operand { name: "name", kind: Kind::Sandbox, times: Times::Many }],
    after_dashes: AfterDashes::Operands,
    options: &[&ALL_AT_WORK, &WAIT_AT_MOST, &ROOT],
};

/// `git sandbox hook`
pub static HOOK: Command = Command {
    verb: Verb::Hook,
    name: "hook",
    about: "serve an agent that makes worktrees of its own",
    details: "\
Agents call this, as 'git sandbox setup --agent' has them do. It reads an event on stdin:
a wish for a worktree becomes a sandbox, whose path is printed; the end of one removes it,
unless there is work in it.",
    operands: &[Operand { name: "agent", kind: Kind::OneOf(&["claude"]), times: Times::One }],
    after_dashes: AfterDashes::Operands,
    options: &[],
};

/// `git sandbox setup`
pub static SETUP: Command = Command {
    verb: Verb::Setup,
    name: "setup",
    about: "install man page, completions and the 'sb' function for the current user",
    details: "\
Puts them where your shells and man look, and says what you have to add yourself, if
anything. It can be run again at any time. With --agent or --timer only that is set up.

'sb' is a function for bash, zsh and fish: 'sb <name>' goes to a sandbox, 'sb -c <name>
[<task>...]' makes it or resumes it and goes there, 'sb' alone lets you pick one, 'sb ^'
goes to the main worktree and 'sb -' back. With more words it is 'git sandbox'; a sandbox
that 'sb rm', 'sb merge' or 'sb stop' takes away is left first ('.' is the current one).
A failure never moves you.",
    operands: &[],
    after_dashes: AfterDashes::Operands,
    options: &[&AGENT, &TIMER, &UNINSTALL, &FUNCTION, &PRINT],
};

/// Every command, in the order of the help.
pub static COMMANDS: &[&Command] = &[
    &NEW, &LIST, &SHOW, &PATH, &DIFF, &RENAME, &RUN, &STOP, &WAIT, &MERGE, &RM, &RESTORE, &REAP,
    &DOCTOR, &SETUP, &HOOK,
];

/// Words that people type by habit, and what they mean here.
pub static SYNONYMS: &[(&str, &str)] = &[
    ("add", "new"),
    ("cd", "path"),
    ("checkout", "new"),
    ("clean", "reap"),
    ("create", "new"),
    ("delete", "rm"),
    ("exec", "run"),
    ("gc", "reap"),
    ("help", "-h"),
    ("info", "show"),
    ("kill", "stop"),
    ("ls", "list"),
    ("move", "rename"),
    ("mv", "rename"),
    ("open", "run"),
    ("prune", "reap"),
    ("remove", "rm"),
    ("start", "run"),
    ("status", "list"),
    ("switch", "new"),
    ("undo", "restore"),
    ("version", "--version"),
];

impl Command {
    /// The command called `name`.
    pub fn named(name: &str) -> Option<&'static Command> {
        COMMANDS.iter().copied().find(|command| command.name == name)
    }

    /// Its own options and the common ones.
    pub fn all_options(&self) -> impl Iterator<Item = &'static Opt> {
        self.options.iter().chain(COMMON).copied()
    }
}

impl Times {
    /// Whether it may not be left out.
    pub fn is_required(self) -> bool {
        matches!(self, Times::One | Times::Some)
    }

    /// Whether it may stand more than once.
    pub fn repeats(self) -> bool {
        matches!(self, Times::Some | Times::Many)
    }
}

impl Value {
    /// `=<name>`, or `[=<name>]` where it may be left out.
    pub fn after_option(&self) -> String {
        match self.left_out {
            None => format!("=<{}>", self.name),
            Some(_) => format!("[=<{}>]", self.name),
        }
    }
}

impl Opt {
    /// Every form in which it can be typed, the short one first.
    pub fn forms(&self) -> Vec<String> {
        let short = self.short.map(|short| format!("-{short}"));
        let long = (!self.long.is_empty()).then(|| format!("--{}", self.long));
        short.into_iter().chain(long).collect()
    }

    /// As it is typed, in its longest form.
    pub fn typed(&self) -> String {
        match self.short {
            Some(short) if self.long.is_empty() => format!("-{short}"),
            _ => format!("--{}", self.long),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn commands_are_unique() {
        let names: BTreeSet<_> = COMMANDS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
    }

    #[test]
    fn options_of_a_command_are_unique_and_can_be_typed() {
        for command in COMMANDS {
            let mut seen = BTreeSet::new();
            for option in command.all_options() {
                assert!(seen.insert(option.typed()), "{} {}", command.name, option.typed());
                assert!(!option.long.is_empty() || option.short.is_some());
            }
        }
    }

    #[test]
    fn help_texts_are_lower_case_without_a_full_stop() {
        let options = COMMANDS.iter().flat_map(|c| c.all_options()).map(|o| o.help);
        for text in COMMANDS.iter().map(|c| c.about).chain(options) {
            assert!(!text.ends_with('.') && !text.is_empty(), "{text}");
            assert!(!text.starts_with(char::is_uppercase), "{text}");
            assert!(text.len() <= 76, "{text}");
        }
    }

    #[test]
    fn synonyms_are_no_commands_and_mean_one() {
        for (word, ours) in SYNONYMS {
            assert!(Command::named(word).is_none(), "{word}");
            // One that is still to come is left out of the answers.
            let known = Command::named(ours).is_some() || ours.starts_with('-');
            assert!(known || *ours == "rename", "{ours}");
        }
    }

    #[test]
    fn only_the_last_operand_may_repeat() {
        for command in COMMANDS {
            let body = command.operands.split_last().map_or(&[][..], |(_, body)| body);
            assert!(body.iter().all(|operand| !operand.times.repeats()), "{}", command.name);
        }
    }
}

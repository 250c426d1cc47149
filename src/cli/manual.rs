//! The prose of the man page, in the plain text that `man.rs` turns into roff.
//!
//! What the table says is not said here again. Every key and variable that the program reads is.

/// After the name of the program.
pub const NAME: &str = "isolated checkouts for people and coding agents";

/// Sections before the commands.
pub const BEFORE: &[(&str, &str)] = &[("DESCRIPTION", DESCRIPTION)];

/// Sections after the options.
pub const AFTER: &[(&str, &str)] = &[
    ("WHERE SANDBOXES LIVE", PLACES),
    ("WHAT CANNOT BE LOST", SAFETY),
    ("MERGING", MERGING),
    ("RETENTION", RETENTION),
    ("CONFIGURATION", CONFIGURATION),
    ("ENVIRONMENT", ENVIRONMENT),
    ("FILES", FILES),
    ("EXIT STATUS", EXIT_STATUS),
    ("EXAMPLES", EXAMPLES),
    ("SEE ALSO", SEE_ALSO),
];

const DESCRIPTION: &str = "
A sandbox is a linked worktree (see `git-worktree`(1)) in a place of its own, made for one piece of
work by a person or a coding agent. `git sandbox new <name>` creates it; the same command days
later resumes it. It shows up in `git sandbox list`, and when it is stale and nothing in it can be
lost, it goes away by itself.

Removal is a rename into a trash, from where `git sandbox restore` brings a sandbox back as it was.
There is no registry: git and the file system are the only truth, and everything can be undone with
plain git.

The answer of a command (a path, a table, JSON) goes to standard output, everything else to
standard error, so that `cd \"$(git sandbox new fix-auth)\"` works.";

/// Ahead of the list of commands.
pub const COMMANDS: &str = "
Without a command, `git sandbox` is `git sandbox list`. A sandbox is named by its folder, as `list`
shows it, or by its branch. A word that is the folder of one and the branch of another is refused;
the full name `refs/heads/<branch>` and the path of the folder are never ambiguous.";

/// Ahead of the options that every command takes.
pub const OPTIONS: &str = "Every command takes:";

const PLACES: &str = "
A sandbox is the folder `<root>/<project>/<folder>`.

`<root>`::
The option --root, else `GIT_SANDBOX_ROOT`, else `sandbox.root`, else
`$XDG_CACHE_HOME/git-sandbox/worktrees`, else `~/.cache/git-sandbox/worktrees`. A relative one is
relative to the main worktree. In one that contains `{project}` that is filled in, and no project
folder is added. It is made for the current user alone; one that belongs to somebody else, that
others may write to or that lies inside a worktree of the repository is refused.

`<project>`::
The name of the main worktree's folder or, of a bare repository, its own without `.git`. A second
repository of the same name gets a suffix: two never share a folder.

`<folder>`::
The name with `/`, and with characters that are trouble in a shell, turned into `-`. The branch
keeps the name as it was typed. If the folder is taken, it gets `-2`, `-3` and so on. A sandbox
without a branch is called `exploration-<id>`, or `exploration-<name>` with --detach.

Every linked worktree of the repository is listed and can be used by name. Those that are not in the
root in force, made with --dir, with another root, by plain git or by another tool, are `external`
and are never retired.

A fresh checkout lacks what git ignores. If the main worktree has a file `.worktreeinclude`, in the
syntax of `gitignore`(5), the ignored files that it names are copied from there into every new
sandbox. The commands of `sandbox.setup` are run after that.";

const SAFETY: &str = "
Before a sandbox goes, one function looks at what is in it, and what cannot be read counts as work.

Refused without --force::
uncommitted changes (staged, unstaged, untracked or conflicted), edits hidden by assume-unchanged or
skip-worktree, a rebase, merge, cherry-pick, revert, bisect or am in progress, unsaved work in a
submodule or in a nested repository.

Refused without --force twice::
a process that works in it or was started in it by `git sandbox`, a lock by `git worktree lock`.

Always refused::
the sandbox you are in, one that contains another worktree or a mount point, one whose folder and
entry in the repository do not name each other.

What is removed is renamed to `<root>/.trash/<id>/tree`, whatever its size, with its index, untracked
and ignored files and whatever operation was in progress. Its branch is never deleted, unless
--delete-branch asks for it and its base or upstream has every commit, or its base has all its
changes by a squash or rebase; then its commits are kept as well. Commits that only the sandbox
held, by a detached HEAD or in its reflog, are kept by the ref `refs/sandbox/kept/<id>`, where no
garbage collection takes them.

`git sandbox restore` lists what is in the trash, and `git sandbox restore <name>` brings it back: the
same folder, branch, index, files and operation. If its branch was moved or is checked out elsewhere
in the meantime, HEAD stays detached at the commit where it was.

Without this program: a removed sandbox is still registered with git, as a locked worktree with a
detached HEAD, and so `git worktree list` shows where it is. To bring it back, and to look at
commits that were kept:

    $ git worktree list
    $ mv <root>/.trash/<id>/tree <folder>
    $ git worktree repair <folder>
    $ git worktree unlock <folder>
    $ git -C <folder> switch <branch>
    $ git log refs/sandbox/kept/<id>

The only thing that deletes is `git sandbox reap`, and only from the trash: what was there longer than
`sandbox.trashExpiryDays` and has nothing to lose. That is: none of the work above and no precious
file (see `sandbox.precious`). The rest stays until it is named: `git sandbox reap --purge <id>`. A
kept ref is never deleted; `git update-ref -d refs/sandbox/kept/<id>` does that.";

const MERGING: &str = "
`git sandbox merge` brings the branch of a sandbox into the one that it started from, into the one
that --into names or, where none is recorded, into the default branch: the one that `origin/HEAD`
stands for, else `init.defaultBranch`, `main`, `master` or the branch of the main worktree. By
default it does what `git merge` does: a fast-forward where that is possible and `merge.ff` allows it,
else a merge commit.

Where the other branch is checked out, in the main worktree or in a sandbox, `git merge` runs there, by
its own rules about local changes; but ignored files, which git would overwrite, stop it, and so does
a merge in progress there. Where it is checked out nowhere, no checkout is touched; a
temporary worktree in the root is used for --rebase, for hooks, merge options and signatures, and
with git before 2.38. What --squash and --rebase make lands as a fast-forward. Hooks run as they do
for `git merge`; those of a commit run for --squash, those of a rebase for --rebase.

It is refused while the sandbox has uncommitted changes, hidden edits or an operation in progress, or
is in use by anybody but those that called. A conflict, a hook that fails and a branch that somebody
else moved meanwhile leave both branches and all checkouts as they were.

Only when it is confirmed that the other branch has every commit or, after --squash, that merging the
branch would change nothing, the sandbox is moved to the trash by the rules above. With --rebase its
branch is at the new commits then, and the old ones are kept.

A sandbox counts as merged when the branch it started from, or what that follows, has its commit,
when merging it would change nothing, or when there are commits with the same patches, its own one by
one or all of them as one.";

const RETENTION: &str = "
`git sandbox reap` retires a sandbox of the root that was not used for its period and that the rules
above let go. It prints a line for each one that it retires and for each stale one that it keeps,
with the reason; --dry-run prints the same and changes nothing.

A sandbox is used by `new`, `run` and `restore`, by whatever its HEAD reflog records, such as a commit
or a checkout, and by a change of a file that git reports as changed or untracked. Looking at it does
not count.

A sandbox without a branch, in a folder `exploration-*`::
30 days, or `sandbox.headlessExpiryDays`.

Any other::
90 days, or `sandbox.branchExpiryDays`.

One whose repository cannot be reached::
as any other, or `sandbox.orphanExpiryDays`, from its newest file on. Nobody can tell what is in it:
it is then moved to the trash, and deleted from there after `sandbox.trashExpiryDays`. Only `git
sandbox reap --all` does this.

In the trash, with nothing to lose::
14 days, or `sandbox.trashExpiryDays`.

`git sandbox new` starts `git sandbox reap --all` quietly in the background, at most once a day; the
next command says in a line what was done. `sandbox.autoReap` or `GIT_SANDBOX_AUTO_REAP` turns it off.
A run ends with `git worktree prune`, with the expiry that `git gc` uses.";

const CONFIGURATION: &str = "
These are read from git's config (see `git-config`(1)), also as `git -c <key>=<value> sandbox`. A
period is a whole number of days, or `never`; with anything else nothing is retired.

`sandbox.root`::
Where sandboxes live. `../{project}-worktrees` puts them beside the repository.

`sandbox.agent`::
The command that `git sandbox new <name> <task>` and `git sandbox run <name>` start when none is
typed. It is run by the shell, as git runs an editor, with the task as one argument; a value that
mentions `GIT_SANDBOX_TASK` gets none.

`sandbox.setup`::
A shell command that is run in every new sandbox. It can be given more than once. If one fails, the
sandbox stays and the exit status is 1.

`sandbox.author`::
Author and committer of what `run` and `new` start in a sandbox, as `Name <email>`.

`sandbox.precious`::
Patterns, in the syntax of `gitignore`(5), of ignored files that must not be deleted from the trash.
It can be given more than once. The default is `.env*`, `*.local`, `*.sqlite*`, `*.pem` and `*.key`.
What lies inside an ignored folder and unchanged copies of files of the main worktree do not count.

`sandbox.headlessExpiryDays`::
How long an unused sandbox without a branch is kept. Default: 30.

`sandbox.branchExpiryDays`::
How long any other unused sandbox is kept. Default: 90.

`sandbox.orphanExpiryDays`::
How long one is kept whose repository cannot be reached. Default: as `sandbox.branchExpiryDays`.

`sandbox.trashExpiryDays`::
How long the trash keeps what has nothing to lose. Default: 14.

`sandbox.spares`::
How many clean checkouts are kept ready for `new`, so that it need only rename one and write the files
that differ. They are prepared and brought up to HEAD in the background after a `new`. Nothing of yours
is ever in one; `list` does not show them, `doctor` does, and `git worktree list` shows them as locked
worktrees `.spare-<id>`. When none is ready, `new` does not wait for one. Default: 0.

`sandbox.autoReap`::
Whether `new` starts the daily `reap`. Default: true.

`color.sandbox`::
Whether to colour: `always`, `never` or `auto`. Default: as `color.ui`.

Of git's own keys it also heeds `checkout.defaultRemote`, `checkout.guess`, `checkout.workers`,
`core.hooksPath` and `gc.worktreePruneExpire`.";

const ENVIRONMENT: &str = "
`GIT_SANDBOX_ROOT`::
Where sandboxes live; it comes before `sandbox.root`.

`GIT_SANDBOX_HEADLESS_EXPIRY_DAYS`, `GIT_SANDBOX_BRANCH_EXPIRY_DAYS`, `GIT_SANDBOX_ORPHAN_EXPIRY_DAYS`::
Periods; each comes before the key of the config.

`GIT_SANDBOX_AUTO_REAP`::
`0` turns the daily `reap` off; it comes before `sandbox.autoReap`.

`NO_COLOR`::
If it is not empty and neither --color nor the config says otherwise, there is no colour.

`XDG_CACHE_HOME`::
Below it is the default root.

`SHELL`::
What `git sandbox run` starts when there is no command and no agent.

`XDG_DATA_HOME`, `XDG_CONFIG_HOME`, `BASH_COMPLETION_USER_DIR`, `FPATH`, `ZDOTDIR`, `MANPATH`::
Where `git sandbox setup` installs and what it says has to be added.

A command that is run in a sandbox finds there `GIT_SANDBOX_NAME`, `GIT_SANDBOX_PATH`,
`GIT_SANDBOX_BRANCH`, `GIT_SANDBOX_BASE_REPO` (the main worktree) and `GIT_SANDBOX_TASK`, and no
variable that would tie git to another repository.";

const FILES: &str = "
`<root>/<project>/<folder>`::
A sandbox.

`<root>/<project>/.spare-<id>`::
A checkout that is kept ready (see `sandbox.spares`).

`<root>/.trash/<id>/`::
A removed sandbox: its folder, as `tree`, and `journal.json`. If the sandbox was on another file system
than the root, this is beside it, in `.git-sandbox-trash`.

`<root>/.reaped`::
When the last daily `reap` was and, until somebody was told, what it did.

`$GIT_COMMON_DIR/sandbox.lock`::
The lock of the repository. It stays; only a lock on it counts.

`$GIT_COMMON_DIR/sandbox-spares.lock`::
The lock of the job that looks after the spares.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.json`::
Task, base and time of creation of a sandbox.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.lock`::
Held by whatever `run` and `new` start in the sandbox.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.log`::
What was run in its background; `git sandbox show --log` prints it.

`.worktreeinclude`::
In the main worktree: which ignored files every new sandbox gets a copy of.";

const EXIT_STATUS: &str = "
`0`::
Done, or there was nothing to do.

`1`::
Refused or failed; of several sandboxes, at least one. `doctor`: something is left to repair.

`129`::
Wrong usage; also -h.

The command's own::
of `run` and of `new` with a command: its exit status, 128 and the number of the signal that ended
it, 127 if there is no such program, 126 if it cannot be executed.";

const EXAMPLES: &str = "
A new feature, in a folder and on a branch of its own::
The branch starts at HEAD, and the folder is called `feat-ui-v2`.

    $ cd \"$(git sandbox new feat/ui-v2)\"

Repair a branch that exists::
One that exactly one remote has is enough: the new branch then follows it.

    $ git sandbox new fix/bug-123
    $ git sandbox run fix/bug-123

A task for an agent::
The words after the name are the task. With `sandbox.agent` set, that agent gets it.

    $ git sandbox new fix-auth \"Refactor login\" -- claude {task}
    $ git config --global sandbox.agent claude
    $ git sandbox new fix-auth \"Refactor login\"

Come back to it::
Any number of terminals may share it.

    $ git sandbox run fix-auth

Many agents at once::
Each has its own sandbox, a log, and can be stopped; the sandboxes stay.

    $ git sandbox new --count 3 worker
    $ git sandbox run --background worker-1 -- make test
    $ git sandbox show --follow worker-1
    $ git sandbox stop --all

A folder and a branch of different names::
`--name` makes every word part of the task instead.

    $ git sandbox new worker1 --branch my-feature
    $ git sandbox new --name feat/ui Fix buttons

Look around without a branch, and keep what came of it::
A sandbox without a branch can be promoted at any time.

    $ cd \"$(git sandbox new)\"
    $ git switch -c my-idea

Bring it home::
Once the merge is confirmed, the sandbox goes to the trash.

    $ git sandbox merge fix-auth --dry-run
    $ git sandbox merge fix-auth --squash -m \"Refactor login\"

Clean up, and undo it::
With --dry-run first, to see what would be done.

    $ git sandbox reap --dry-run
    $ git sandbox reap --merged
    $ git sandbox rm fix-auth
    $ git sandbox restore fix-auth";

const SEE_ALSO: &str = "`git-worktree`(1), `git-switch`(1), `git-config`(1), `gitignore`(5)";

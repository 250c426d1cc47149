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
    ("RUNS", RUNS),
    ("CONFINEMENT", CONFINEMENT),
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

Removing a sandbox moves it to a trash; `git sandbox restore` brings it back as it was. What has been
in the trash for two weeks is put away in a vault, byte for byte, and comes back from there too.
There is no registry: git and the file system are the only truth, and everything can be undone with
plain git.

The answer of a command (a path, a table, JSON) goes to standard output, everything else to
standard error, so that `dir=$(git sandbox new fix-auth) && cd \"$dir\"` works. Colour and letters beyond
ASCII are printed only where the terminal (`TERM`) and the locale (`LC_ALL`, `LC_CTYPE`, `LANG`) have them.";

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
folder is added. One that ends in `{folder}` names the folder of each sandbox: with
`../{project}.{folder}` sandboxes stand beside the repository, so that paths such as `../common` lead
to the same place. There only what was made by this program is retired, and the trash is in
`.git-sandbox` beside them. The root is made for the current user alone; one that belongs to another user, that
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

In a large repository `new` copies the files that another checkout of it has already, with their times:
the main worktree's or another sandbox's. A file is copied only if its bytes hash to the id that the new
commit has there and neither config nor attributes convert it; git writes all others, and the result is
that of `git worktree add`. Files have the modes that the umask leaves, and the first `git status` is fast.

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
a process that works in it or was started in it by `git sandbox`, a lock by `git worktree lock`. Those
that called the command and the rest of its pipeline do not count, unless `git sandbox` started them there.

Always refused::
the sandbox you are in, one that contains another worktree or a mount point, one whose folder and
entry in the repository do not name each other.

Removal is two renames and deletes nothing. The folder becomes `<root>/.trash/<id>/tree`, with its
untracked and ignored files; its private git dir, with its index and any operation in progress,
becomes `$GIT_COMMON_DIR/sandbox/<id>`. It is no worktree of git's any more, so `git worktree list` does
not show it and `git worktree prune` and `git gc` do not reach it; but it still works as a checkout, so
a process that was left in it goes on with its own index and HEAD. Its branch is never deleted, unless
--delete-branch asks for it and its base or upstream has every commit, or its base has all its
changes by a squash or rebase. Every commit and every staged blob that HEAD, its reflog, a private ref
or an operation in progress names is kept by the ref `refs/sandbox/kept/<id>`, where no garbage
collection takes it. In a mirror a fetch could delete that ref, with every branch, and a push would
publish it: there the objects are kept in packs with a `.keep` file, and staged files are in no ref.

`git sandbox restore` lists what can be brought back, and `git sandbox restore <name>` brings it back: the
same folder, branch, index, files, lock and operation. If its branch was moved or is checked out
elsewhere in the meantime, HEAD stays detached at the commit where it was. A repository that was moved
finds its removed sandboxes again. If the repository is gone, or another one stands in its place, the files
come back as a plain folder, and that is said; the index, the reflog and the logs of an item of the vault
stay there. Trash and vault belong to a root: after a change of `sandbox.root`, `git sandbox restore --root
<root>` lists and brings back what is in those of the old one.

`git sandbox reap` puts away what has been in the trash longer than `sandbox.trashExpiryDays`. Every file
is read: one that is exactly what its commit has is named by that commit, and every other file, with
every file of the private git dir, is stored in the vault, `<root>/.vault.git`. The item is read back and
compared; only then the files are deleted, each only if it has not changed since it was read.
Not stored are ignored files that were ignored when the sandbox was removed and are not precious (see
`sandbox.precious`), sockets and pipes. An item stays in the trash, with the reason said, if a submodule
or nested repository in it has work of its own, if a file cannot be read or has
extended attributes of yours, or if a process is in it.

`git sandbox reap --purge <id>` deletes a removed sandbox for good, from the trash and the vault. It says
what will be gone and, on a terminal, asks. Nothing else deletes work, unless `sandbox.vaultExpiryDays`
is set.

If a folder was deleted by hand, its private git dir is put aside like a removed sandbox without files,
and `restore` lists it. It stays where it is while it holds an operation in progress or submodules, or
while the root is on another device than before, as when a disk is not mounted.

Without this program, a sandbox is brought back from the trash by:

    $ mv <root>/.trash/<id>/tree <folder>
    $ mv .git/sandbox/<id> .git/worktrees/<id>
    $ git worktree repair <folder>
    $ git worktree unlock <folder>
    $ git -C <folder> switch <branch>

and the files and the commits that were kept are seen by:

    $ git --git-dir=<root>/.vault.git ls-tree -r refs/vault/<id>
    $ git log refs/sandbox/kept/<id>";

const RUNS: &str = "
Each command that `run` and `new` start is written down with its start and its end. `list`, `show` and
their JSON tell of the newest that goes on, or else of the newest: `running` (as `claude 12m`), `done`,
`failed` with its exit status, `died` when it was killed or its end was not recorded. Whether a command runs
is asked of the kernel each time, so nothing has to be told when it is killed or the machine restarts.
The newest 20 runs of a sandbox are remembered. A command with --background has a log, which only the
user can read; beyond 8 MiB it is cut to its newest half, and its first line says so.

Coming back::
The first agent that runs in a sandbox gets the task. When `run` starts it again, it is started by
`sandbox.agentResume` and gets the beacon: a few lines with the task, the commits and changes so far
and how the last run ended. A task that is new is sent instead of the beacon. The beacon is also in
`GIT_SANDBOX_BEACON`, and in place of `{beacon}` in the words of a typed command.

Starting again::
With --background --restart a command that fails is started again after 1, 2, 4 and so on up to 60
seconds. A failure within 60 seconds is a quick one; after 5 of them in a row, or as many as
--restart=<n> says, it stays ended. When three sandboxes of a repository fail in the background within
30 seconds, nothing there is started again for a minute; `list` says so. `stop` ends this too.

A pool::
`new --count <n> <name> <task> --background` makes sandboxes and starts the agent in each. `run --all
--background` starts it wherever there is a task and no command runs, and `stop --all` ends all.
`run --next <task>` gives a task to a sandbox that has none, or that has made commits of which its base
has every one; its branch then starts at its base again. One with uncommitted changes, with commits
that its base has not, that is locked or in use is never taken. `stop --release` clears the task.

Waiting::
`wait` returns when what runs in the sandboxes has ended. Its exit status is 0 if all of it succeeded.

Claude Code::
`setup --agent claude` sets hooks in `~/.claude/settings.json`, so that `claude --worktree <name>`
works in the sandbox of that name. When it ends, a sandbox without work goes to the trash; its branch
stays. `setup --agent claude --uninstall` takes the hooks out again.";

const CONFINEMENT: &str = "
With --confine a command can commit, branch, rebase and build in its sandbox, and can change nothing else:
not the main worktree, other sandboxes, other branches, config, hooks or the home. It sees none of your other
processes, and no file outside of the system, the sandbox and what `sandbox.confineRead` names. It gets a
short list of variables: PATH, HOME, the user, terminal, locale, time zone and editor, author and committer,
and what `sandbox.confineEnv` names.

At the place of the git dir it finds a private one, with copies of config and hooks and a snapshot of the
branches; objects are borrowed. The home, `/tmp` and `/dev/shm` are empty folders that vanish with the command.

The full level needs Linux, `bwrap`(1) and user namespaces, and uses Landlock and seccomp besides. Where a
machine cannot do it, nothing is started; `git sandbox doctor --confine` says why, and what to do.

--confine=landlock needs no namespaces, but Linux 6.2, and 6.7 without network. It is weaker, and says so: the
command can change modes and times of your files, see your processes, and replace the `.git` of its folder, which
is put back when it ends. The variables GIT_DIR and GIT_WORK_TREE lead git to the private git dir, and TMPDIR to a
folder in it; the home and `/tmp` cannot be used, and sockets of the Unix kind, terminals and shared memory of
System V not made. A `sandbox.confineRead` in a `sandbox.confineWrite`, and one that holds the home, the main
worktree or other sandboxes, need the full level.

The network is on unless --network or `sandbox.confineNetwork` says otherwise. With `hosts` the command has a
network of its own, in which only a proxy can be reached, as HTTPS_PROXY and HTTP_PROXY say; programs that do
not heed these variables reach nothing, and it cannot make sockets of the Unix kind.

What it has committed and staged is taken over when it has ended, or by the next command that looks: object ids
and a pack that git has checked, and nothing else. Other branches, tags, stashes, an operation in progress
and staged files that make no tree, a conflict above all, stay inside, where the next confined command finds them; their commits are kept at `refs/sandbox/confined/`. If the
branch was moved outside meanwhile it stays as it is, and what ran inside is at `refs/sandbox/confined-heads/`.
What is changed in config and hooks inside stays inside, for the next confined command too.
The private git dir, `confined` in that of the sandbox, goes along with removal, restore, rename and the vault.
Submodules have no git dir inside, and objects of Git LFS stay inside.

`git sandbox run --container <image>` is the same in a container, by `podman`(1) or docker. The image must hold git.
The sandbox, the private git dir in the place of the repository's, and the repository's objects to be read are
mounted where they are outside, and your settings of git in a home that vanishes; `git sandbox show --mounts`
prints the options for containers that you start yourself. Start such a container by `git sandbox run
--no-confine <name> -- podman run ...`: by itself it holds no lock of the sandbox, so that other commands
take over from it, and remove it, while it runs.

Settings count from your own config, `git -c` and the repository's config file, not from files that this
includes from elsewhere and not from the config of one worktree. Inside, `list`, `show`, `path` and `diff`
work; other commands of `git sandbox` are refused. Debuggers, and programs that make namespaces of their
own, such as the sandbox of another agent, do not work inside.";

const MERGING: &str = "
`git sandbox merge` brings the branch of a sandbox into the one that it started from, into the one
that --into names or, where none is recorded, into the default branch: the one that `origin/HEAD`
stands for, else `init.defaultBranch`, `main`, `master` or the branch of the main worktree. By
default it does what `git merge` does: a fast-forward where that is possible and `merge.ff` allows it,
else a merge commit.

A merge commit, a squash and a rebase are made in a scratch worktree in the root, `.merge-<hex>`, which
is deleted at the end. Only the finished commit comes into the checkout of the other branch, as a
fast-forward: the files that differ are written, the branch is moved if it is still where it was, and
ORIG_HEAD and the reflogs say so. Meanwhile git's own `index.lock` is held there, so that no other git
writes. Staged, unstaged, untracked and ignored files that are not in the way stay as they are; one
that is in the way stops the merge before anything is changed, also an ignored file, a file of another
repository inside, or a symlink in the place of a folder, which git would replace. Nothing is ever
reset or aborted in a checkout of yours. A branch that is checked out nowhere is just moved.

It is refused while the sandbox has uncommitted changes, hidden edits or an operation in progress, and
while a merge, squash, cherry-pick, revert, rebase, bisect or conflict waits in the checkout of the
other branch. A process in the sandbox does not forbid it: the branch is merged, and the sandbox stays,
with a warning. A conflict, a hook that fails, Ctrl-C and a branch that moves meanwhile change nothing.

Hooks, signing, merge drivers, `rerere` and `branch.<name>.mergeOptions` are those of the checkout of
the other branch, and so is a relative `core.hooksPath`; files that `.worktreeinclude` names are
copied. What differs from `git merge` there:

HEAD::
is detached while the hooks of the commit run; the message names the branch.

`post-merge`::
runs once, after the landing, in the checkout of the other branch. Where that is checked out nowhere, it
does not run, and nor does it where a crash was mended by a later command. `post-checkout` does not
run, and `post-index-change` runs in the scratch worktree only.

Changes that a hook makes without committing them::
stay behind in the scratch worktree and go with it, unless there are new files that git does not
ignore: then it goes to the trash.

`merge.autoStash`::
is not heeded: what is in the way stops the merge.

Conflicts that `rerere` resolves::
count as conflicts: look at the resolution, and commit it, in the sandbox.

Submodules::
are never touched; one that the merge moves is named, with the command that updates it. One that is
checked out and would become a file or a folder with the same files stops the merge.

After a crash or a full disk, the next command that changes anything completes the landing if the branch
had moved, takes the files back if it had not, and says which. A file that was changed since is left
as it is and named.

Once the other branch has the commit, the sandbox is moved to the trash by the rules above. With
--rebase its branch is at the new commits then, and the old ones are kept. --dry-run decides by the
same rules, about the branch too. Only the run itself finds conflicts within a --rebase of more than
one commit and, with git before 2.38, any conflict.

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
as any other, or `sandbox.orphanExpiryDays`, from its newest file on. It is then moved to the trash, and
put away after `sandbox.trashExpiryDays`. Only `git sandbox reap --all` does this. When the repository is
in reach again, its sandboxes are found in the trash and in the vault like any other.

In the trash::
14 days, or `sandbox.trashExpiryDays`; then it is put away in the vault.

`git sandbox new` starts `git sandbox reap --all` quietly in the background, at most once a day; the
next command says in a line what was done. `sandbox.autoReap` or `GIT_SANDBOX_AUTO_REAP` turns it off.
A run ends with `git worktree prune`, with the expiry that `git gc` uses, after everything that it would
drop has been put aside.";

const CONFIGURATION: &str = "
These are read from git's config (see `git-config`(1)), also as `git -c <key>=<value> sandbox`. A
period is a whole number of days, or `never`; with anything else nothing is retired.

`sandbox.root`::
Where sandboxes live. `../{project}-worktrees` puts them beside the repository.

`sandbox.agent`::
The command that `git sandbox new <name> <task>` and `git sandbox run <name>` start when none is
typed. `new` starts it only where stdout is a terminal or with --background. It is run by the shell, as
git runs an editor, with the task as one argument; a value that mentions `GIT_SANDBOX_TASK` or
`GIT_SANDBOX_BEACON` gets none.

`sandbox.agentResume`::
The command that is started instead in a sandbox in which the agent ran before, with the beacon as
its argument (see RUNS). Default: `sandbox.agent`.

`sandbox.setup`::
A shell command that is run in every new sandbox. It can be given more than once. If one fails, the
sandbox stays and the exit status is 1.

`sandbox.teardown`::
A shell command that is run in a sandbox before it goes, by `rm`, `reap`, `merge` or `stop --rm`. It
can be given more than once. If one fails, the sandbox stays, unless --force is given.

`sandbox.author`::
Author and committer of what `run` and `new` start in a sandbox, as `Name <email>`. One that was given to
`new --author` is kept with the sandbox and comes first; `run --author` is for that run alone.

`sandbox.confine`::
Whether commands that `run` and `new` start are confined: `true`, `false`, or `landlock` for the weaker
level. --confine and --no-confine come first, then what `new --confine` recorded. Default: false.

`sandbox.confineRead`::
A path that a confined command may read, which may start with `~/`. It can be given more than once, and
adds to the defaults: git's own settings, and toolchains in the home such as `~/.cargo`, `~/.rustup`,
`~/.nvm`, `~/.pyenv`, `~/go` and `~/.local/bin`. An empty value clears the list.

`sandbox.confineWrite`::
A path that a confined command may change as well: a cache, or the state of an agent. It can be given
more than once. What holds the home, the system, a git dir, other sandboxes or another worktree, and
what git takes its own config or hooks from, is refused. So is a path that leads into it by another name. A `sandbox.confineRead` inside of it stays read-only; give one for every file there that
programs of yours run or obey, for the command could change it otherwise.

`sandbox.confineEnv`::
The name of a variable that a confined command keeps, with `*` for any letters. It can be given more than
once.

`sandbox.confineNetwork`::
What a confined command reaches: `on`, `off` or `hosts`. Default: on.

`sandbox.confineHost`::
A host that a confined command reaches with `hosts`: `api.example.com`, `*.example.com` or, for a port other
than 443 and 80, `localhost:8080`. It can be given more than once. A name that only a `*` matches does not lead
to this machine or to a private network; name such a host in full.

`sandbox.container`::
The program that --container starts: `podman`, `docker` or a path. Default: podman where it is installed, else
docker.

`sandbox.containerOptions`::
A word for the command line of --container, before the name of the image: `--runtime=runc`. It can be given
more than once, each for one word.

`sandbox.precious`::
Patterns, in the syntax of `gitignore`(5), of ignored files that are stored in the vault too.
It can be given more than once. The default is `.env*`, `*.local`, `*.sqlite*`, `*.pem` and `*.key`.
What lies inside an ignored folder and unchanged copies of files of the main worktree do not count.

`sandbox.headlessExpiryDays`::
How long an unused sandbox without a branch is kept. Default: 30.

`sandbox.branchExpiryDays`::
How long any other unused sandbox is kept. Default: 90.

`sandbox.orphanExpiryDays`::
How long one is kept whose repository cannot be reached. Default: as `sandbox.branchExpiryDays`.

`sandbox.trashExpiryDays`::
How long a removed sandbox is in the trash before it is put away. Default: 14.

`sandbox.vaultExpiryDays`::
How many days after its removal `reap` deletes a sandbox from the vault, for good. Default: `never`.

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

`TERM`::
`dumb` has no colour, unless --color or the config says otherwise.

`LC_ALL`, `LC_CTYPE`, `LANG`::
Where the first of them that is set does not name UTF-8, only ASCII is printed.

`XDG_CACHE_HOME`::
Below it is the default root.

`SHELL`::
What `git sandbox run` starts when there is no command and no agent.

`XDG_DATA_HOME`, `XDG_CONFIG_HOME`, `BASH_COMPLETION_USER_DIR`, `FPATH`, `ZDOTDIR`, `MANPATH`::
Where `git sandbox setup` installs and what it says has to be added.

`CLAUDE_CONFIG_DIR`::
The folder of the `settings.json` that `git sandbox setup --agent claude` edits.

A command that is run in a sandbox finds there `GIT_SANDBOX_NAME`, `GIT_SANDBOX_PATH`,
`GIT_SANDBOX_BRANCH`, `GIT_SANDBOX_BASE_REPO` (the main worktree), `GIT_SANDBOX_TASK` and
`GIT_SANDBOX_PORT`, a number from 20000 to 29999 that stays the same for a sandbox and that no other of
the repository has. An agent that comes back, a command in the background of a sandbox in which one
ran before and a command that is started again also find `GIT_SANDBOX_BEACON`; a confined one finds
`GIT_SANDBOX_CONFINED`. No variable would tie
git to another repository. Commands of `sandbox.setup` and `sandbox.teardown` find the same, without
the beacon.";

const FILES: &str = "
`<root>/<project>/<folder>`::
A sandbox.

`<root>/<project>/.spare-<id>`::
A checkout that is kept ready (see `sandbox.spares`).

`<root>/.trash/<id>/`::
A removed sandbox: its folder, as `tree`, and `journal.json`. If the sandbox was on another file system
than the root, this is beside it, in `.git-sandbox-trash`.

`<root>/.vault.git`::
A bare repository with what was put away: the ref `refs/vault/<id>` for each.

`$GIT_COMMON_DIR/sandbox/<id>`::
The private git dir of a removed sandbox.

`<root>/.reaped`::
When the last daily `reap` was and, until somebody was told, what it did.

`$GIT_COMMON_DIR/sandbox/lock`::
The lock of the repository. It stays; only a lock on it counts.

`$GIT_COMMON_DIR/sandbox/registry`::
What the entries of many worktrees held when they were last read, so that `new` reads only those that changed.
It can be deleted at any time.

`$GIT_COMMON_DIR/sandbox.merge.lock`::
The lock of merges.

`$GIT_COMMON_DIR/sandbox-spares.lock`::
The lock of the job that looks after the spares.

`$GIT_DIR/sandbox.landing`::
The journal of a merge, in the git dir of the checkout that it comes into; it goes with the merge.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.json`::
Task, base and time of creation of a sandbox.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.lock`::
Held by whatever `run` and `new` start in the sandbox.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.runs`::
The commands that were started in the sandbox and how they ended.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.run.<n>`::
Held by the command of a run while it goes on; of one in the background, its log, which
`git sandbox show --log` prints.

`$GIT_COMMON_DIR/worktrees/<id>/sandbox.port`::
The number in `GIT_SANDBOX_PORT`.

`.worktreeinclude`::
In the main worktree: which ignored files every new sandbox gets a copy of.";

const EXIT_STATUS: &str = "
`0`::
Done, or there was nothing to do.

`1`::
Refused or failed; of several sandboxes, at least one. `doctor`: something is left to repair.

`129`::
Wrong usage; also -h.

`1` of `wait`::
Something that was waited for did not succeed.

The command's own::
of `run` and of `new` with a command: its exit status, 128 and the number of the signal that ended
it, 127 if there is no such program, 126 if it cannot be executed.";

const EXAMPLES: &str = "
A new feature, in a folder and on a branch of its own::
The branch starts at HEAD, and the folder is called `feat-ui-v2`.

    $ dir=$(git sandbox new feat/ui-v2) && cd \"$dir\"

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

    $ git sandbox new --count 3 worker \"Fix a bug\" --background
    $ git sandbox list
    $ git sandbox show --follow worker-1
    $ git sandbox wait --all
    $ git sandbox stop --all

A folder and a branch of different names::
`--name` makes every word part of the task instead.

    $ git sandbox new worker1 --branch my-feature
    $ git sandbox new --name feat/ui Fix buttons

Look around without a branch, and keep what came of it::
A sandbox without a branch can be promoted at any time.

    $ dir=$(git sandbox new) && cd \"$dir\" && git switch -c my-idea

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

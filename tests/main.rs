//! Black-box tests: `git sandbox` as users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

#[path = "list/age.rs"]
mod age;
#[path = "session/agent.rs"]
mod agent;
#[path = "session/author.rs"]
mod author;
#[path = "reap/auto.rs"]
mod auto_reap;
#[path = "session/background.rs"]
mod background;
#[path = "new/crash.rs"]
mod crash;
#[path = "doctor/findings.rs"]
mod doctor;
#[path = "doctor/moved.rs"]
mod doctor_moved;
#[path = "git/environment.rs"]
mod environment;
#[path = "new/folders.rs"]
mod folders;
#[path = "new/checkout.rs"]
mod hook;
#[path = "hostile/pointers.rs"]
mod hostile;
#[path = "hostile/config.rs"]
mod hostile_config;
#[path = "hostile/env.rs"]
mod hostile_env;
#[path = "hostile/files.rs"]
mod hostile_files;
#[path = "hostile/names.rs"]
mod hostile_names;
#[path = "remove/in_use.rs"]
mod in_use;
#[path = "session/in_use.rs"]
mod in_use_run;
#[path = "new/include.rs"]
mod include;
#[path = "remove/kinds.rs"]
mod kinds;
#[path = "list/output.rs"]
mod list;
#[path = "list/terminal.rs"]
mod list_terminal;
#[path = "merge/outcome.rs"]
mod merge;
#[path = "merge/crash.rs"]
mod merge_crash;
#[path = "merge/hooks.rs"]
mod merge_hooks;
#[path = "merge/refuse.rs"]
mod merge_refuse;
#[path = "merge/merged.rs"]
mod merged;
#[path = "fixture/merge.rs"]
mod merging;
#[path = "new/branch.rs"]
mod new;
#[path = "session/ordinary_user.rs"]
mod ordinary_user;
#[path = "trash/orphans.rs"]
mod orphans;
#[path = "new/parallel.rs"]
mod parallel;
#[path = "list/path.rs"]
mod path;
#[path = "remove/power.rs"]
mod power;
#[path = "git/processes.rs"]
mod processes;
#[path = "trash/put_away.rs"]
mod purge;
mod purge_crash;
#[path = "trash/purge_doubt.rs"]
mod purge_doubt;
#[path = "docs/readme.rs"]
mod readme;
#[path = "reap/periods.rs"]
mod reap;
#[path = "reap/all.rs"]
mod reap_all;
#[path = "reap/used.rs"]
mod reap_used;
#[path = "reap/verdict.rs"]
mod reap_verdict;
#[path = "new/refuse.rs"]
mod refuse;
#[path = "fixture/state.rs"]
mod removal;
#[path = "remove/crash.rs"]
mod removal_crash;
#[path = "fixture/home.rs"]
mod repo;
#[path = "restore/outcome.rs"]
mod restore;
#[path = "restore/branch.rs"]
mod restore_branch;
#[path = "new/resume.rs"]
mod resume;
#[path = "remove/rm.rs"]
mod rm;
#[path = "remove/branch.rs"]
mod rm_branch;
#[path = "remove/missing.rs"]
mod rm_missing;
#[path = "remove/places.rs"]
mod rm_places;
#[path = "new/root.rs"]
mod root;
#[path = "session/run.rs"]
mod run;
#[path = "fixture/lab.rs"]
mod session;
#[path = "setup/files.rs"]
mod setup;
#[path = "new/setup.rs"]
mod setup_commands;
#[path = "setup/shells.rs"]
mod shells;
#[path = "list/show.rs"]
mod show;
#[path = "spares/take.rs"]
mod spares;
#[path = "spares/crash.rs"]
mod spares_crash;
mod stale;
#[path = "session/stop.rs"]
mod stop;
#[path = "new/stub.rs"]
mod stub;
#[path = "docs/generated.rs"]
mod sync;
#[path = "docs/man.rs"]
mod sync_man;
#[path = "session/tmux.rs"]
mod tmux;
#[path = "trash/entries.rs"]
mod trash;
#[path = "remove/untouched.rs"]
mod untouched;
#[path = "docs/usage.rs"]
mod usage;
#[path = "fixture/work/files.rs"]
mod work;
#[path = "fixture/work/history.rs"]
mod work_history;

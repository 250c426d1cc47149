//! The commands, one file each. [`run()`] finds the one that was typed.

mod context;
mod diff;
mod doctor;
mod hook;
mod list;
mod merge;
mod new;
mod path;
mod reap;
mod rename;
mod restore;
mod rm;
mod run;
mod setup;
mod show;
mod stop;
mod wait;

use crate::cli::args::Args;
use crate::cli::job::Job;
use crate::cli::spec::Verb;
use crate::error::{Error, Result};
use crate::git::config::Config;
use crate::session::confine::inside;
use crate::ui::out::Out;

/// Runs a command and returns its exit code. `out` learns the user's colours as soon as they are
/// known.
pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    *out = context::colours(args, &Config::default());
    let looks = matches!(args.command.verb, Verb::List | Verb::Show | Verb::Path | Verb::Diff);
    if inside::is_inside() && !looks {
        return Err(Error::InsideWalls { command: args.command.name });
    }
    match args.command.verb {
        Verb::New => new::run(args, out),
        Verb::Hook => hook::run(args, out),
        Verb::List => list::run(args, out),
        Verb::Show => show::run(args, out),
        Verb::Path => path::run(args, out),
        Verb::Diff => diff::run(args, out),
        Verb::Run => run::run(args, out),
        Verb::Stop => stop::run(args, out),
        Verb::Wait => wait::run(args, out),
        Verb::Rm => rm::run(args, out),
        Verb::Rename => rename::run(args, out),
        Verb::Restore => restore::run(args, out),
        Verb::Reap => reap::run(args, out),
        Verb::Merge => merge::run(args, out),
        Verb::Doctor => doctor::run(args, out),
        Verb::Setup => setup::run(args, out),
    }
}

/// Runs work that this program has started by itself.
pub fn job(job: &Job, out: &mut Out) -> Result<u8> {
    match job {
        Job::Reap => reap::daily(out),
        Job::Spares(root) => reap::spares(root.as_deref(), out),
        Job::Confine(words) => inside::enter(words),
    }
}

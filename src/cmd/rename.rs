//! `git sandbox rename`

use crate::cli::args::Args;
use crate::cmd::context::{Here, lock_repo};
use crate::error::Result;
use crate::lifecycle::background;
use crate::lifecycle::rename::Renamer;
use crate::sandbox::in_use::Processes;
use crate::sandbox::named;
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let [old, new] = &args.operands[..] else {
        return Err(args.wrong("<name> and <new> are needed"));
    };
    let processes = Processes::at_once();
    let (repo, lock) = lock_repo(*out)?;
    let here = Here::holding(&lock, repo, args, out)?;
    background::tell(&here.place.root, *out);
    let sandbox = named::find(&here.sandboxes, old)?;
    let renamer = Renamer {
        repo: &here.repo,
        git: here.repo.git.holding(lock.file()),
        place: &here.place,
        worktrees: &here.worktrees,
        now: here.now,
    };
    let renamed = renamer.rename(sandbox, new, &processes)?;
    let name = sandbox.name();
    let folder = renamed.path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(wanted) = &renamed.wanted {
        out.note(&format!("folder '{wanted}' is taken: using '{folder}'"));
    }
    match &renamed.old_branch {
        _ if !renamed.changed => out.note(&format!("sandbox '{name}' is called so already")),
        Some(old) if new.to_string_lossy() != *old => {
            let new = new.to_string_lossy();
            out.note(&format!(
                "renamed sandbox '{name}' to '{folder}': branch '{old}' is now '{new}'"
            ));
        }
        _ => out.note(&format!("renamed sandbox '{name}' to '{folder}'")),
    }
    out.answer_path(&renamed.path)?;
    Ok(0)
}

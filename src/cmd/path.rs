//! `git sandbox path`

use crate::cli::args::Args;
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::sandbox::State;
use crate::sandbox::named::MAIN;
use crate::ui::out::Out;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let here = Here::find(args, out)?;
    if args.operands.first().is_some_and(|word| word == MAIN) {
        let main = &here.worktrees.main;
        return match main.bare {
            true => Err(Error::NoMainWorktree),
            false if here.repo.is_main_unknown(main) => {
                Err(Error::UnknownMainWorktree { common: main.path.clone() })
            }
            false => out.answer_path(&main.path).map(|()| 0),
        };
    }
    let sandbox = here.named(args)?;
    if sandbox.state != State::Ready {
        out.warn(&format!("sandbox '{}' is {}", sandbox.name(), sandbox.state.word()));
    }
    out.answer_path(&sandbox.path)?;
    Ok(0)
}

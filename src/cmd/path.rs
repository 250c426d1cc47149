//! `git sandbox path`

use super::Here;
use crate::args::Args;
use crate::error::Result;
use crate::out::Out;
use crate::sandbox::State;

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    let here = Here::find(args, out)?;
    let sandbox = here.named(args)?;
    if sandbox.state != State::Ready {
        out.warn(&format!("sandbox '{}' is {}", sandbox.name(), sandbox.state.word()));
    }
    out.answer_path(&sandbox.path)?;
    Ok(0)
}

//! `git sandbox setup`

use crate::args::Args;
use crate::complete;
use crate::error::Result;
use crate::man;
use crate::out::Out;
use crate::spec::{PRINT, UNINSTALL};

pub fn run(args: &Args, out: &mut Out) -> Result<u8> {
    args.at_most_one(&[&PRINT, &UNINSTALL])?;
    let text = match args.word(&PRINT) {
        Some("man") => man::page(),
        Some("bash") => complete::bash(),
        Some("zsh") => complete::zsh(),
        Some("fish-conf") => complete::fish_conf(),
        _ => complete::fish(),
    };
    out.answer_raw(text.as_bytes())?;
    Ok(0)
}

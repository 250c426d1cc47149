//! `git sandbox doctor --confine`: what this machine can confine commands with.

use crate::cli::args::Args;
use crate::cli::spec::{CAN_CONFINE, FIX, JSON};
use crate::error::Result;
use crate::session::check_program;
use crate::session::confine::machine::{self, Lack};
use crate::session::confine::{Level, Network};
use crate::ui::out::Out;

/// Answers for each level; 1 if the machine cannot do the full one.
pub fn run(args: &Args, out: Out) -> Result<u8> {
    for other in [&FIX, &JSON] {
        args.at_most_one(&[&CAN_CONFINE, other])?;
    }
    let full = machine::lack(Level::Full, Network::Off, &[])?;
    let landlock = machine::lack(Level::Landlock, Network::Off, &[])?;
    let wrapper = machine::bubblewrap(&[]);
    let wrapper = wrapper.map_or_else(|| "not installed".into(), |it| it.display().to_string());
    let namespaces = match &full {
        None => "can be made",
        Some(Lack::NoBubblewrap) => "not tried",
        Some(_) => "cannot be made",
    };
    let here = std::env::current_dir().unwrap_or_default();
    let containers = ["podman", "docker"].into_iter();
    let containers = containers.filter(|name| check_program(name.as_ref(), &here).is_ok());
    let containers: Vec<&str> = containers.collect();
    let version = match machine::landlock() {
        0 => "none".to_owned(),
        // Later versions cannot be told from it, and are not needed.
        6 => "ABI 6 or later".to_owned(),
        version => format!("ABI {version}"),
    };
    let containers = if containers.is_empty() { "none".into() } else { containers.join(", ") };
    out.answer(&format!("bubblewrap:      {wrapper}"))?;
    out.answer(&format!("user namespaces: {namespaces}"))?;
    out.answer(&format!("Landlock:        {version}"))?;
    out.answer(&format!("containers:      {containers}"))?;
    for (level, lack) in [("full", &full), ("landlock", &landlock)] {
        let verdict =
            lack.as_ref().map_or_else(|| "yes".into(), |it| format!("no: {}", it.in_words()));
        out.answer(&format!("--confine={level}: {verdict}"))?;
    }
    if let Some(remedy) = full.as_ref().and_then(Lack::remedy) {
        out.hint(&remedy);
    }
    Ok(u8::from(full.is_some()))
}

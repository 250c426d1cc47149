//! The walls that the user wishes around commands in a sandbox.

use std::ffi::OsString;

use crate::cli::args::Args;
use crate::cli::spec::{CONFINE, NETWORK, NO_CONFINE};
use crate::cmd::context::Here;
use crate::error::Result;
use crate::repo::Repo;
use crate::sandbox::{Sandbox, record};
use crate::session::confine::settings::{self, Asked};
use crate::session::confine::{Level, Network, Places, Walls};

/// What the command line says. `--network` alone is about walls that stand anyway.
pub fn asked(args: &Args) -> Result<Asked> {
    args.at_most_one(&[&CONFINE, &NO_CONFINE])?;
    args.at_most_one(&[&NETWORK, &NO_CONFINE])?;
    let level = args.word(&CONFINE).map(|word| match word {
        "landlock" => Level::Landlock,
        _ => Level::Full,
    });
    let network = args.word(&NETWORK).map(|word| match word {
        "off" => Network::Off,
        "hosts" => Network::Hosts,
        _ => Network::On,
    });
    Ok(Asked { level, off: args.has(&NO_CONFINE), network })
}

/// Returns the walls for commands in a sandbox, if there are to be any. Fails where they cannot be
/// made, before anything is changed.
pub fn around(here: &Here, sandbox: &Sandbox, args: &Args) -> Result<Option<Walls>> {
    let asked = asked(args)?;
    let recorded = record::read(&sandbox.entry).confine;
    let Some(wish) = settings::wish(&here.repo, asked, recorded)? else {
        if asked.network.is_some() {
            return Err(args.wrong("option '--network' needs '--confine'"));
        }
        return Ok(None);
    };
    let others = here.worktrees.linked.iter().map(|it| it.record.path.clone());
    let places = Places {
        quarantine: sandbox.entry.join("confined"),
        common: here.repo.common.clone(),
        entry: sandbox.entry.clone(),
        folder: sandbox.path.clone(),
        main: here.worktrees.main.path.clone(),
        root: here.place.root.clone(),
        others: others.filter(|path| *path != sandbox.path).collect(),
    };
    let walls = Walls::new(&sandbox.name(), wish, places);
    walls.probe()?;
    Ok(Some(walls))
}

/// Fails where this machine cannot confine what is to be started, before a sandbox is made for it.
pub fn check_machine(repo: &Repo, args: &Args, name: &str) -> Result<()> {
    match settings::wish(repo, asked(args)?, None)? {
        Some(wish) => wish.check_machine(name),
        None => Ok(()),
    }
}

/// What was typed about walls, for a window in which we are started again.
pub fn options(args: &Args) -> Vec<OsString> {
    let valued = [&CONFINE, &NETWORK]
        .into_iter()
        .filter_map(|option| Some(format!("{}={}", option.typed(), args.word(option)?).into()));
    valued.chain(args.has(&NO_CONFINE).then(|| NO_CONFINE.typed().into())).collect()
}

/// How a command is confined, or that it is not although it was to be.
pub fn in_words(walls: Option<&Walls>, sandbox: &Sandbox, args: &Args) -> Option<String> {
    let recorded = record::read(&sandbox.entry).confine.is_some();
    match walls {
        Some(walls) => Some(walls.introduction()),
        None if args.has(&NO_CONFINE) && recorded => {
            Some(format!("not confined, although sandbox '{}' was made for it", sandbox.name()))
        }
        None if args.has(&NO_CONFINE) => Some("not confined".into()),
        None => None,
    }
}

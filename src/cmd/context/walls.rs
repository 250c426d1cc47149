//! The walls that the user wishes around commands in a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::args::Args;
use crate::cli::spec::{CONFINE, CONTAINER, NETWORK, NO_CONFINE};
use crate::cmd::context::Here;
use crate::error::{Error, Result};
use crate::lifecycle::quarantine::{Borrow, Quarantine};
use crate::repo::place::Place;
use crate::repo::root::Root;
use crate::repo::{Repo, link, nested};
use crate::sandbox::{self, Sandbox, confined, in_use, record};
use crate::session::confine::settings::{self, Asked};
use crate::session::confine::{Level, Network, Places, Walls};
use crate::session::container::{Container, Mount};
use crate::sys::lock::Lock;
use crate::ui::out::Out;

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
    if args.has(&CONTAINER) {
        return Ok(None);
    }
    let recorded = record::read(&sandbox.entry).confine;
    let Some(wish) = settings::wish(&here.repo, asked, recorded)? else {
        if asked.network.is_some() {
            return Err(args.wrong("option '--network' needs '--confine'"));
        }
        return Ok(None);
    };
    let others = here.worktrees.linked.iter().map(|it| it.record.path.clone());
    let places = Places {
        quarantine: confined::dir(&sandbox.entry),
        common: here.repo.common.clone(),
        entry: sandbox.entry.clone(),
        folder: sandbox.path.clone(),
        main: here.worktrees.main.path.clone(),
        root: here.place.root.clone(),
        others: others.filter(|path| *path != sandbox.path).collect(),
    };
    let walls = Walls::new(&sandbox.name(), wish, places);
    walls.probe(&here.repo)?;
    Ok(Some(walls))
}

/// Returns the container for commands in a sandbox, if `--container` names an image.
pub fn container(here: &Here, sandbox: &Sandbox, args: &Args) -> Result<Option<Container>> {
    args.at_most_one(&[&CONFINE, &CONTAINER])?;
    args.at_most_one(&[&NO_CONFINE, &CONTAINER])?;
    let Some(image) = args.word(&CONTAINER) else { return Ok(None) };
    can_be_mounted(here, sandbox)?;
    let asked = Asked { level: Some(Level::Full), ..asked(args)? };
    let wish = settings::wish(&here.repo, asked, None)?;
    let inside = wish.map_or((Network::On, Vec::new()), |wish| (wish.network, wish.env));
    let own = settings::own(&here.repo)?;
    let program = own.get("sandbox.container").filter(|program| !program.is_empty());
    let options = own.all("sandbox.containeroptions").map(str::to_owned).collect();
    let untrusted = [&*sandbox.path, &here.place.root];
    Container::new(sandbox, image, program, &untrusted, options, inside).map(Some)
}

/// Makes the quarantine of a sandbox or brings it up to date, for a command that is about to start. What
/// an earlier one left is taken over first. While another command runs there, it stays as it is.
pub fn prepare(here: &Here, sandbox: &Sandbox, borrow: Borrow, out: Out) -> Result<()> {
    tell_nested(&sandbox.entry, &sandbox.path, out)?;
    let lock = here.repo.lock(out)?;
    let git = here.repo.git.holding(lock.file());
    Quarantine::of(&here.repo, &git, sandbox)?.ready(borrow, out)
}

/// What a container must mount for a sandbox.
pub fn mounts(here: &Here, sandbox: &Sandbox) -> Result<Vec<Mount>> {
    can_be_mounted(here, sandbox)?;
    Quarantine::of(&here.repo, &here.repo.git, sandbox)?.mounts()
}

/// Fails if another worktree is in the sandbox's folder: it could not be hidden from a container.
fn can_be_mounted(here: &Here, sandbox: &Sandbox) -> Result<()> {
    let mut paths = here.worktrees.linked.iter().map(|it| &it.record.path);
    let is_inside = |path: &&PathBuf| path.starts_with(&sandbox.path) && **path != sandbox.path;
    let Some(other) = paths.find(is_inside) else { return Ok(()) };
    let why = format!("'{}' in it is another worktree", other.display());
    let hints = vec!["use '--confine' instead of '--container'".to_owned()];
    Err(Error::NotConfined { name: sandbox.name(), why, hints })
}

/// Warns, once, of repositories that appeared in a sandbox since a confined command was started there.
fn tell_nested(entry: &Path, folder: &Path, out: Out) -> Result<()> {
    for folder in nested::notice(entry, folder)? {
        out.warn(&format!(
            "a repository appeared at '{}': git does there what its config says",
            folder.display()
        ));
    }
    Ok(())
}

/// Takes over what a command that has ended did behind walls. Where another one still runs there, that
/// is left to it.
pub fn take_over(entry: &Path, out: Out) -> Result<()> {
    let told =
        link::entry_points_to(entry).map_or(Ok(()), |folder| tell_nested(entry, &folder, out));
    if let Err(error) = told {
        out.warn(&format!("cannot tell whether repositories appeared: {error}"));
    }
    if !confined::is_waiting(entry) {
        return Ok(());
    }
    let common = entry.parent().and_then(Path::parent).unwrap_or(entry);
    let repo = Repo::at(common)?;
    let lock = repo.lock(out)?;
    let worktrees = repo.worktrees()?;
    let root = Root::wanted(None, &repo.config, &repo.git)?;
    let place = Place::of(&repo, root, &worktrees);
    let sandboxes = sandbox::all(&worktrees, &place);
    let Some(sandbox) = sandboxes.iter().find(|sandbox| sandbox.entry == entry) else {
        return Ok(());
    };
    let Some(_own) = Lock::if_free(&in_use::lock_path(entry))? else { return Ok(()) };
    let git = repo.git.holding(lock.file());
    Quarantine::of(&repo, &git, sandbox)?.take()?.tell(out);
    Ok(())
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
    let valued = [&CONFINE, &NETWORK, &CONTAINER]
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

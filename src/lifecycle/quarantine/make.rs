//! Makes a quarantine, or brings one up to date before the next confined command.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::error::{Doing, Result};
use crate::git::index::Index;
use crate::git::refs;
use crate::lifecycle::quarantine::inside::{self, Head, Inside};
use crate::lifecycle::quarantine::snapshot::{self, Refs, Snapshot};
use crate::lifecycle::quarantine::{ALTERNATES, BORROWED, Borrow, Quarantine, config};
use crate::repo::held;
use crate::sandbox::confined;
use crate::sandbox::record;
use crate::sandbox::record::Synced;
use crate::sys::{crash_point, delete, dir, file};

/// Where a quarantine is made; it gets its name when it is complete.
const MAKING: &str = "sandbox.confining";
/// Where a file is copied to; it gets its name when it is complete.
const COPYING: &str = "sandbox.copying";
/// The refs that a quarantine was made from, as `packed-refs`.
pub(super) const SNAPSHOT: &str = "sandbox.confined-refs";
/// Files of a private git dir that a quarantine does not get.
const LEFT_OUT: [&str; 7] =
    ["modules", "confined", "locked", "reftable", "gitdir", "commondir", "config.worktree"];

impl Quarantine<'_> {
    /// Makes the quarantine, or brings it up to date with what changed in the repository since. What
    /// changed inside stays. What could be taken over was taken before.
    pub(super) fn prepare(&self, borrow: Borrow) -> Result<()> {
        let snapshot = snapshot::of(&self.git)?;
        self.write_lost_files()?;
        if self.is_current(&snapshot) {
            return self.write_alternates(borrow);
        }
        self.hold(&snapshot.commits)?;
        crash_point::reached();
        let was = record::read(&self.sandbox.entry).confined;
        let follows = match confined::is_there(&self.sandbox.entry) {
            true => self.refresh(&snapshot, was.as_ref())?,
            false => self.make(&snapshot).map(|()| true)?,
        };
        self.write_alternates(borrow)?;
        match was.filter(|_| !follows) {
            Some(Synced { head, tree, stays, .. }) => {
                self.remember(|now| Synced { head, tree, stays, ..now })
            }
            None => self.remember(|now| now),
        }
    }

    /// Whether neither side has changed since they last agreed, so that there is nothing to bring up to
    /// date.
    fn is_current(&self, snapshot: &Snapshot) -> bool {
        let entry = &self.sandbox.entry;
        let Some(synced) = record::read(entry).confined else { return false };
        let same_refs = || {
            let before = file::read(&entry.join(SNAPSHOT));
            before.is_ok_and(|before| before == snapshot::packed(&snapshot.refs).as_bytes())
        };
        synced.name == self.name()
            && !confined::is_waiting(entry)
            && synced.outside.is_some()
            && synced.outside == confined::fingerprint_outside(entry)
            && same_refs()
            && inside::check(&self.dir, &synced.name).is_ok()
            && self.repo.common.join(self.pin()).is_file()
    }

    /// Makes the quarantine beside its place and puts it there when it is complete.
    fn make(&self, snapshot: &Snapshot) -> Result<()> {
        let (entry, common) = (&self.sandbox.entry, &self.repo.common);
        let making = entry.join(MAKING);
        delete::tree(&making).at("delete", &making)?;
        new_folder(&making)?;
        for name in ["refs/heads", "refs/tags", "objects/info", "objects/pack", BORROWED] {
            dir::make(&making.join(name))?;
        }
        for name in ["hooks", "info", "rr-cache"] {
            self.copy(&common.join(name), &making.join(name), &|_| false)?;
        }
        self.copy_file(&common.join("shallow"), &making.join("shallow"))?;
        write(&making.join("config"), self.config(&common.join("config"))?.as_bytes())?;
        write(&making.join("packed-refs"), snapshot::packed(&snapshot.refs).as_bytes())?;
        write(&making.join("HEAD"), self.main_head()?.as_bytes())?;
        if let Some(branch) = self.sandbox.branch.as_ref().filter(|_| !self.sandbox.detached) {
            let log = Path::new("logs").join(refs::full(branch));
            let copied = making.join(&log);
            copied.parent().map_or(Ok(()), dir::make)?;
            self.copy_file(&common.join(&log), &copied)?;
        }
        self.copy_private(&making.join("worktrees").join(self.name()))?;
        file::replace(&entry.join(SNAPSHOT), snapshot::packed(&snapshot.refs).as_bytes())?;
        crash_point::reached();
        file::rename(&making, &self.dir)?;
        crash_point::reached();
        Ok(())
    }

    /// Writes the repository's new refs into a quarantine and, where nothing is left to be taken over,
    /// branch, HEAD and index of the sandbox. Returns whether these follow.
    fn refresh(&self, snapshot: &Snapshot, synced: Option<&Synced>) -> Result<bool> {
        let entry = &self.sandbox.entry;
        self.settle_name(synced)?;
        inside::check(&self.dir, &self.name()).map_err(|why| self.fail(why))?;
        let before = file::read(&entry.join(SNAPSHOT)).unwrap_or_default();
        let before = snapshot::parse(&String::from_utf8_lossy(&before));
        let inside = Inside::read(&self.dir, &self.name())?;
        let follows = self.can_follow(&inside, snapshot, &before, synced)?;
        let packed = inside::packed_refs(&self.dir)?;
        let mut next = snapshot::brought_up_to_date(&packed, &before, &snapshot.refs);
        let head = match inside.head() {
            Some(Head::On(name)) if !follows => Some(name),
            _ => None,
        };
        // What HEAD inside is on stays with it, even where it has another name outside now.
        let side = if follows { &snapshot.refs } else { &packed };
        for name in self.own_ref().into_iter().chain(head) {
            if let Some(named) = side.get(&name) {
                next.insert(name, named.clone());
            }
        }
        file::replace(&self.dir.join("packed-refs"), snapshot::packed(&next).as_bytes())?;
        self.follow(&inside, snapshot, &before, follows)?;
        file::replace(&entry.join(SNAPSHOT), snapshot::packed(&snapshot.refs).as_bytes())?;
        crash_point::reached();
        Ok(follows)
    }

    /// Whether branch, HEAD and index inside may become those outside: nothing was done inside that is
    /// not outside too.
    fn can_follow(
        &self,
        inside: &Inside,
        snapshot: &Snapshot,
        before: &Refs,
        synced: Option<&Synced>,
    ) -> Result<bool> {
        let own = self.own_ref();
        let id_in = |refs: &Refs, name: &str| refs.get(name).map(|named| named.id.clone());
        let (there, now) = match &own {
            // A branch that neither has known was renamed outside.
            Some(own) if !before.contains_key(own) && !inside.refs.contains_key(own) => {
                (id_in(&snapshot.refs, own), id_in(&snapshot.refs, own))
            }
            Some(own) => (id_in(&inside.refs, own), id_in(&snapshot.refs, own)),
            // It may have been detached outside, while HEAD inside is still on the branch.
            None => (inside.commit(), self.sandbox.head.clone()),
        };
        let agreed = synced.and_then(|synced| synced.head.as_deref());
        let is_behind = match (&there, &now) {
            (Some(there), _) if Some(there.as_str()) == agreed => true,
            (Some(there), Some(now)) => self.contains(now, there)?,
            _ => false,
        };
        let stays = synced.is_some_and(|synced| synced.stays);
        Ok(is_behind && !stays && confined::operation(&self.sandbox.entry).is_none())
    }

    /// Lets loose refs inside follow what was done outside, where nothing was done to them inside since
    /// the two last agreed; with `follows` also the branch, HEAD and index of the sandbox.
    fn follow(
        &self,
        inside: &Inside,
        snapshot: &Snapshot,
        before: &Refs,
        follows: bool,
    ) -> Result<()> {
        let own = self.own_ref();
        let id_in = |refs: &Refs, name: &str| refs.get(name).map(|named| named.id.clone());
        let loose = |name: &str| self.dir.join(name).is_file().then(|| self.dir.join(name));
        for (name, now) in snapshot.refs.iter().filter(|(name, _)| own.as_ref() != Some(name)) {
            if let Some(path) =
                loose(name).filter(|_| id_in(&inside.refs, name) == id_in(before, name))
            {
                // Not by a file beside it: that could have the name of another branch.
                file::replace_from_above(&path, format!("{}\n", now.id).as_bytes())?;
            }
        }
        if follows {
            if let Some(own) = &own
                && let Some(now) = snapshot.refs.get(own)
                && let Some(path) = loose(own)
            {
                file::replace_from_above(&path, format!("{}\n", now.id).as_bytes())?;
            }
            self.copy_private(inside.private())?;
        }
        self.write_pointers(inside.private())
    }

    /// Whether one commit is among the history of another.
    pub(super) fn contains(&self, newer: &str, older: &str) -> Result<bool> {
        let words = ["merge-base", "--is-ancestor", older, newer];
        let answer = self.git.look(words).ask()?;
        // A commit that is not there is in no history.
        Ok(answer.code == Some(0))
    }

    /// The branch of the sandbox, in full.
    pub(super) fn own_ref(&self) -> Option<String> {
        let branch = self.sandbox.branch.as_ref().filter(|_| !self.sandbox.detached)?;
        refs::full(branch).into_string().ok()
    }

    /// Gives the private git dir inside the name that it has now: a restored sandbox may have another.
    fn settle_name(&self, synced: Option<&Synced>) -> Result<()> {
        let worktrees = self.dir.join("worktrees");
        let now = worktrees.join(self.name());
        let was = synced.map(|synced| worktrees.join(&synced.name));
        match was {
            Some(was) if was != now && was.is_dir() => file::rename(&was, &now),
            _ => Ok(()),
        }
    }

    /// Copies HEAD, index, reflog and operation in progress of the sandbox.
    fn copy_private(&self, to: &Path) -> Result<()> {
        let entry = &self.sandbox.entry;
        let left_out = |path: &Path| {
            let name = path.file_name().unwrap_or_default().as_bytes();
            path.parent() == Some(entry)
                && (name.starts_with(b"sandbox.")
                    // There a file says that refs are in a table, which in a quarantine they are not.
                    || (name == b"refs" && self.repo.is_reftable())
                    || LEFT_OUT.iter().any(|left_out| name == left_out.as_bytes()))
        };
        self.copy(entry, to, &left_out)?;
        let settings = entry.join("config.worktree");
        if settings.symlink_metadata().is_ok() {
            write(&to.join("config.worktree"), self.config(&settings)?.as_bytes())?;
        }
        if self.repo.is_reftable() {
            self.write_refs_of_table(to)?;
        }
        self.write_pointers(to)
    }

    fn write_pointers(&self, private: &Path) -> Result<()> {
        let gitdir = self.sandbox.path.join(".git");
        write(&private.join("gitdir"), &[gitdir.as_os_str().as_bytes(), b"\n"].concat())?;
        write(&private.join("commondir"), b"../..\n")
    }

    /// HEAD and private refs of a sandbox whose refs are in a table.
    fn write_refs_of_table(&self, to: &Path) -> Result<()> {
        let head = if let Some(name) = self.own_ref() {
            format!("ref: {name}\n")
        } else {
            let call = self.git.look([self.git_dir_option()]).args(["rev-parse", "HEAD"]);
            format!("{}\n", call.line("read HEAD")?.to_string_lossy())
        };
        write(&to.join("HEAD"), head.as_bytes())?;
        for (name, id) in held::private_refs(&self.git, &self.sandbox.entry, true)? {
            if name.starts_with("refs/") {
                let path = to.join(&name);
                path.parent().map_or(Ok(()), dir::make)?;
                write(&path, format!("{id}\n").as_bytes())?;
            }
        }
        Ok(())
    }

    /// A config file without secrets.
    pub(super) fn config(&self, path: &Path) -> Result<String> {
        let call = self.git.call(["config", "--no-includes", "--list", "-z", "--file"]).arg(path);
        Ok(config::cleaned(&call.read("read the config")?))
    }

    /// What HEAD of the main worktree is on.
    pub(super) fn main_head(&self) -> Result<String> {
        if !self.repo.is_reftable() {
            let path = self.repo.common.join("HEAD");
            let text = file::read_small(&path).at("read", &path)?;
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        let on = self.git.look(["symbolic-ref", "--quiet", "HEAD"]).ask()?;
        let name = String::from_utf8_lossy(&on.stdout).trim().to_owned();
        if !name.is_empty() {
            return Ok(format!("ref: {name}\n"));
        }
        let id = self.git.look(["rev-parse", "--verify", "HEAD"]).line("read HEAD")?;
        Ok(format!("{}\n", id.to_string_lossy()))
    }

    /// Writes where the repository's objects are, as a confined command sees them.
    fn write_alternates(&self, borrow: Borrow) -> Result<()> {
        write(&self.dir.join(ALTERNATES), &self.alternates(borrow))
    }

    /// Writes down how the two stand, so that the next look knows whether anything was done inside.
    /// `but` changes what is written, where they do not agree.
    pub(super) fn remember(&self, but: impl FnOnce(Synced) -> Synced) -> Result<()> {
        let entry = &self.sandbox.entry;
        let inside = Inside::read(&self.dir, &self.name())?;
        let head = match self.own_ref() {
            Some(own) => inside.refs.get(&own).map(|named| named.id.clone()),
            None => inside.detached_at(),
        };
        let synced = but(Synced {
            head,
            tree: self.staged_tree()?,
            inside: confined::fingerprint(entry),
            outside: confined::fingerprint_outside(entry),
            name: self.name(),
            stays: false,
        });
        let facts = record::to_change(entry)?;
        if facts.confined.as_ref() != Some(&synced) {
            let id = Some(self.id.clone());
            record::write_synced(entry, &record::Facts { id, confined: Some(synced), ..facts })?;
        }
        Ok(())
    }

    /// The tree of the sandbox's own index. It is made from a copy: the index itself is only read.
    pub(super) fn staged_tree(&self) -> Result<Option<String>> {
        let index = self.sandbox.entry.join("index");
        match Index::read(&index, self.repo.id_length()) {
            Some(index) if index.tree.is_some() => return Ok(index.tree),
            Some(index) if index.has_conflict() => return Ok(None),
            _ => {}
        }
        let copy = self.sandbox.entry.join("sandbox.index");
        self.copy_file(&index, &copy)?;
        let git_dir = self.git_dir_option();
        let call = self.git.look([git_dir]).arg("write-tree").env("GIT_INDEX_FILE", &copy);
        let answer = call.ask();
        let _ = fs::remove_file(&copy);
        let answer = answer?;
        Ok(answer.ok().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned()))
    }

    /// `--git-dir` of the sandbox's own private git dir.
    pub(super) fn git_dir_option(&self) -> std::ffi::OsString {
        let mut option = std::ffi::OsString::from("--git-dir=");
        option.push(&self.sandbox.entry);
        option
    }

    /// Copies plain files and folders; anything else is left out. A folder that is not there is no error.
    fn copy(&self, from: &Path, to: &Path, left_out: &dyn Fn(&Path) -> bool) -> Result<()> {
        if !fs::symlink_metadata(from).is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        dir::make(to)?;
        for file in fs::read_dir(from).at("read", from)? {
            let file = file.at("read", from)?;
            let (path, kind) = (file.path(), file.file_type().at("read", &file.path())?);
            let target = to.join(file.file_name());
            match () {
                () if left_out(&path) => {}
                () if kind.is_dir() => self.copy(&path, &target, left_out)?,
                () if kind.is_file() => self.copy_file(&path, &target)?,
                () => {}
            }
        }
        Ok(())
    }

    /// Copies a plain file with its mode and time, whole or not at all: an index that is cut short would read
    /// as if everything had been removed, and in one that is newer git trusts files that were written in the
    /// second of the old one. One that is not there is no error.
    fn copy_file(&self, from: &Path, to: &Path) -> Result<()> {
        let mut source = match file::open(from) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other.at("read", from)?,
        };
        let meta = source.metadata().at("read", from)?;
        let mode = meta.permissions().mode();
        let draft = self.sandbox.entry.join(COPYING);
        let mut copied = || {
            let mut target: File = file::create(&draft)?;
            std::io::copy(&mut source, &mut target)?;
            target.set_modified(meta.modified()?)?;
            target.set_permissions(fs::Permissions::from_mode(mode | 0o600))?;
            fs::rename(&draft, to)
        };
        let copied = copied();
        if copied.is_err() {
            let _ = fs::remove_file(&draft);
        }
        copied.at("write", to)
    }
}

/// Writes a file anew: what stands in its place, a symlink included, goes.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write as _;
    file::create(path).and_then(|mut file| file.write_all(bytes)).at("write", path)
}

/// Makes a folder for the user alone, which must not be there.
fn new_folder(path: &Path) -> Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path).at("create", path)
}

//! Spares: how many there are, and which of them cannot be used.

use std::path::Path;

use super::Doctor;
use crate::cli::spec::ROOT;
use crate::cmd::context::Here;
use crate::error::{Doing, Result};
use crate::lifecycle::spare::tend::Tender;
use crate::lifecycle::spare::{self, Held};
use crate::repo::root::Root;
use crate::sandbox::in_use;
use crate::sys::lock::Lock;
use crate::ui::out::Out;
use crate::ui::words::{counted, shell_word};

impl Doctor<'_> {
    /// Says how many spares are ready. Clears away what a crash left, unless it holds files of the user's.
    pub(super) fn spares(&mut self, here: &Here, out: Out) -> Result<()> {
        let root = Root::wanted(self.args.value(&ROOT), &here.repo.config, &here.repo.git)?;
        let tender = Tender { repo: &here.repo, root, out, now: here.now };
        let fingerprint = spare::fingerprint(&here.repo);
        let (mut ready, mut outdated, mut busy) = (0, 0, 0);
        for tree in spare::all(&here.worktrees) {
            let path = &tree.record.path;
            let home = path.parent().unwrap_or(path);
            let Some(held) = Held::of(tree, home) else {
                if Lock::if_free(&in_use::lock_path(&tree.entry))?.is_none() {
                    busy += 1;
                } else if tree.record.branch.is_some() {
                    self.worked_in(path);
                } else {
                    let why = "a spare whose folder and entry do not name each other";
                    self.find("spare", path, why, None);
                    self.hint("git worktree repair".to_owned());
                }
                continue;
            };
            let as_left = held.is_as_left();
            if as_left && held.ready_at(&fingerprint).is_some() {
                ready += 1;
            } else if as_left {
                outdated += 1;
            } else if held.spare.unclean && self.is_untouched(here, &held) {
                let why = "no spare can be used: a fresh checkout is not clean here";
                self.find("spare", path, why, None);
            } else if self.is_untouched(here, &held) {
                let mut held = Some(held);
                let cure = &mut || match held.take().map(|held| tender.discard(held, &here.place)) {
                    Some(Ok(false)) => {
                        Err(std::io::Error::other("it is in use")).at("delete", path)
                    }
                    Some(other) => other.map(drop),
                    None => Ok(()),
                };
                self.find("spare", path, "a spare that is not complete", Some(cure));
            } else {
                self.worked_in(path);
            }
        }
        if ready + outdated + busy > 0 {
            let all = counted(ready + outdated + busy, "spare");
            let parts = [(ready, "ready"), (outdated, "outdated"), (busy, "in preparation")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
            out.note(&format!("{all}: {}", parts.join(", ")));
        }
        Ok(())
    }

    fn worked_in(&mut self, path: &Path) {
        self.find("spare", path, "somebody has worked in this spare", None);
        let word = shell_word(&path.to_string_lossy());
        self.hint(format!("git worktree unlock {word} makes it a sandbox"));
    }

    /// Whether every file is one that git wrote there. False if that cannot be told.
    fn is_untouched(&self, here: &Here, held: &Held) -> bool {
        let Held { path, entry, spare, .. } = held;
        let strange = spare::strange_files(&here.repo.git, Path::new(path), entry, &spare.commits);
        strange.is_ok_and(|strange| strange.is_empty())
    }
}

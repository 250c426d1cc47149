//! The deeds of the model user: every way to make work in a sandbox that git knows, and a few to destroy
//! it again. A token counts once it is where it should be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::leftover;
use crate::plan::{Deed, RefTo};
use crate::user::{Place, Token, User};
use crate::world::{Tree, World};

/// One deed in one sandbox.
pub struct Doer<'a> {
    pub world: &'a World<'a>,
    pub repo: usize,
    pub number: usize,
    pub dir: &'a Path,
    pub tree: &'a Tree,
    pub deed: Deed,
}

impl Doer<'_> {
    fn git(&self, words: &[&str]) -> Option<()> {
        self.world.does(self.dir, words).then_some(())
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn commit(&self, file: &str, text: &str) -> Option<()> {
        self.write(file, text);
        self.git(&["add", "--", file])?;
        self.git(&["commit", "--quiet", "-m", "work", "--", file])
    }

    /// Makes a private ref that alone leads to an object with this text.
    fn private_ref(&self, name: &str, to: RefTo, file: &str, text: &str) -> Option<()> {
        let says = |words: &[&str]| Some(self.world.says(self.dir, words)?.trim().to_owned());
        match to {
            RefTo::Commit => {
                let head = says(&["rev-parse", "HEAD"])?;
                self.commit(file, text)?;
                self.git(&["update-ref", name, "HEAD"])?;
                self.git(&["reset", "--quiet", "--soft", &head])?;
                self.git(&["rm", "--quiet", "--force", "--", file])
            }
            RefTo::Blob => {
                self.write(file, text);
                let blob = says(&["hash-object", "-w", "--", file])?;
                fs::remove_file(self.dir.join(file)).unwrap();
                self.git(&["update-ref", name, &blob])
            }
            RefTo::Tag => {
                self.git(&["tag", "-a", "-m", text, file])?;
                self.git(&["update-ref", name, &format!("refs/tags/{file}")])?;
                self.git(&["tag", "-d", file])
            }
        }
    }

    /// Where a commit made now is held.
    fn commit_place(&self) -> Place {
        let head = fs::read_to_string(self.tree.entry.join("HEAD")).unwrap_or_default();
        if head.starts_with("ref: ") { Place::Branch } else { Place::Head }
    }

    /// Writes tokens, and tells the user once they are there.
    #[expect(clippy::too_many_lines, reason = "a table of deeds")]
    pub fn act(&self, user: &mut User) -> Option<()> {
        let count = user.tokens.len();
        let file = format!("file-{count}");
        let first = user.text();
        let mut said: Vec<(String, Place)> = Vec::new();
        let second = first.replace('z', "qz");
        match self.deed {
            Deed::Untracked => {
                self.write(&format!("new/{file}"), &first);
                said.push((first, Place::Files));
            }
            Deed::StagedThenOverwritten => {
                self.write(&file, &first);
                self.git(&["add", "--", &file])?;
                self.write(&file, &second);
                said.extend([(first, Place::Entry), (second, Place::Files)]);
            }
            Deed::Unstaged => {
                // Another deed may have put a token there.
                let there = |token: &Token| {
                    token.owner == Some(self.number) && token.file.as_deref() == Some("b")
                };
                if user.tokens.iter().any(there) {
                    return None;
                }
                self.write("b", &first);
                said.push((first, Place::Files));
            }
            Deed::EditUnseen => {
                leftover::edit_unseen(self.world, self.dir, &first)?;
                self.world.tools.counts.add("edits that stat data hides", 1);
                said.push((first, Place::Files));
            }
            Deed::CaseTwin => {
                if self.dir.join("A").exists() {
                    return None;
                }
                self.write("A", &first);
                said.push((first, Place::Files));
            }
            Deed::Commit => {
                self.commit(&file, &first)?;
                said.push((first, self.commit_place()));
            }
            Deed::CommitDetached => {
                self.git(&["checkout", "--quiet", "--detach"])?;
                self.commit(&file, &first)?;
                said.push((first, Place::Head));
            }
            Deed::Amend => {
                self.commit(&file, &first)?;
                self.write(&file, &second);
                self.git(&["commit", "--quiet", "--amend", "-m", "amended", "--", &file])?;
                said.extend([(first, Place::Reflog), (second, self.commit_place())]);
            }
            Deed::ResetAway => {
                self.commit(&file, &first)?;
                self.git(&["reset", "--quiet", "--soft", "HEAD~1"])?;
                self.git(&["rm", "--quiet", "--force", "--", &file])?;
                said.push((first, Place::Reflog));
            }
            Deed::PrivateRef(below, to) => {
                self.private_ref(&format!("{below}{count}"), to, &file, &first)?;
                self.world.tools.counts.add("private refs", 1);
                said.push((first, Place::PrivateRef));
            }
            Deed::Stash => {
                // git does not stash what is in repositories inside, nor an edit that it does not see.
                let is_unseen = |token: &Token| {
                    token.owner == Some(self.number)
                        && token.deed == "EditUnseen"
                        && token.place == Place::Files
                };
                if user.lives[self.number].unseen_work || user.tokens.iter().any(is_unseen) {
                    return None;
                }
                self.write(&file, &first);
                self.git(&["stash", "push", "--quiet", "--include-untracked"])?;
                said.push((first, Place::Stash));
                // All that was not committed went along, but what is ignored.
                let moved = user.tokens.iter_mut().filter(|token| token.owner == Some(self.number));
                for token in moved.filter(|token| token.deed != "Precious") {
                    if let Place::Files | Place::Entry = token.place {
                        token.place = Place::Stash;
                        token.file = None;
                    }
                }
            }
            Deed::StoppedRebase => {
                self.commit("a", &first)?;
                let stopped = !self.world.does(self.dir, &["rebase", "side"]);
                let held =
                    if self.commit_place() == Place::Head { Place::Reflog } else { Place::Branch };
                // A rebase in progress has HEAD detached, its branch stays where it was.
                let on_branch = fs::read_to_string(self.tree.entry.join("rebase-merge/head-name"))
                    .is_ok_and(|name| name.starts_with("refs/"));
                let held = if on_branch { Place::Branch } else { held };
                user.lives[self.number].frozen |= stopped;
                said.push((first, held));
            }
            Deed::Conflict => {
                self.commit("a", &first)?;
                let place = self.commit_place();
                user.lives[self.number].frozen = true;
                if !self.world.does(self.dir, &["merge", "--quiet", "side"]) {
                    self.write("a", &second);
                    said.push((second, Place::Files));
                }
                said.push((first, place));
            }
            Deed::Bisect => {
                user.lives[self.number].frozen = true;
                // git clears what is below refs/bisect/ before it begins.
                let cleared = |token: &&mut Token| {
                    token.owner == Some(self.number) && token.deed.contains("refs/bisect/")
                };
                user.tokens.iter_mut().filter(cleared).for_each(|token| token.destroyed = true);
                self.git(&["bisect", "start", "HEAD", "HEAD~3"])?;
            }
            Deed::Ignored => {
                self.write(&format!("build/{file}"), &first);
                self.write(&format!("{file}.log"), &first);
                said.push((first, Place::Ignored));
            }
            Deed::Precious => {
                self.write(&format!(".env-{count}"), &first);
                said.push((first, Place::Files));
            }
            Deed::AssumeUnchanged | Deed::SkipWorktree => {
                let (flag, name) = match self.deed {
                    Deed::AssumeUnchanged => ("--assume-unchanged", "hidden"),
                    _ => ("--skip-worktree", "skipped"),
                };
                self.git(&["update-index", flag, name])?;
                self.write(name, &first);
                let life = &mut user.lives[self.number];
                (life.frozen, life.unseen_work) = (true, true);
                said.push((first, Place::Files));
            }
            Deed::NestedRepository | Deed::IgnoredRepository => {
                let lead = if self.deed == Deed::NestedRepository { "" } else { "build/" };
                let nested = self.dir.join(format!("{lead}nested-{count}"));
                fs::create_dir_all(&nested).unwrap();
                fs::write(nested.join("file"), &first).unwrap();
                let git = |words: &[&str]| self.world.does(&nested, words).then_some(());
                git(&["init", "--quiet", "--template="])?;
                git(&["add", "file"])?;
                git(&["commit", "--quiet", "-m", "nested"])?;
                fs::remove_file(nested.join("file")).unwrap();
                user.lives[self.number].unseen_work = true;
                said.push((first, Place::Files));
            }
            Deed::SubmoduleCommit => {
                self.git(&["submodule", "--quiet", "update", "--init", "sub"])?;
                let sub = self.dir.join("sub");
                let deep = sub.join("deep");
                let words = ["commit", "--quiet", "-a", "-m", "sub"];
                user.lives[self.number].unseen_work = true;
                // Every other one also in the submodule of the submodule.
                if count.is_multiple_of(2) {
                    let words = ["submodule", "--quiet", "update", "--init", "deep"];
                    self.world.does(&sub, &words).then_some(())?;
                    fs::write(deep.join("deep"), &second).unwrap();
                }
                for (dir, file, text) in [(&deep, "deep", &second), (&sub, "lib", &first)] {
                    if dir.join(".git").exists() {
                        fs::write(dir.join(file), text).unwrap();
                        self.world.does(dir, &words).then_some(())?;
                        said.push((text.clone(), Place::Entry));
                    }
                }
                self.world.tools.counts.add("commits in submodules", said.len());
            }
            Deed::Chmod => {
                self.write(&file, &first);
                let path = self.dir.join(&file);
                fs::set_permissions(path, fs::Permissions::from_mode(0o751)).unwrap();
                let link = self.dir.join("dir/c");
                fs::set_permissions(link, fs::Permissions::from_mode(0o755)).ok()?;
                said.push((first, Place::Files));
            }
            Deed::Rename => {
                self.git(&["mv", "to-move", &file])?;
                self.write(&file, &first);
                said.push((first, Place::Files));
            }
            Deed::Symlink => {
                symlink(&first, self.dir.join(format!("link-{count}"))).ok()?;
                said.push((first, Place::Files));
            }
            Deed::Lock => {
                self.git(&["worktree", "lock", "--reason", "on a stick", "."])?;
            }
            Deed::DeleteFile => {
                let mine = |token: &&mut Token| token.owner == Some(self.number);
                let token =
                    user.tokens.iter_mut().filter(mine).find(|token| token.file.is_some())?;
                fs::remove_file(self.dir.join(token.file.take().unwrap())).ok()?;
                token.destroyed = true;
            }
            Deed::DeleteFolder => {
                // What is locked is on another disk, for all that anybody knows.
                if self.tree.locked.is_some() {
                    return None;
                }
                fs::remove_dir_all(self.dir).unwrap();
                let life = &mut user.lives[self.number];
                life.deleted = true;
                // What git did not see goes with it, but for commits in clones of submodules.
                life.unseen_work &= self.tree.entry.join("modules").is_dir();
                user.destroy(self.number, &[Place::Files, Place::Ignored]);
            }
        }
        for (text, place) in said {
            let deed = format!("{:?}", self.deed);
            let token = user.remember(text, place, deed, self.repo, Some(self.number));
            let heeded = matches!(self.deed, Deed::PrivateRef(_, RefTo::Commit));
            token.fragile = place == Place::PrivateRef && !heeded;
            token.file = match self.deed {
                Deed::Untracked => Some(format!("new/{file}")),
                Deed::Unstaged => Some("b".to_owned()),
                _ => None,
            };
        }
        Some(())
    }
}

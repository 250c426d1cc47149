//! What happens in a folder after it was moved to the trash: a process was left in it, or somebody knows
//! where it is. What they write there is as safe as anything.

use std::fs::{self, File};
use std::path::Path;

use crate::plan::{Call, Fault, TrashDeed, Writer};
use crate::run::{Play, sit, wait_for};
use crate::snapshot::Snapshot;
use crate::user::{Place, User};
use crate::world::{Trashed, Tree, World};

/// How long the file is that is edited unseen.
const PAD: usize = 24;

/// Writes a text into the padded file so that its size and its time stay as they were and git, which
/// looked before, sees no difference in either.
pub fn edit_unseen(world: &World, dir: &Path, text: &str) -> Option<()> {
    let path = dir.join("pad");
    let whole = fs::read(&path).ok().filter(|bytes| bytes.len() == PAD)?;
    // Another text of the user's is not overwritten.
    whole.starts_with(b"pad").then_some(())?;
    let file = File::options().write(true).open(&path).ok()?;
    // Brought back from the vault, the file has other stat data, and git sees the edit.
    world.odd.borrow_mut().ever = true;
    let old = file.metadata().unwrap().modified().unwrap() - std::time::Duration::from_secs(3600);
    file.set_modified(old).unwrap();
    world.does(dir, &["update-index", "-q", "--refresh"]);
    fs::write(&path, format!("{text:<width$}\n", width = PAD - 1)).unwrap();
    file.set_modified(old).unwrap();
    Some(())
}

/// A trashed item of a repository that has files and a life.
fn item(world: &World, repo: usize) -> Option<(Trashed, usize)> {
    let home = world.repos[repo].join(".git/sandbox");
    world.trash().into_iter().find_map(|item| {
        let life = item.entry.as_ref().filter(|entry| entry.starts_with(&home));
        let life = User::life_of(life?)?;
        let trashed = item.journal.as_ref()?["stage"] == "trashed";
        (trashed && item.folder.join("tree").is_dir()).then_some((item, life))
    })
}

/// Whether a commit that was made in the trash is not kept yet: no command of ours has come by.
pub fn is_unkept(world: &World, repo: usize) -> bool {
    let is_unkept = |item: &Trashed| {
        let id = item.folder.file_name().unwrap().to_string_lossy().into_owned();
        let kept = format!("refs/sandbox/kept/{id}");
        let tree = Some(item.folder.join("tree")).filter(|tree| tree.is_dir());
        let head = tree.and_then(|tree| world.says(&tree, &["rev-parse", "--verify", "HEAD"]));
        let of_it = item.entry.as_ref().is_some_and(|it| it.starts_with(&world.repos[repo]));
        let words = |head: &str| {
            world.does(&world.repos[repo], &["merge-base", "--is-ancestor", head.trim(), &kept])
        };
        of_it && head.is_some_and(|head| !words(&head))
    };
    world.trash().iter().any(is_unkept)
}

impl Play<'_> {
    /// The user works in a folder that is in the trash.
    pub fn in_trash(&mut self, repo: usize, deed: TrashDeed) {
        let world = self.world;
        let Some((item, life)) = item(world, repo) else { return };
        let (tree, text) = (item.folder.join("tree"), self.user.text());
        let number = self.user.tokens.len();
        let file = format!("late-{number}");
        let place = match deed {
            TrashDeed::EditUnseen => {
                if edit_unseen(world, &tree, &text).is_none() {
                    return;
                }
                self.user.lives[life].snapshot.look_again(&tree, "pad");
                Place::Files
            }
            TrashDeed::Untracked => {
                fs::write(tree.join(&file), &text).unwrap();
                self.user.lives[life].snapshot.look_again(&tree, &file);
                Place::Files
            }
            TrashDeed::Commit => {
                fs::write(tree.join(&file), &text).unwrap();
                let done = !self.user.is_frozen(life)
                    && world.does(&tree, &["add", "--", &file])
                    && world.does(&tree, &["commit", "--quiet", "-m", "late", "--", &file]);
                // Index and status are others now: the tokens tell. HEAD stays detached.
                let left = &mut self.user.lives[life];
                left.rebased = true;
                if let Some(entry) = item.entry.filter(|_| done) {
                    let there = Tree { entry, path: tree, locked: None };
                    let now = Snapshot::take(world, &there, Some(&left.snapshot));
                    left.snapshot.head = now.head;
                    left.snapshot.branch_status = now.branch_status;
                }
                if done { Place::Head } else { Place::Files }
            }
        };
        world.odd.borrow_mut().ever = true;
        world.tools.counts.add("deeds in the trash", 1);
        self.user.remember(text, place, format!("{deed:?}"), repo, Some(life));
    }

    /// Somebody writes into a folder in the trash while a command of ours puts it away.
    pub fn written_meanwhile(
        &mut self,
        repo: usize,
        writer: Writer,
        call: Call,
        delay: u64,
    ) -> Result<(), String> {
        let world = self.world;
        let found =
            item(world, repo).filter(|_| writer != Writer::Namespace || world.tools.can_mount);
        let Some((item, life)) = found else { return self.ours(&[(repo, call, Fault::None)]) };
        let (tree, text) = (item.folder.join("tree"), self.user.text());
        let file = format!("late-{}", self.user.tokens.len());
        let marks = ["sits", "wrote"].map(|name| world.folder.join(name));
        for mark in &marks {
            let _ = fs::remove_file(mark);
        }
        let view = world.folder.join("view");
        fs::create_dir_all(&view).unwrap();
        let [sits, wrote] = marks.each_ref().map(|mark| mark.display());
        let wait = format!("echo >'{sits}'; sleep {}.{:03}", delay / 1000, delay % 1000);
        let work = format!("echo {text} >{file} && echo >'{wrote}'; exec sleep 60");
        let (from, to) = (tree.display(), view.display());
        let script = match writer {
            Writer::Inside => format!("cd '{from}' && {{ {wait}; {work}; }}"),
            Writer::Namespace => {
                format!("mount --bind '{from}' '{to}' && cd '{to}' && {{ {wait}; {work}; }}")
            }
            // Whoever comes too late finds nothing.
            Writer::Outside => format!("{wait}; cd '{from}' && {{ {work}; }}"),
        };
        let mut command = world.command("sh", &world.folder);
        if writer == Writer::Namespace {
            command = world.command("unshare", &world.folder);
            command.args(["--mount", "sh"]);
        }
        command.args(["-c", &script]);
        let mut child = sit(&mut command, world);
        if !wait_for(&marks[0]) {
            return Err(format!("the writer in '{from}' did not start"));
        }
        let done = self.ours(&[(repo, call, Fault::None)]);
        let must = writer != Writer::Outside;
        let written = child.has_ended() || wait_for(&marks[1]);
        let written = written && marks[1].exists();
        let there = tree.join(&file).is_file();
        drop(child);
        done?;
        if written && !there {
            return Err(format!("what was written to '{from}' meanwhile is gone"));
        }
        if must && !written {
            return Err(format!("'{from}' was in use and went away"));
        }
        if there {
            world.odd.borrow_mut().ever = true;
            world.tools.counts.add("written while it was put away", 1);
            self.user.lives[life].snapshot.look_again(&tree, &file);
            self.user.remember(text, Place::Files, format!("{writer:?}"), repo, Some(life));
        }
        Ok(())
    }
}

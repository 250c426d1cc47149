//! The model user: writes unique tokens in every way that git knows, and remembers what they did and
//! what they destroyed themselves.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::deed::Doer;
use crate::fresh;
use crate::plan::{Call, Deed, Fault, MainDeed, Setting, folder};
use crate::script::Scripts;
use crate::snapshot::Snapshot;
use crate::world::{Tree, World};

/// Where a token is, and so what may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the folder.
    Files,
    /// In the folder, ignored and not precious: a purge may free it.
    Ignored,
    /// In the entry: staged, or in the clone of a submodule.
    Entry,
    /// In a commit of a detached HEAD.
    Head,
    /// In a commit that only the reflog of HEAD names.
    Reflog,
    /// In a commit that only a private ref names, which no gc heeds while the sandbox lives.
    PrivateRef,
    /// In a commit of a branch.
    Branch,
    /// In the stash.
    Stash,
    /// In the main checkout.
    Main,
    /// In a commit that was made inside walls.
    Walls,
    /// In the log or the record of a run.
    Log,
}

#[derive(Debug)]
pub struct Token {
    pub text: String,
    pub place: Place,
    pub deed: String,
    pub repo: usize,
    /// The sandbox it was written in.
    pub owner: Option<usize>,
    pub destroyed: bool,
    /// Whether any gc may take it while its sandbox lives, since git heeds nothing that leads to it.
    pub fragile: bool,
    /// The file, where the user may delete it again.
    pub file: Option<String>,
}

/// A sandbox from its creation to its end, wherever it is.
#[derive(Debug)]
pub struct Life {
    pub repo: usize,
    pub entry: PathBuf,
    pub name: String,
    pub snapshot: Snapshot,
    /// All that HEAD ever said.
    heads: HashSet<String>,
    /// Whether there is something in it that only force may take.
    pub work: bool,
    /// Work that git status does not tell.
    pub unseen_work: bool,
    /// Whether an operation or hidden edits forbid all but new files.
    pub frozen: bool,
    /// Whether the user deleted its folder.
    pub deleted: bool,
    /// Whether a rebase of ours may have changed it since: then only its tokens tell.
    pub rebased: bool,
    /// What HEAD may say since a renaming was asked for.
    renamed: HashSet<String>,
    /// The name that its folder had when it was last seen.
    pub called: String,
    /// Whether commands ran confined in it: what they did is taken over some time, so only its files
    /// are compared.
    pub walls: bool,
}

#[derive(Default)]
pub struct User {
    pub lives: Vec<Life>,
    pub tokens: Vec<Token>,
    pub scripts: Scripts,
    pub run: u64,
}

impl Life {
    /// What is not as it was left, as far as that can be said.
    pub fn differs(&self, now: &Snapshot, alone: bool, name: &str, reaped: bool) -> Option<String> {
        let moved = name != self.name;
        match self.walls {
            true => self.snapshot.files().differs(&now.files(), false, moved, reaped),
            false => self.snapshot.differs(now, alone, moved, reaped),
        }
    }

    /// Its user did something in it.
    pub fn is_left(&mut self, tree: &Tree, now: Snapshot) {
        self.heads.insert(now.head.clone());
        self.work = match self.walls {
            true => self.work,
            false => now.has_work() || self.unseen_work,
        };
        self.snapshot = now;
        self.name = tree.name();
    }

    /// Knows it by the name that a renaming, or the end of one, gave it.
    fn follow(&mut self, tree: &Tree) {
        self.called = tree.name();
        let head = fs::read_to_string(tree.entry.join("HEAD")).unwrap_or_default();
        if head == self.snapshot.head || !self.renamed.contains(&head) {
            return;
        }
        let name = head.trim_end().strip_prefix("ref: refs/heads/").unwrap_or_default();
        let named = |line: &String| line.starts_with("# branch.head ");
        self.snapshot.branch_status.retain(|line| !named(line));
        self.snapshot.branch_status.insert(format!("# branch.head {name}"));
        self.snapshot.head = head;
    }
}

impl User {
    pub fn new(run: u64) -> User {
        User { run, ..User::default() }
    }

    /// Which life an entry has.
    pub fn life_of(entry: &Path) -> Option<usize> {
        fs::read_to_string(entry.join("sandbox.model")).ok()?.trim().parse().ok()
    }

    /// Sandboxes that are new to us get a number, in a file that stays with the entry.
    pub fn meet(&mut self, world: &World, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
        for repo in 0..world.repos.len() {
            for tree in world.trees(repo) {
                // A kill after the last step of a restore from the vault leaves a copy there, which may be
                // brought back beside what came of the first.
                let copy = |life: &usize| {
                    let entry = &self.lives[*life].entry;
                    *entry != tree.entry && User::life_of(entry) == Some(*life)
                };
                let known = User::life_of(&tree.entry).filter(|life| !copy(life));
                if let Some(number) = known.filter(|_| tree.is_live() && !tree.is_renaming()) {
                    self.lives[number].follow(&tree);
                }
                let ours = tree.is_creating() || tree.is_merging();
                if known.is_some() || !tree.is_live() || ours || tree.is_pinned() {
                    continue;
                }
                if User::life_of(&tree.entry).is_none() {
                    fresh::check(world, repo, &tree, calls)?;
                }
                fs::write(tree.entry.join("sandbox.model"), format!("{}\n", self.lives.len()))
                    .unwrap();
                let snapshot = Snapshot::take(world, &tree, None);
                // Its whole index says that nothing ever changes.
                let unseeing = world.odd.borrow().settings.contains(&(repo, Setting::IgnoreStat));
                self.lives.push(Life {
                    repo,
                    entry: tree.entry.clone(),
                    name: tree.name(),
                    work: snapshot.has_work(),
                    heads: HashSet::from([snapshot.head.clone()]),
                    snapshot,
                    unseen_work: false,
                    frozen: unseeing,
                    deleted: false,
                    rebased: false,
                    renamed: HashSet::new(),
                    called: tree.name(),
                    walls: false,
                });
            }
        }
        Ok(())
    }

    /// The next token.
    pub fn text(&self) -> String {
        format!("tok{}x{}z", self.run, self.tokens.len())
    }

    /// Does something in the main checkout.
    pub fn work_in_main(&mut self, world: &World, repo: usize, deed: MainDeed) {
        let (dir, text) = (&world.repos[repo], self.text());
        let mut file = format!("main-{}", self.tokens.len());
        if let MainDeed::InTheWay(name) = deed {
            let words = ["diff", "--name-only", "--diff-filter=A", "main", name, "--"];
            let added = world.says(dir, &words).unwrap_or_default();
            let free = |name: &&str| dir.join(name).symlink_metadata().is_err();
            let Some(name) = added.lines().find(free) else { return };
            if self.tokens.len().is_multiple_of(2) {
                fs::create_dir_all(dir.join(".git/info")).unwrap();
                fs::write(dir.join(".git/info/exclude"), format!("/{name}\n")).unwrap();
            }
            name.clone_into(&mut file);
        }
        let path = dir.join(&file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(path, &text).unwrap();
        let done = match deed {
            MainDeed::Untracked | MainDeed::InTheWay(_) => true,
            MainDeed::Staged => world.does(dir, &["add", "--", &file]),
            MainDeed::Commit => {
                world.does(dir, &["add", "--", &file])
                    && world.does(dir, &["commit", "--quiet", "-m", "main", "--", &file])
            }
        };
        if done {
            self.remember(text, Place::Main, format!("{deed:?}"), repo, None);
        }
    }

    /// A rebase of ours may move a branch, and the files of its sandbox with it.
    pub fn may_be_rebased(&mut self, repo: usize, name: &'static str) {
        let head = format!("ref: refs/heads/{name}\n");
        let lives = self.lives.iter_mut().filter(|life| life.repo == repo);
        for life in lives.filter(|life| life.snapshot.head == head) {
            life.rebased = true;
        }
    }

    /// A sandbox may be called otherwise soon, and its branch with it.
    pub fn may_be_renamed(&mut self, repo: usize, name: &'static str, new: &'static str) {
        let head = |name: &str| format!("ref: refs/heads/{name}\n");
        let lives = self.lives.iter_mut().filter(|life| life.repo == repo);
        for life in lives {
            let on_it = life.snapshot.head == head(name) || life.renamed.contains(&head(name));
            if on_it || life.called == folder(name) {
                life.renamed.extend([life.snapshot.head.clone(), head(new)]);
                life.heads.insert(head(new));
            }
        }
    }

    /// Notes a token that is where it should be.
    pub fn remember(
        &mut self,
        text: String,
        place: Place,
        deed: String,
        repo: usize,
        owner: Option<usize>,
    ) -> &mut Token {
        let token =
            Token { text, place, deed, repo, owner, destroyed: false, fragile: false, file: None };
        self.tokens.push(token);
        self.tokens.last_mut().unwrap()
    }

    /// Does something in a sandbox, if it is there. What was not as it had been left before.
    pub fn work(
        &mut self,
        world: &World,
        repo: usize,
        name: &'static str,
        deed: Deed,
    ) -> Result<(), String> {
        let trees = world.trees(repo);
        let named = |tree: &&Tree| tree.name() == folder(name) && tree.is_live();
        let Some(tree) = trees.iter().find(named).filter(|tree| !tree.is_creating()) else {
            world.log("  no such sandbox");
            return Ok(());
        };
        // One that was never whole is nobody's yet.
        let Some(number) = User::life_of(&tree.entry) else { return Ok(()) };
        // Until the next command has mended it, git finds no submodule in a folder that was moved.
        if tree.is_renaming() && tree.entry.join("modules").is_dir() {
            world.log("  its renaming is not completed");
            return Ok(());
        }
        // A crash may have left it half restored: then HEAD is still detached.
        let alone = self.is_alone(world, number) && !tree.is_pinned() && !tree.is_renaming();
        let life = &self.lives[number];
        let now = Snapshot::take(world, tree, Some(&life.snapshot));
        let difference = life.differs(&now, alone, &tree.name(), world.reaped.get());
        if let Some(difference) = difference.filter(|_| !life.rebased && !life.deleted) {
            return Err(format!("'{name}' is not as it was left\n{difference}"));
        }
        // Brought back without the files that the user had deleted: it lives on with what there is.
        if life.deleted {
            self.lives[number].deleted = false;
            self.lives[number].is_left(tree, now.clone());
        }
        let life = &self.lives[number];
        let plain = [
            Deed::Unstaged,
            Deed::EditUnseen,
            Deed::CaseTwin,
            Deed::Untracked,
            Deed::Ignored,
            Deed::Precious,
            Deed::Symlink,
            Deed::Lock,
            Deed::DeleteFile,
            Deed::DeleteFolder,
        ];
        let odd = world.odd.borrow().settings.iter().any(|(there, _)| *there == repo);
        if (life.frozen || odd) && !plain.contains(&deed) {
            return Ok(());
        }
        let doer = Doer { world, repo, number, dir: &tree.path, tree, deed };
        let done = doer.act(self);
        if done.is_none() {
            world.log("  did not work out");
        }
        let life = &mut self.lives[number];
        if !life.deleted {
            // A lock may have been set.
            let locked = fs::read_to_string(tree.entry.join("locked")).ok();
            let tree = Tree { entry: tree.entry.clone(), path: tree.path.clone(), locked };
            let mut after = Snapshot::take(world, &tree, Some(&life.snapshot));
            // What a restore will put right is not the user's doing.
            let detached = tree.is_pinned() && !now.head.starts_with("ref: ");
            if (detached || tree.is_renaming()) && after.head == now.head {
                after.head.clone_from(&life.snapshot.head);
                // What was committed meanwhile is.
                let is_id = |line: &&String| line.starts_with("# branch.oid");
                let ids = after.branch_status.iter().filter(is_id);
                let others = life.snapshot.branch_status.iter().filter(|line| !is_id(line));
                after.branch_status = ids.chain(others).cloned().collect();
            }
            life.heads.insert(after.head.clone());
            life.snapshot = after;
            life.rebased = false;
            // What is committed inside walls is work outside until it is taken over.
            life.work = life.unseen_work || (life.snapshot.has_work() && !life.walls);
            life.name = tree.name();
        }
        Ok(())
    }

    /// Whether no other sandbox was ever on its branch, nor is one now that came and went unseen.
    pub fn is_alone(&self, world: &World, number: usize) -> bool {
        let Life { repo, entry, snapshot, renamed, .. } = &self.lives[number];
        // A renaming that a crash stopped may have been completed unseen.
        let is_its = |head: &String| *head == snapshot.head || renamed.contains(head);
        let same = |other: &&Life| other.repo == *repo && other.heads.iter().any(is_its);
        let on_it = |tree: &Tree| {
            let head = fs::read_to_string(tree.entry.join("HEAD")).unwrap_or_default();
            tree.entry != *entry && is_its(&head)
        };
        !snapshot.head.starts_with("ref: ")
            || (self.lives.iter().filter(same).count() == 1
                && !world.trees(*repo).iter().any(on_it))
    }

    /// Which tokens were not found, in words, among those not destroyed that should be there.
    pub fn lost(&self, found: &HashSet<String>, wanted: impl Fn(&Token) -> bool) -> String {
        let wanted = |token: &&Token| !token.destroyed && wanted(token);
        let lost = self.tokens.iter().filter(wanted).filter(|token| !found.contains(&token.text));
        let lines = lost.map(|token| {
            let Token { text, deed, place, repo, .. } = token;
            let life = token.owner.map_or("main", |owner| self.lives[owner].name.as_str());
            format!("  {text} ({deed}, {place:?}, in '{life}' of repository {repo})\n")
        });
        lines.collect()
    }

    /// The tokens of a life that are in one of these places are gone by the user's own will.
    pub fn destroy(&mut self, number: usize, places: &[Place]) {
        let owned = self.tokens.iter_mut().filter(|token| token.owner == Some(number));
        for token in owned.filter(|token| places.contains(&token.place)) {
            token.destroyed = true;
        }
    }

    /// What a rule ignores when its sandbox is removed may be freed with it; also what is brought back
    /// and removed by commands that run at once.
    pub fn heed_rules(&mut self, world: &World, at_once: bool) {
        for repo in &world.odd.borrow().excluded {
            let safe = crate::oracle::safe(world, self, *repo);
            for token in self.tokens.iter_mut().filter(|token| token.repo == *repo) {
                let removed = token.owner.is_some_and(|life| safe.contains(&life));
                if token.deed == "Untracked" && token.place == Place::Files && (at_once || !removed)
                {
                    token.place = Place::Ignored;
                }
            }
        }
    }

    /// The tokens of a life that are in one of these places are safe in trash and vault only.
    pub fn make_fragile(&mut self, number: usize, places: &[Place]) {
        let owned = self.tokens.iter_mut().filter(|token| token.owner == Some(number));
        for token in owned.filter(|token| places.contains(&token.place)) {
            token.fragile = true;
        }
    }

    /// A gc takes what it does not heed of sandboxes that are neither in the trash nor in the vault.
    pub fn suffer_gc(&mut self, repo: usize, safe: &HashSet<usize>) {
        let here = self.tokens.iter_mut().filter(|token| token.repo == repo && token.fragile);
        for token in here.filter(|token| !token.owner.is_some_and(|life| safe.contains(&life))) {
            token.destroyed = true;
        }
    }

    /// Whether its commits stand or fall with the reflog.
    pub fn is_frozen(&self, number: usize) -> bool {
        self.lives[number].frozen
    }
}

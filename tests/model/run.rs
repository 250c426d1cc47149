//! One run: its plan, step by step, then the oracle.

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;

use crate::absent;
use crate::fresh;
use crate::hooks;
use crate::leftover;
use crate::oracle::{self, Untouched};
use crate::ours;
use crate::plan::{Beside, Call, Fault, Foreign, Plan, Sitter, Step, folder, is_called};
use crate::settings;
use crate::user::{Place, Token, User};
use crate::world::{Tools, World};

/// Runs it; what went wrong, in words, with the folder that is kept.
pub fn run(tools: &Tools, seed: u64, number: u64) -> Result<(), String> {
    let plan = crate::draw::plan(seed, number);
    let world = World::new(tools, number, plan.repositories, plan.disk);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut play = Play {
            world: &world,
            user: User::new(number),
            untouched: None,
            packed: false,
            half: None,
        };
        play.all(&plan)
    }));
    let played = played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>();
        Err(text.cloned().unwrap_or_else(|| "the test itself panicked".to_owned()))
    });
    world.end_all();
    if let Err(wrong) = played {
        if world.mounted.is_some() {
            crate::world::copy(&world.home, &world.folder.join("copy-of-home"));
            world.unmount();
        }
        let steps: Vec<String> = plan.steps.iter().map(|step| format!("  {step:?}\n")).collect();
        let steps = steps.concat();
        let (kept, git) = (world.folder.display(), world.git.display());
        let disk = plan.disk;
        return Err(format!("{wrong}\nplan ({git}, disk {disk:?}):\n{steps}kept: {kept}"));
    }
    world.unmount();
    fs::remove_dir_all(&world.folder).unwrap();
    Ok(())
}

pub struct Play<'a> {
    pub world: &'a World<'a>,
    pub user: User,
    /// As it was before the next command of ours, unless somebody else was at work since.
    untouched: Option<Untouched>,
    /// Whether a gc has packed objects.
    packed: bool,
    /// The repository whose main checkout a merge has left half way, and all as it was before.
    half: Option<(usize, Untouched)>,
}

impl Play<'_> {
    fn all(&mut self, plan: &Plan) -> Result<(), String> {
        for (number, step) in plan.steps.iter().enumerate() {
            self.world.log(&format!("---- {number}: {step:?}"));
            self.step(step).map_err(|wrong| format!("step {number}, {step:?}: {wrong}"))?;
        }
        self.world.end_all();
        self.user.hear(self.world, &[])?;
        (0..self.world.repos.len()).for_each(|repo| absent::come_back(self.world, repo));
        oracle::judge(self.world, &mut self.user, self.packed)
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.works_in().is_some_and(|repo| absent::is_away(self.world, repo)) {
            self.world.log("  out of reach");
            return Ok(());
        }
        match step {
            Step::Setting(repo, setting) => {
                (self.untouched, self.half) = (None, None);
                settings::change(self.world, *repo, *setting);
                Ok(())
            }
            Step::InTrash(repo, deed) => {
                self.untouched = None;
                self.in_trash(*repo, *deed);
                Ok(())
            }
            Step::Written(repo, writer, call, delay) => {
                self.written_meanwhile(*repo, *writer, *call, *delay)
            }
            Step::Away(repo) | Step::Back(repo) => {
                (self.untouched, self.half) = (None, None);
                self.world.end_all();
                self.user.hear(self.world, &[])?;
                match step {
                    Step::Away(_) => absent::go(self.world, *repo),
                    _ => absent::come_back(self.world, *repo),
                }
                Ok(())
            }
            Step::User(repo, name, deed) => {
                self.untouched = None;
                self.user.work(self.world, *repo, name, *deed)
            }
            Step::Main(repo, deed) => {
                (self.untouched, self.half) = (None, None);
                self.user.work_in_main(self.world, *repo, *deed);
                Ok(())
            }
            Step::Ours(repo, call, fault) => self.ours(&[(*repo, *call, *fault)]),
            Step::AtOnce(calls) => self.ours(calls),
            Step::Edited(repo, donor, calls) => self.edited(*repo, *donor, calls),
            Step::Clock(days) => {
                self.world.wait_days(*days);
                Ok(())
            }
            Step::Foreign(repo, what) => {
                self.untouched = None;
                // What a killed git left may stop another one, until the next command of ours.
                let done = self.foreign(*repo, *what);
                if self.world.killed.get() { Ok(()) } else { done }
            }
            Step::InUse(repo, name, sitter, call) => self.in_use(*repo, name, *sitter, *call),
            Step::Beside(repo, call, what, delay) => self.beside(*repo, *call, *what, *delay),
            Step::Hooks(repo, what) => {
                (self.untouched, self.half) = (None, None);
                hooks::install(self.world, *repo, *what);
                Ok(())
            }
        }
    }

    pub fn ours(&mut self, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
        let world = self.world;
        let calls = self.user.scripts.announce(world, &self.user.lives, calls);
        let calls = &calls[..];
        if calls.is_empty() {
            return Ok(());
        }
        let before = self.untouched.take().unwrap_or_else(|| Untouched::look(world));
        let work = oracle::with_work(world, &self.user);
        self.user.heed_rules(world, calls.len() > 1);
        for (repo, call, _) in calls {
            if let Call::PurgeNamed(name) = call
                && !absent::is_away(world, *repo)
            {
                self.asked_for(*repo, name, calls.len() > 1);
            }
        }
        for (repo, call, _) in calls {
            if let Call::NewWithChanges(name) = call {
                world.carried.borrow_mut().insert((*repo, folder(name).to_owned()));
            }
            if let Call::Rename(name, new) = call {
                self.user.may_be_renamed(*repo, name, new);
            }
        }
        ours::run(world, calls)?;
        self.user.hear(world, calls)?;
        before.check(world, calls)?;
        for (repo, call, _) in calls {
            if let Call::MergeRebased(name) = call {
                self.user.may_be_rebased(*repo, name);
            }
        }
        self.mend(before, calls)?;
        oracle::still_there(world, &self.user, &work, calls)?;
        self.user.meet(world, calls)
    }

    /// The user edits files that a new sandbox may get copies of, and puts them back.
    fn edited(
        &mut self,
        repo: usize,
        donor: Option<&'static str>,
        calls: &[Call],
    ) -> Result<(), String> {
        let calls: Vec<_> = calls.iter().map(|call| (repo, *call, Fault::None)).collect();
        let Some(dir) = fresh::donor(self.world, repo, donor) else { return self.ours(&calls) };
        // Taken before anything is edited.
        self.untouched = Some(Untouched::look(self.world));
        let stop = AtomicBool::new(false);
        let world = self.world;
        let (done, before) = std::thread::scope(|scope| {
            let editor = fresh::Editor::start(scope, dir, &stop);
            let before = self.untouched.take();
            let work = oracle::with_work(world, &self.user);
            let done = ours::run(world, &calls);
            editor.end();
            (done.and_then(|()| oracle::still_there(world, &self.user, &work, &calls)), before)
        });
        done?;
        if let Some(before) = before {
            before.check(world, &calls)?;
        }
        self.user.meet(world, &calls)
    }

    /// A landing that was stopped half way is mended by the next command, exactly.
    fn mend(&mut self, before: Untouched, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
        if let Some((repo, whole)) = self.half.take() {
            let now = Untouched::look(self.world);
            if now.is_landing(repo) {
                self.half = Some((repo, whole));
                return Ok(());
            }
            // Another merge may have come to its end since.
            return match calls.iter().any(|(_, call, _)| call.merges()) {
                true => Ok(()),
                false => whole.check_mended(self.world, repo),
            };
        }
        let now = Untouched::look(self.world);
        let stopped = |repo: &usize| now.is_landing(*repo) && !before.is_landing(*repo);
        if let Some(repo) = (0..self.world.repos.len()).find(stopped) {
            self.half = Some((repo, before));
        }
        Ok(())
    }

    /// The user works in the main checkout while a command of ours runs there too.
    fn beside(&mut self, repo: usize, call: Call, what: Beside, delay: u64) -> Result<(), String> {
        let world = self.world;
        (self.untouched, self.half) = (None, None);
        let (text, number) = (self.user.text(), self.user.tokens.len());
        let work = match what {
            Beside::Commit => format!(
                "echo {text} >main-{number}; git add main-{number} && \
                 git commit -qm main -- main-{number}; true"
            ),
            // With something staged git refuses, by way of a stash that any other commit upsets.
            Beside::Merge => format!(
                "git commit -qm staged; git diff --cached --quiet && git merge -q side; \
                 test -e .git/MERGE_HEAD && echo {text} >a && git add a"
            ),
            Beside::Switch => {
                format!("echo {text} >main-{number}; git checkout -qb b{number}; true")
            }
        };
        let script = format!("sleep {}.{:03}; {work}", delay / 1000, delay % 1000);
        let mut command = world.command("sh", &world.repos[repo]);
        let log = world.log_file();
        command.args(["-c", &script]).stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = command.spawn().unwrap();
        let work = oracle::with_work(world, &self.user);
        let done = ours::run(world, &[(repo, call, Fault::None)]);
        if child.wait().unwrap().success() {
            self.user.remember(text, Place::Main, format!("{what:?}"), repo, None);
        }
        done?;
        oracle::still_there(world, &self.user, &work, &[(repo, call, Fault::None)])?;
        if let Call::MergeRebased(name) = call {
            self.user.may_be_rebased(repo, name);
        }
        self.user.meet(world, &[])
    }

    /// What is purged by name goes with all its files, and with the commits that only it held; also what
    /// only comes into the trash meanwhile.
    fn asked_for(&mut self, repo: usize, name: &'static str, at_once: bool) {
        // What is not registered is in the trash or in the vault.
        let trees = self.world.trees(repo);
        let live: HashSet<usize> =
            trees.iter().filter_map(|tree| User::life_of(&tree.entry)).collect();
        for number in 0..self.user.lives.len() {
            let life = &self.user.lives[number];
            let on_branch = life.snapshot.head == format!("ref: refs/heads/{name}\n");
            let named = on_branch || is_called(&life.name, name) || is_called(&life.called, name);
            if life.repo == repo && named && (at_once || !live.contains(&number)) {
                let files = [Place::Files, Place::Ignored, Place::Entry];
                let commits = [Place::Head, Place::Reflog, Place::PrivateRef];
                let runs = [Place::Walls, Place::Log];
                self.user.destroy(number, &[&files[..], &commits, &runs].concat());
            }
        }
    }

    fn foreign(&mut self, repo: usize, what: Foreign) -> Result<(), String> {
        let path = &self.world.repos[repo];
        if !matches!(what, Foreign::Prune) && leftover::is_unkept(self.world, repo) {
            self.world.log("  a commit made in the trash is kept from the next reap on");
            return Ok(());
        }
        match what {
            Foreign::Gc => {
                self.packed = true;
                self.user.suffer_gc(repo, &oracle::safe(self.world, &self.user, repo));
                oracle::collect_garbage(self.world, path, true)
            }
            Foreign::Prune => {
                // What is missing and not locked goes with its entry.
                for tree in self.world.trees(repo) {
                    if let Some(life) = User::life_of(&tree.entry)
                        && tree.locked.is_none()
                        && !tree.path.join(".git").exists()
                    {
                        let deleted = self.user.lives[life].deleted;
                        // In the trash as an orphan, and no command of ours has come to adopt it yet: it
                        // is git's to drop, and its files would come back as a plain folder.
                        if !deleted && self.world.was_away.get() {
                            self.world.log("  its user knows better");
                            return Ok(());
                        }
                        assert!(deleted, "{} could be pruned", tree.entry.display());
                        let places = [Place::Entry, Place::Head, Place::Reflog, Place::PrivateRef];
                        let places = [&places[..], &[Place::Walls, Place::Log]].concat();
                        self.user.destroy(life, &places);
                    }
                }
                let done = self.world.does(path, &["worktree", "prune", "--expire=now"]);
                done.then_some(()).ok_or_else(|| "git worktree prune failed".to_owned())
            }
            Foreign::ExpireReflogs => self.expire(repo, path),
        }
    }

    fn expire(&mut self, repo: usize, path: &Path) -> Result<(), String> {
        // git's own gc then drops a commit that the state of a rebase names, and fails on that state.
        let rebases = |tree: &crate::world::Tree| {
            ["rebase-merge", "rebase-apply"].iter().any(|name| tree.entry.join(name).exists())
        };
        if self.world.trees(repo).iter().any(rebases) {
            self.world.log("  a rebase is in progress: git would break it");
            return Ok(());
        }
        let safe = oracle::safe(self.world, &self.user, repo);
        self.user.suffer_gc(repo, &safe);
        let lives: Vec<usize> =
            (0..self.user.lives.len()).filter(|life| self.user.lives[*life].repo == repo).collect();
        for life in lives.iter().filter(|life| !safe.contains(life)) {
            self.user.destroy(*life, &[Place::Reflog, Place::PrivateRef]);
            if self.user.is_frozen(*life) {
                self.user.destroy(*life, &[Place::Head]);
            }
        }
        for token in self.user.tokens.iter_mut().filter(|token| token.repo == repo) {
            token.destroyed |= token.place == Place::Stash;
        }
        let words = ["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"];
        if !self.world.does(path, &words) {
            return Err("git reflog expire failed".to_owned());
        }
        oracle::collect_garbage(self.world, path, self.packed)?;
        // In trash and vault all of it is safe, but for what is ignored. Back in its place, what only a
        // private ref or the state of an operation names is as safe as git keeps it: not at all.
        let found = oracle::search(self.world);
        let kept = !self.world.reaped.get();
        for life in lives.into_iter().filter(|life| safe.contains(life)) {
            let forgot = self.world.forgot.get();
            let wanted = |token: &Token| {
                let is_told = match token.place {
                    // The vault has the objects of a quarantine as files: they are seen once it is back.
                    Place::Ignored | Place::Walls => kept,
                    Place::Log => !forgot,
                    _ => true,
                };
                token.owner == Some(life) && is_told
            };
            let lost = self.user.lost(&found, wanted);
            assert!(lost.is_empty(), "lost:\n{lost}");
            self.user.make_fragile(life, &[Place::PrivateRef]);
            if self.user.is_frozen(life) {
                self.user.make_fragile(life, &[Place::Head, Place::Reflog]);
            }
        }
        Ok(())
    }

    /// Nothing but force twice takes a sandbox in use.
    fn in_use(
        &mut self,
        repo: usize,
        name: &'static str,
        sitter: Sitter,
        call: Call,
    ) -> Result<(), String> {
        let world = self.world;
        let trees = world.trees(repo);
        let named = |tree: &&crate::world::Tree| tree.name() == folder(name) && tree.is_live();
        let Some(tree) = trees.iter().find(named).filter(|tree| !tree.is_creating()) else {
            return Ok(());
        };
        let started = world.folder.join("sits");
        let _ = fs::remove_file(&started);
        let script = format!("echo >'{}'; exec sleep 60", started.display());
        let mut command = match sitter {
            Sitter::Ours => {
                let mut command = world.command(&world.tools.program, &world.repos[repo]);
                command.args(["run", folder(name), "--", "sh", "-c", &script]);
                command
            }
            Sitter::Foreign => {
                let mut command = world.command("sh", &tree.path);
                command.args(["-c", &script]);
                command
            }
        };
        let child = sit(&mut command, world);
        let sits = wait_for(&started);
        if !sits {
            world.log("  nobody sits there");
        }
        world.wait_days(400);
        let done = self.ours(&[(repo, call, Fault::None)]);
        let there = tree.path.join(".git").exists();
        ours::kill_group(&child.0);
        drop(child);
        done?;
        match there || !sits {
            true => Ok(()),
            false => Err(format!("'{name}' was in use and was taken")),
        }
    }
}

/// A process that is killed with its group.
pub struct Sits(Child);

impl Sits {
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Sits {
    fn drop(&mut self) {
        ours::kill_group(&self.0);
        let _ = self.0.wait();
    }
}

pub fn sit(command: &mut Command, world: &World) -> Sits {
    let log = world.log_file();
    command.env("TORTURE_SITS", "1");
    command.stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
    Sits(command.spawn().unwrap())
}

/// Whether a file appears.
pub fn wait_for(path: &Path) -> bool {
    (0..3000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        path.exists()
    })
}

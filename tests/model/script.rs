//! Scripts that the user has us run in a sandbox: in the foreground, in the background, confined. They
//! write tokens, and say so on their stdout once each is where it should be: only then it counts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::plan::{Call, Fault, folder};
use crate::random::Random;
use crate::rename;
use crate::snapshot::Snapshot;
use crate::user::{Life, Place, Token, User};
use crate::world::{Tree, World, folders_in};

/// How a script is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Foreground,
    Background,
    /// In the background; it fails and is started again.
    Restarted,
    /// In the background; it stays until it is ended.
    Lasting,
    /// Inside the walls of namespaces.
    Confined,
    /// Inside the weaker walls.
    Landlocked,
}

impl How {
    pub fn words(self) -> &'static [&'static str] {
        match self {
            How::Foreground => &["run"],
            How::Background | How::Lasting => &["run", "--background"],
            How::Restarted => &["run", "--background", "--restart=2"],
            How::Confined => &["run", "--confine"],
            How::Landlocked => &["run", "--confine=landlock"],
        }
    }

    pub fn has_walls(self) -> bool {
        matches!(self, How::Confined | How::Landlocked)
    }

    fn has_log(self) -> bool {
        matches!(self, How::Background | How::Restarted | How::Lasting)
    }
}

/// A script; its tokens have the numbers from ten times its own on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Script {
    number: u64,
    pub text: &'static str,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{}", self.number)
    }
}

/// What every script begins with: where HEAD is, and how to say that a token is written.
const LEAD: &str = "w() { read -r _ g <.git; read -r _ b <\"$g/HEAD\" 2>/dev/null; \
                    echo \"wrote $1 $2 ${GIT_SANDBOX_CONFINED:-0} $b\"; }";

impl Script {
    /// Draws one of a few parts. The text lives as long as the test: a plan is made of words that do.
    pub fn draw(random: &mut Random, run: u64, script: u64, how: How) -> Script {
        let number = 100 + script;
        let mut lines = vec![LEAD.to_owned()];
        // Not in one piece: the words of a command are written down, and prove nothing.
        let token = |id: u64| format!("tok{run}x{id}''z");
        let kinds = if how.has_walls() { 6 } else { 4 };
        for part in 0..=random.below(2) {
            let id = number * 10 + 2 * part;
            let (first, second) = (token(id), token(id + 1));
            let line = match random.below(kinds) {
                0 | 4 => format!(
                    "echo {first} >s{id} && git add s{id} && git commit -qm s -- s{id} && w {id} commit"
                ),
                // A second start must not write over what the first has written.
                1 => format!(
                    "[ ! -e s{id} ] && echo {first} >s{id} && git add s{id} && echo {second} >s{id} && \
                     w {id} staged && w {} file",
                    id + 1
                ),
                2 => format!("mkdir -p made && echo {first} >made/s{id} && w {id} file"),
                3 => format!(
                    "echo {first} >s{id} && git add s{id} && git stash push -q -- s{id} && w {id} stash"
                ),
                _ => format!(
                    "b=$(echo {first} | git hash-object -w --stdin) && \
                     t=$(printf '100644 blob %s\\tx\\n' $b | git mktree) && \
                     c=$(git commit-tree -m side $t) && git branch side{id} $c && w {id} branch"
                ),
            };
            lines.push(line);
        }
        if how.has_log() {
            let (log, words) = (number * 10 + 8, number * 10 + 9);
            let words = format!("w {words} log # tok{run}x{words}z");
            lines.push(format!("echo {}; w {log} log; {words}", token(log)));
        }
        lines.push(match how {
            How::Lasting => format!("echo lasts{number}; exec sleep 60"),
            How::Restarted => "exit 3".to_owned(),
            _ if random.percent(20) => "exit 3".to_owned(),
            _ => ":".to_owned(),
        });
        Script { number, text: lines.join("\n").leak() }
    }
}

/// Which levels of confinement this machine has.
pub fn walls(folder: &Path) -> Vec<How> {
    let program = assert_cmd::cargo::cargo_bin!("git-sandbox");
    let mut command = Command::new(program);
    let output = command.args(["doctor", "--confine"]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let has = |level: &str| said.contains(&format!("--confine={level}: yes"));
    let mut walls = Vec::new();
    walls.extend(has("full").then_some(How::Confined));
    walls.extend(has("landlock").then_some(How::Landlocked));
    walls
}

/// The scripts that were started, and what they said.
#[derive(Default)]
pub struct Scripts {
    /// In which life each runs.
    lives: HashMap<u64, usize>,
    heard: HashSet<u64>,
}

impl Scripts {
    /// Leaves out the scripts that have no sandbox to run in, and remembers the others.
    pub fn announce(
        &mut self,
        world: &World,
        lives: &[Life],
        calls: &[(usize, Call, Fault)],
    ) -> Vec<(usize, Call, Fault)> {
        let mut kept = Vec::new();
        for (repo, call, fault) in calls {
            if let Call::Script(name, how, script) = call {
                let trees = world.trees(*repo);
                let named = |tree: &&Tree| tree.name() == folder(name) && tree.is_live();
                let whole = |tree: &&Tree| !tree.is_creating() && !tree.is_pinned();
                let tree = trees.iter().find(named).filter(whole);
                let life = tree.and_then(|tree| User::life_of(&tree.entry));
                let missing = how.has_walls() && !world.tools.walls.contains(how);
                let Some(life) = life.filter(|life| !lives[*life].frozen && !missing) else {
                    world.log(&format!("  no place for script {script:?}"));
                    continue;
                };
                self.lives.insert(script.number, life);
                world.tools.counts.add(
                    match how {
                        How::Foreground => "scripts run",
                        How::Confined | How::Landlocked => "scripts confined",
                        How::Background | How::Restarted | How::Lasting => {
                            "scripts in the background"
                        }
                    },
                    1,
                );
                for name in [*name, rename::other(name)] {
                    world.scripted.borrow_mut().insert((*repo, format!("refs/heads/{name}")));
                }
            }
            kept.push((*repo, *call, *fault));
        }
        kept
    }
}

/// Whether a branch on which scripts work has only gone on.
pub fn moved_on(world: &World, repo: usize, name: &str, (old, new): (&str, &str)) -> bool {
    world.scripted.borrow().contains(&(repo, name.to_owned()))
        && world.does(&world.repos[repo], &["merge-base", "--is-ancestor", old, new])
}

/// The log of each run of a sandbox, and the record of all.
pub fn logs(entry: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(entry).into_iter().flatten().flatten();
    let named = files.filter(|file| file.file_name().to_string_lossy().starts_with("sandbox.run"));
    named.map(|file| file.path()).collect()
}

fn all_logs(world: &World) -> Vec<String> {
    let folders = world.repos.iter().flat_map(|repo| {
        let git = repo.join(".git");
        [folders_in(&git.join("worktrees")), folders_in(&git.join("sandbox"))].concat()
    });
    let read = |path: PathBuf| fs::read(path).unwrap_or_default();
    let texts = folders.flat_map(|entry| logs(&entry)).map(read);
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Waits until a script that stays has come to its end, or is not there any more.
fn settled(world: &World, script: Script) -> bool {
    let (since, said) = (Instant::now(), format!("\nlasts{}\n", script.number));
    while since.elapsed() < Duration::from_secs(5) {
        let none = world.processes(true).is_empty();
        if none || all_logs(world).iter().any(|text| text.contains(&said)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Whether HEAD inside the walls is on a branch that it is not on outside: a take-over that failed left it
/// there, and the user went to another commit since.
fn is_on_another_branch_inside(tree: &Tree) -> bool {
    let head = |folder: &Path| fs::read_to_string(folder.join("HEAD")).unwrap_or_default();
    let inside = head(&tree.entry.join("confined/worktrees").join(tree.entry.file_name().unwrap()));
    inside.starts_with("ref: ") && inside != head(&tree.entry)
}

impl User {
    /// Takes note of what scripts have said, and of how these have left their sandboxes.
    pub fn hear(&mut self, world: &World, calls: &[(usize, Call, Fault)]) -> Result<(), String> {
        if self.scripts.lives.is_empty() {
            return Ok(());
        }
        let quiet = calls.iter().all(|(_, call, _)| match call {
            Call::Script(_, How::Lasting, script) => settled(world, *script),
            _ => true,
        });
        let mut texts = all_logs(world);
        texts.push(fs::read_to_string(world.log_path()).unwrap_or_default());
        for line in texts.iter().flat_map(|text| text.lines()) {
            self.listen(line);
        }
        for (repo, call, fault) in calls {
            let Call::Script(_, how, script) = call else { continue };
            let number = self.scripts.lives[&script.number];
            let trees = world.trees(*repo);
            let mut trees = trees.iter().filter(|tree| User::life_of(&tree.entry) == Some(number));
            let tree = trees.find(|tree| tree.is_live() && !tree.is_pinned());
            let life = &mut self.lives[number];
            life.walls |= how.has_walls();
            match tree.filter(|tree| quiet && !tree.is_renaming()) {
                Some(tree) => {
                    let now = Snapshot::take(world, tree, Some(&life.snapshot));
                    life.is_left(tree, now);
                }
                // Removed meanwhile: then only its tokens tell.
                None => life.rebased = true,
            }
            let alone = calls.len() == 1 && *fault == Fault::None && !world.killed.get();
            if let Some(tree) = tree.filter(|_| how.has_walls() && alone) {
                self.was_taken_over(world, tree, *script)?;
            }
        }
        Ok(())
    }

    /// What was committed inside walls is on the branch of the sandbox, or beside it where that was moved
    /// outside.
    fn was_taken_over(&mut self, world: &World, tree: &Tree, script: Script) -> Result<(), String> {
        let aside = ["for-each-ref", "--format=%(refname)", "refs/sandbox/confined-heads"];
        let aside = world.says(&tree.path, &aside).unwrap_or_default();
        let ids = script.number * 10..script.number * 10 + 8;
        let texts: HashSet<String> = ids.map(|id| format!("tok{}x{id}z", self.run)).collect();
        let on_branch =
            fs::read_to_string(tree.entry.join("HEAD")).is_ok_and(|head| head.starts_with("ref: "));
        let other_head = is_on_another_branch_inside(tree);
        let committed =
            |token: &&mut Token| token.deed == "script: commit" && texts.contains(&token.text);
        for token in self.tokens.iter_mut().filter(committed) {
            let has = |revision| world.does(&tree.path, &["grep", "-q", &token.text, revision]);
            if has("HEAD") {
                world.tools.counts.add("taken over", 1);
                token.place = if on_branch { Place::Branch } else { Place::Head };
            } else if aside.lines().any(has) {
                world.tools.counts.add("taken beside a branch that moved", 1);
            } else if other_head {
                world.tools.counts.add("stays inside, where another branch is checked out", 1);
            } else {
                return Err(format!("{} was not taken over", token.text));
            }
        }
        Ok(())
    }

    fn listen(&mut self, line: &str) {
        let mut words = line.split(' ');
        if words.next() != Some("wrote") {
            return;
        }
        let Some(id) = words.next().and_then(|id| id.parse::<u64>().ok()) else { return };
        let (Some(what), Some(walls)) = (words.next(), words.next()) else { return };
        let Some(number) = self.scripts.lives.get(&(id / 10)).copied() else { return };
        if !self.scripts.heard.insert(id) {
            return;
        }
        let on_branch = words.next().is_some_and(|head| head.starts_with("refs/heads/"));
        let has_walls = walls != "0";
        let place = match what {
            "commit" | "stash" | "branch" if has_walls => Place::Walls,
            "commit" if on_branch => Place::Branch,
            "commit" => Place::Head,
            "stash" => Place::Stash,
            "staged" => Place::Entry,
            "log" => Place::Log,
            _ => Place::Files,
        };
        let text = format!("tok{}x{id}z", self.run);
        let life = &mut self.lives[number];
        life.work |= matches!(place, Place::Files | Place::Entry);
        let repo = life.repo;
        self.remember(text, place, format!("script: {what}"), repo, Some(number));
    }
}

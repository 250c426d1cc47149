//! A sandbox as its user left it: every byte of it, its index, its status and the operation in progress.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::settings;
use crate::world::{Tree, World};

#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Files, index and state of operations, a line each.
    lines: BTreeSet<String>,
    /// What HEAD says.
    pub head: String,
    /// The status, without and with what it says about the branch.
    status: BTreeSet<String>,
    pub branch_status: BTreeSet<String>,
    /// Whether git may see the same files otherwise at another time.
    odd: bool,
    /// Whether git saw anything that is not committed.
    changed: bool,
    /// A lock of the user's.
    pub locked: Option<String>,
    /// Its own id and its task.
    record: BTreeSet<String>,
}

impl Snapshot {
    /// How a live sandbox is now. One that cannot be asked tells so in its status.
    pub fn take(world: &World, tree: &Tree, before: Option<&Snapshot>) -> Snapshot {
        let mut lines = BTreeSet::new();
        walk(&tree.path, "file", &mut lines, &|name, depth| depth == 0 && name == ".git");
        walk(&tree.entry, "state", &mut lines, &|name, depth| {
            let ours = ["gitdir", "locked", "index", "HEAD", "sandbox.model", "logs", "confined"];
            let ours = depth == 0 && (ours.contains(&name) || name.starts_with("sandbox."));
            // A killed git leaves its locks; the oracle asks for those.
            ours || Path::new(name).extension() == Some("lock".as_ref())
        });
        let head = fs::read_to_string(tree.entry.join("HEAD")).unwrap_or_default();
        let listed = world.ask(&tree.path, &["ls-files", "-s", "-v"]).stdout;
        lines.extend(text_lines(&listed).map(|line| format!("index {line}")));
        lines.extend(modules(world, tree));
        let words = ["--no-optional-locks", "status", "--porcelain=v2", "--branch", "--ignored"];
        let odd = world.odd.borrow().ever;
        let honest = if odd { &settings::HONEST[..] } else { &[] };
        let status = world.ask(&tree.path, &[honest, &words].concat());
        let said = text_lines(&status.stdout).chain([format!("{}", status.status)]);
        let (branch_status, status): (_, BTreeSet<String>) =
            said.partition(|line| line.starts_with('#'));
        let changed = status.iter().any(|line| line.starts_with(['1', '2', 'u', '?']));
        let status = if odd { BTreeSet::new() } else { status };
        let locked = match tree.is_pinned() || tree.is_renaming() {
            true => before.and_then(|before| before.locked.clone()),
            false => tree.locked.clone(),
        };
        let record = record(&tree.entry);
        Snapshot { lines, head, status, branch_status, odd, changed, locked, record }
    }

    /// Its files alone.
    pub fn files(&self) -> Snapshot {
        let lines = self.lines.iter().filter(|line| line.starts_with("file ")).cloned().collect();
        Snapshot { lines, locked: self.locked.clone(), odd: self.odd, ..Snapshot::default() }
    }

    /// Whether git sees anything in it that is not committed, or an operation in progress.
    pub fn has_work(&self) -> bool {
        let operations =
            ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "BISECT_LOG"];
        let operation = |line: &String| {
            let path = line.strip_prefix("state ").unwrap_or_default();
            operations.iter().any(|name| path.starts_with(name))
        };
        self.changed || self.lines.iter().any(operation)
    }

    /// What is not as it was. Where the branch may have been taken by another, HEAD may be detached;
    /// under another name, what names the folder may differ; once something may have been put away,
    /// ignored files may be gone, but for precious ones.
    pub fn differs(
        &self,
        now: &Snapshot,
        branch_free: bool,
        moved: bool,
        reaped: bool,
    ) -> Option<String> {
        let names_folder =
            |line: &str| moved && (line.contains("/.git ") || line.contains("state modules/"));
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<String> {
            one.difference(other).filter(|line| !names_folder(line)).cloned().collect()
        };
        let ignored = |line: &String| {
            let path = line.strip_prefix("file ").or_else(|| line.strip_prefix("! "));
            let path = path.unwrap_or_default().split(' ').next().unwrap_or_default();
            let log = Path::new(path).extension() == Some("log".as_ref());
            // A rule may have been added to ignore this.
            let new = now.odd && (path == "new" || path.starts_with("new/"));
            reaped && (path == "build" || path.starts_with("build/") || log || new)
        };
        let mut lost = only(&self.lines, &now.lines);
        let mut more = only(&now.lines, &self.lines);
        if !self.odd && !now.odd {
            lost.extend(only(&self.status, &now.status));
            more.extend(only(&now.status, &self.status));
        }
        lost.retain(|line| !ignored(line));
        if branch_free {
            lost.extend(only(&self.branch_status, &now.branch_status));
            more.extend(only(&now.branch_status, &self.branch_status));
            if self.head != now.head {
                lost.push(format!("HEAD {}", self.head.trim_end()));
                more.push(format!("HEAD {}", now.head.trim_end()));
            }
        }
        lost.extend(only(&self.record, &now.record));
        if self.locked != now.locked {
            lost.push(format!("lock {:?}", self.locked));
            more.push(format!("lock {:?}", now.locked));
        }
        if lost.is_empty() && more.is_empty() {
            return None;
        }
        let shown = |sign: &str, lines: &[String]| -> String {
            lines.iter().take(12).flat_map(|line| ["  ", sign, " ", line, "\n"]).collect()
        };
        Some(shown("-", &lost) + &shown("+", &more))
    }
}

/// Where git finds each submodule and what is checked out there: pointers lead where they should, in a
/// folder of another name too.
fn modules(world: &World, tree: &Tree) -> Vec<String> {
    if !tree.entry.join("modules").is_dir() {
        return Vec::new();
    }
    let there = ["sub", "sub/deep"].map(|name| (name, tree.path.join(name)));
    let there = there.into_iter().filter(|(_, dir)| dir.join(".git").exists());
    let lines = there.map(|(name, dir)| {
        let words = ["rev-parse", "HEAD", "--absolute-git-dir", "--show-toplevel"];
        let said = world.says(&dir, &words).unwrap_or_default();
        let said = said.replace(&tree.entry.display().to_string(), "<entry>");
        let said = said.replace(&tree.path.display().to_string(), "<folder>");
        format!("module {name} {}", said.lines().collect::<Vec<_>>().join(" "))
    });
    lines.collect()
}

/// What is written down about a sandbox and stays with it: its own id and, once there is one, a task.
fn record(entry: &Path) -> BTreeSet<String> {
    let bytes = fs::read(entry.join("sandbox.json")).unwrap_or_default();
    let facts: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let said = ["id", "task"].into_iter().filter(|key| facts[key].is_string());
    said.map(|key| format!("record {key} {}", facts[key])).collect()
}

fn text_lines(bytes: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

impl Snapshot {
    /// Takes note of a file that was changed or added.
    pub fn look_again(&mut self, top: &Path, name: &str) {
        let lead = format!("file {name} ");
        self.lines.retain(|line| !line.starts_with(&lead));
        if let Some(line) = line_of(top, &top.join(name), "file") {
            self.lines.insert(line);
        }
    }
}

/// Every path below a folder with its kind, mode and content, a line each.
pub fn walk(
    top: &Path,
    lead: &str,
    lines: &mut BTreeSet<String>,
    left_out: &dyn Fn(&str, usize) -> bool,
) {
    let mut todo = vec![(top.to_owned(), 0)];
    while let Some((dir, depth)) = todo.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if left_out(&entry.file_name().to_string_lossy(), depth) {
                continue;
            }
            lines.extend(line_of(top, &path, lead));
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push((path, depth + 1));
            }
        }
    }
}

/// A path with its kind, mode and content; a lock of git's may have come and gone.
fn line_of(top: &Path, path: &Path, lead: &str) -> Option<String> {
    let meta = fs::symlink_metadata(path).ok()?;
    let content = if meta.is_symlink() {
        format!("-> {}", fs::read_link(path).unwrap_or_default().display())
    } else if meta.is_dir() {
        "/".to_owned()
    } else {
        let bytes = fs::read(path).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        format!("{:x} {text:?}", hasher.finish())
    };
    let relative = path.strip_prefix(top).unwrap_or(path).display();
    Some(format!("{lead} {relative} {:o} {content}", meta.permissions().mode()))
}

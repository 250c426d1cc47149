//! A sandbox as its user left it: every byte of it, its index, its status and the operation in progress.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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
    /// A lock of the user's.
    pub locked: Option<String>,
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
        let words = ["--no-optional-locks", "status", "--porcelain=v2", "--branch", "--ignored"];
        let status = world.ask(&tree.path, &words);
        let said = text_lines(&status.stdout).chain([format!("{}", status.status)]);
        let (branch_status, status) = said.partition(|line| line.starts_with('#'));
        let locked = match tree.is_pinned() || tree.is_renaming() {
            true => before.and_then(|before| before.locked.clone()),
            false => tree.locked.clone(),
        };
        Snapshot { lines, head, status, branch_status, locked }
    }

    /// Its files alone.
    pub fn files(&self) -> Snapshot {
        let lines = self.lines.iter().filter(|line| line.starts_with("file ")).cloned().collect();
        Snapshot { lines, locked: self.locked.clone(), ..Snapshot::default() }
    }

    /// Whether git sees anything in it that is not committed, or an operation in progress.
    pub fn has_work(&self) -> bool {
        let operations =
            ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "BISECT_LOG"];
        let operation = |line: &String| {
            let path = line.strip_prefix("state ").unwrap_or_default();
            operations.iter().any(|name| path.starts_with(name))
        };
        let change = |line: &String| line.starts_with(['1', '2', 'u', '?']);
        self.status.iter().any(change) || self.lines.iter().any(operation)
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
            reaped && (path == "build" || path.starts_with("build/") || log)
        };
        let mut lost = only(&self.lines, &now.lines);
        let mut more = only(&now.lines, &self.lines);
        lost.extend(only(&self.status, &now.status));
        lost.retain(|line| !ignored(line));
        more.extend(only(&now.status, &self.status));
        if branch_free {
            lost.extend(only(&self.branch_status, &now.branch_status));
            more.extend(only(&now.branch_status, &self.branch_status));
            if self.head != now.head {
                lost.push(format!("HEAD {}", self.head.trim_end()));
                more.push(format!("HEAD {}", now.head.trim_end()));
            }
        }
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

fn text_lines(bytes: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
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
            // A lock of git's may come and go.
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            let content = if meta.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap_or_default().display())
            } else if meta.is_dir() {
                todo.push((path.clone(), depth + 1));
                "/".to_owned()
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
                format!("{:x} {text:?}", hasher.finish())
            };
            let relative = path.strip_prefix(top).unwrap_or(&path).display().to_string();
            let mode = meta.permissions().mode();
            lines.insert(format!("{lead} {relative} {mode:o} {content}"));
        }
    }
}

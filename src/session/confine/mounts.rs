//! What a confined command sees of the file system: a list of mounts, the shallower ones first, each of
//! which hides what is below it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::policy::Policy;
use super::secrets::{self, Secret};
use super::wish::{Places, Wish};
use crate::sandbox::record::Network;

/// Parts of the system that every program needs. `/nix` and `/var/lib` hold sockets of services that
/// do as they are told, so only the parts that programs read are shown.
pub const SYSTEM: [&str; 17] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/snap",
    "/sys",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/run/current-system",
    "/var/lib/alternatives",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
];
/// Folders that are empty at the start, writable, and gone with the command.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Where systemd keeps what `/etc/resolv.conf` leads to.
const RESOLVER: &str = "/run/systemd/resolve";
/// Our own program, as it is called inside.
pub const PROGRAM: &str = "/run/git-sandbox/bin/git-sandbox";
/// The socket of the proxy, as it is called inside.
pub const PROXY: &str = "/run/git-sandbox/proxy";

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is seen.
    pub at: PathBuf,
    /// What is seen there.
    pub shows: Shows,
}

/// What is seen at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A fresh `/dev`.
    Devices,
    /// The processes inside.
    Processes,
    /// An empty folder, which the command may not use.
    Nothing,
    /// An empty folder in memory for the command.
    Scratch,
    /// A file or folder, to be read.
    Read(PathBuf),
    /// A folder, to be changed.
    Write(PathBuf),
    /// A symlink with this target.
    Link(PathBuf),
}

/// Everything that a command sees.
#[derive(Debug)]
pub struct View {
    mounts: Vec<Mount>,
}

impl View {
    /// The view of a command, with our own program and, if there is one, the proxy's socket.
    pub fn of(
        wish: &Wish,
        places: &Places,
        home: &Path,
        program: &Path,
        proxy: Option<&Path>,
    ) -> View {
        let mount = |at: &Path, shows: Shows| Mount { at: at.to_owned(), shows };
        let mut mounts = vec![
            mount(Path::new("/dev"), Shows::Devices),
            mount(Path::new("/proc"), Shows::Processes),
            mount(Path::new("/run"), Shows::Nothing),
        ];
        mounts.extend(SYSTEM.iter().filter_map(|path| system(Path::new(path))));
        mounts.extend(secrets::all().into_iter().map(|secret| match secret {
            Secret::File(at) => Mount { at, shows: Shows::Read("/dev/null".into()) },
            Secret::Folder(at) => Mount { at, shows: Shows::Nothing },
        }));
        mounts.extend(SCRATCH.iter().map(|path| mount(Path::new(path), Shows::Scratch)));
        if wish.network == Network::On {
            mounts.extend(system(Path::new(RESOLVER)));
        }
        let mut hidden = vec![&places.root];
        hidden.extend(&places.others);
        // The quarantine stands there instead where the repository is bare.
        hidden.extend(Some(&places.main).filter(|main| **main != places.common));
        mounts.extend(hidden.into_iter().map(|path| mount(path, Shows::Nothing)));
        mounts.push(mount(home, Shows::Scratch));
        mounts.extend(wish.read.iter().filter_map(|path| {
            let real = path.canonicalize().ok()?;
            Some(mount(path, Shows::Read(real)))
        }));
        mounts.extend(wish.write.iter().filter_map(|path| {
            let real = path.canonicalize().ok()?;
            Some(mount(path, Shows::Write(real)))
        }));
        mounts.extend(on_the_way(wish, places).into_iter().filter_map(|path| {
            let real = path.canonicalize().ok()?;
            Some(mount(&path, Shows::Write(real)))
        }));
        mounts.extend(
            borrowed(&places.common.join("objects"), 0)
                .into_iter()
                .map(|objects| Mount { at: objects.clone(), shows: Shows::Read(objects) }),
        );
        let Places { quarantine, common, entry, folder, .. } = places;
        let id = entry.file_name().unwrap_or_default();
        let own = [
            (common.clone(), Shows::Write(quarantine.clone())),
            (common.join("base-objects"), Shows::Read(common.join("objects"))),
            // A mount point cannot be moved away: no later command finds a symlink in its place.
            (common.join("worktrees"), Shows::Write(quarantine.join("worktrees"))),
            (entry.clone(), Shows::Write(quarantine.join("worktrees").join(id))),
            (entry.join("commondir"), Shows::Read(entry.join("commondir"))),
            (folder.clone(), Shows::Write(folder.clone())),
            (folder.join(".git"), Shows::Read(folder.join(".git"))),
            (PROGRAM.into(), Shows::Read(program.to_owned())),
        ];
        mounts.extend(own.into_iter().map(|(at, shows)| Mount { at, shows }));
        let proxy = proxy.map(|socket| mount(Path::new(PROXY), Shows::Read(socket.to_owned())));
        mounts.extend(proxy);
        // A deeper place must come after the one that it is in. Of two at one place the later counts.
        mounts.sort_by_key(|mount| mount.at.components().count());
        View { mounts }
    }

    /// The view as bubblewrap takes it.
    pub fn options(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for Mount { at, shows } in &self.mounts {
            let (option, source): (&str, Option<&Path>) = match shows {
                Shows::Devices => ("--dev", None),
                Shows::Processes => ("--proc", None),
                Shows::Nothing | Shows::Scratch => ("--tmpfs", None),
                Shows::Read(source) => ("--ro-bind", Some(source)),
                Shows::Write(source) => ("--bind", Some(source)),
                Shows::Link(target) => ("--symlink", Some(target)),
            };
            words.push(option.into());
            words.extend(source.map(OsString::from));
            words.push(at.into());
        }
        words.extend(["--remount-ro", "/"].map(OsString::from));
        words
    }

    /// What Landlock lets the command read, and what change. The root is never among it: rules belong to
    /// folders, not to paths, and with the root granted a descriptor that leaked in would lead anywhere.
    pub fn grant(&self, policy: &mut Policy) {
        for Mount { at, shows } in &self.mounts {
            match shows {
                Shows::Devices | Shows::Nothing | Shows::Link(_) => {}
                Shows::Processes | Shows::Read(_) => policy.read.push(at.clone()),
                Shows::Scratch | Shows::Write(_) => policy.write.push(at.clone()),
            }
        }
        policy.read.push("/run".into());
    }

    /// Whether a path can be seen inside.
    pub fn shows(&self, path: &Path) -> bool {
        let over = self.mounts.iter().rev().find(|mount| path.starts_with(&mount.at));
        over.is_some_and(|mount| match &mount.shows {
            Shows::Read(source) | Shows::Write(source) => {
                let rest = path.strip_prefix(&mount.at).unwrap_or(path);
                rest.as_os_str().is_empty() || source.join(rest).exists()
            }
            Shows::Link(_) | Shows::Devices | Shows::Processes => true,
            Shows::Nothing | Shows::Scratch => false,
        })
    }
}

/// The folders between a writable folder and a path in it that has a mount of its own. Each is mounted
/// too: a mount point cannot be renamed, so that the path stays where it is.
fn on_the_way(wish: &Wish, places: &Places) -> BTreeSet<PathBuf> {
    let open = || wish.write.iter().chain([&places.folder]);
    let paths = || open().chain(&wish.read).chain(&places.others).chain([&places.main]);
    let is_named = |part: &Path| paths().any(|path| path == part);
    let mut found = BTreeSet::new();
    for path in paths() {
        let above = path.ancestors().skip(1);
        let nearest = above.clone().find(|part| is_named(part));
        if nearest.is_some_and(|nearest| open().any(|open| open == nearest)) {
            found.extend(above.take_while(|part| !is_named(part)).map(Path::to_owned));
        }
    }
    found
}

/// A part of the system as it is: a symlink, or something to be read. `None` where it is not there.
fn system(path: &Path) -> Option<Mount> {
    let shows = match fs::read_link(path) {
        Ok(target) => Shows::Link(target),
        Err(_) if path.exists() => Shows::Read(path.to_owned()),
        Err(_) => return None,
    };
    Some(Mount { at: path.to_owned(), shows })
}

/// Folders of objects that a repository borrows from others, as git follows them.
pub fn borrowed(objects: &Path, depth: u8) -> Vec<PathBuf> {
    let text = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let found = lines.filter_map(|line| objects.join(line).canonicalize().ok());
    let found: Vec<PathBuf> = found.filter(|path| path.is_dir()).collect();
    if depth >= 5 {
        return found;
    }
    let more = found.iter().flat_map(|objects| borrowed(objects, depth + 1));
    more.chain(found.clone()).collect()
}

/// The namespaces of a confined command, as bubblewrap takes them.
pub fn namespaces(network: Network) -> Vec<&'static str> {
    let mut options = vec![
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
    ];
    options.extend((network != Network::On).then_some("--unshare-net"));
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::record::Level;

    /// Places below a folder, with a repository that borrows objects of another.
    fn places(top: &Path) -> (Wish, Places) {
        let objects = top.join("app/.git/objects/info");
        for folder in [&objects, &top.join("lender"), &top.join("home/.agent")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(objects.join("alternates"), top.join("lender").to_str().unwrap()).unwrap();
        fs::write(top.join("home/.gitconfig"), "").unwrap();
        let wish = Wish {
            level: Level::Full,
            network: Network::Off,
            read: vec![top.join("home/.gitconfig")],
            write: vec![top.join("home/.agent")],
            env: Vec::new(),
            hosts: Vec::new(),
        };
        let entry = top.join("app/.git/worktrees/box");
        let places = Places {
            quarantine: entry.join("confined"),
            common: top.join("app/.git"),
            entry,
            folder: top.join("root/app/box"),
            main: top.join("app"),
            root: top.join("root"),
            others: vec![top.join("other")],
        };
        (wish, places)
    }

    /// Each mount on a line, those of the system aside.
    fn shown(view: &View, top: &Path) -> Vec<String> {
        let words = view.options();
        let mut words = words.iter().map(|word| word.to_str().unwrap());
        let mut lines = Vec::new();
        while let Some(option) = words.next() {
            let count = if option.ends_with("bind") || option == "--symlink" { 2 } else { 1 };
            let paths: Vec<&str> = words.by_ref().take(count).collect();
            let at = paths.last().unwrap();
            if !SYSTEM.contains(at) && !at.starts_with("/etc/") {
                lines.push(format!("{option} {}", paths.join(" ")));
            }
        }
        lines.iter().map(|line| line.replace(top.to_str().unwrap(), "")).collect()
    }

    /// Landlock hides many a hole in the mounts, and the mounts many a hole in Landlock: each is told in
    /// full.
    #[test]
    fn a_command_sees_this_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (wish, places) = places(&top);
        let view =
            View::of(&wish, &places, &top.join("home"), Path::new("/program"), Some("/s".as_ref()));
        let depth = |mount: &Mount| mount.at.components().count();
        assert!(view.mounts.is_sorted_by_key(depth));
        let mut lines = shown(&view, &top);
        assert_eq!(lines.last().unwrap(), "--remount-ro /");
        lines.sort();
        assert_eq!(
            lines,
            [
                "--bind /app/.git/worktrees/box/confined /app/.git",
                "--bind /app/.git/worktrees/box/confined/worktrees /app/.git/worktrees",
                "--bind /app/.git/worktrees/box/confined/worktrees/box /app/.git/worktrees/box",
                "--bind /home/.agent /home/.agent",
                "--bind /root/app/box /root/app/box",
                "--dev /dev",
                "--proc /proc",
                "--remount-ro /",
                "--ro-bind /app/.git/objects /app/.git/base-objects",
                "--ro-bind /app/.git/worktrees/box/commondir /app/.git/worktrees/box/commondir",
                "--ro-bind /home/.gitconfig /home/.gitconfig",
                "--ro-bind /lender /lender",
                "--ro-bind /program /run/git-sandbox/bin/git-sandbox",
                "--ro-bind /root/app/box/.git /root/app/box/.git",
                "--ro-bind /s /run/git-sandbox/proxy",
                "--tmpfs /app",
                "--tmpfs /dev/shm",
                "--tmpfs /home",
                "--tmpfs /other",
                "--tmpfs /root",
                "--tmpfs /run",
                "--tmpfs /tmp",
                "--tmpfs /var/tmp",
            ]
        );
    }

    #[test]
    fn landlock_grants_this_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (wish, places) = places(&top);
        let view = View::of(&wish, &places, &top.join("home"), Path::new("/program"), None);
        let mut policy = super::super::alone::policy(&wish, &places, 0);
        (policy.read, policy.write) = (Vec::new(), Vec::new());
        view.grant(&mut policy);
        let told = |paths: &[PathBuf]| {
            let paths = paths.iter().map(|path| path.to_str().unwrap());
            let paths = paths.filter(|path| !SYSTEM.contains(path) && !path.starts_with("/etc/"));
            let mut paths: Vec<String> =
                paths.map(|path| path.replace(top.to_str().unwrap(), "")).collect();
            paths.sort();
            paths
        };
        assert_eq!(
            told(&policy.read),
            [
                "/app/.git/base-objects",
                "/app/.git/worktrees/box/commondir",
                "/home/.gitconfig",
                "/lender",
                "/proc",
                "/root/app/box/.git",
                "/run",
                PROGRAM,
            ]
        );
        let git = ["/app/.git", "/app/.git/worktrees", "/app/.git/worktrees/box"];
        let write = ["/dev/shm", "/home", "/home/.agent", "/root/app/box", "/tmp", "/var/tmp"];
        assert_eq!(told(&policy.write), [&git[..], &write].concat());
        // Without namespaces there is no private home and no private /tmp.
        let alone = super::super::alone::policy(&wish, &places, 198);
        let read =
            ["/app/.git/objects", "/home/.gitconfig", "/lender", "/proc", "/run/systemd/resolve"];
        assert_eq!(told(&alone.read), read);
        let write = ["/app/.git/worktrees/box/confined", "/home/.agent", "/root/app/box"];
        assert_eq!(told(&alone.write), write);
        assert_eq!((alone.unix_sockets, alone.internet_sockets), (false, false));
        assert_eq!(alone.kept, [198]);
    }

    #[test]
    fn every_namespace_is_its_own() {
        let all = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try \
                   --cap-drop ALL";
        assert_eq!(namespaces(Network::On).join(" "), all);
        for network in [Network::Off, Network::Hosts] {
            assert_eq!(namespaces(network).join(" "), format!("{all} --unshare-net"));
        }
    }
}

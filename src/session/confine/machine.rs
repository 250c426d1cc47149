//! What this machine can do: bubblewrap, namespaces, Landlock, seccomp.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{calls, files, mounts};
use crate::error::{Doing, Result};
use crate::sandbox::record::{Level, Network};
use crate::sys::process;
use crate::ui::words::shell_word;

/// The least version of Landlock where it stands alone: before it, files could be cut off.
const LEAST: u8 = 3;
/// The least version where it must also close the network.
const LEAST_FOR_NETWORK: u8 = 4;

/// What a machine lacks for a level, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub enum Lack {
    /// bubblewrap is not installed.
    NoBubblewrap,
    /// The security module of Ubuntu keeps ordinary users from making user namespaces.
    AppArmor,
    /// A setting of the kernel does, with the value that would not.
    Setting(&'static str, u32),
    /// The container does that we are in; what bubblewrap says.
    Container(String),
    /// bubblewrap fails, and says why.
    Fails(String),
    /// The kernel's Landlock is older than needed.
    OldLandlock(u8, u8),
    /// The kernel has no Landlock, or it is switched off.
    NoLandlock,
    /// No filter of system calls can be made for this processor.
    NoFilters,
}

impl Lack {
    /// Why nothing can be confined.
    pub fn in_words(&self) -> String {
        let refused = "this system lets no ordinary user make a user namespace";
        match self {
            Lack::NoBubblewrap => "bubblewrap is not installed".into(),
            Lack::AppArmor => format!("{refused} (AppArmor)"),
            Lack::Setting(name, _) => format!("{refused} ({name})"),
            Lack::Container(why) => format!("this container forbids it: {why}"),
            Lack::Fails(why) => format!("bubblewrap fails: {why}"),
            Lack::OldLandlock(has, least) => {
                let linux = if *least > LEAST { "6.7" } else { "6.2" };
                format!("Landlock ABI {has} is less than {least} (Linux {linux})")
            }
            Lack::NoLandlock => "this kernel has no Landlock, or does not enable it".into(),
            Lack::NoFilters => {
                let (linux, os) = (cfg!(target_os = "linux"), std::env::consts::OS);
                let which = if linux { std::env::consts::ARCH } else { os };
                format!("there are no system call filters for {which}")
            }
        }
    }

    /// The one command that mends it, if there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Lack::NoBubblewrap => Some(install().into()),
            Lack::AppArmor => Some(
                "sudo install -m 644 /usr/share/apparmor/extra-profiles/bwrap-userns-restrict \
                 /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
                    .into(),
            ),
            Lack::Setting(name, value) => Some(format!("sudo sysctl -w {name}={value}")),
            _ => None,
        }
    }

    /// What to do, one line each.
    pub fn hints(&self, name: &str) -> Vec<String> {
        let weaker = !matches!(
            self,
            Lack::NoBubblewrap | Lack::OldLandlock(..) | Lack::NoLandlock | Lack::NoFilters
        );
        let weaker = weaker && files::version() >= LEAST;
        let weaker = weaker.then(|| {
            format!("or, weaker: git sandbox run --confine=landlock {}", shell_word(name))
        });
        self.remedy().into_iter().chain(weaker).collect()
    }
}

/// How bubblewrap is installed here.
fn install() -> &'static str {
    let known = [
        ("/usr/bin/apt", "sudo apt install bubblewrap"),
        ("/usr/bin/dnf", "sudo dnf install bubblewrap"),
        ("/usr/bin/pacman", "sudo pacman -S bubblewrap"),
        ("/usr/bin/zypper", "sudo zypper install bubblewrap"),
        ("/sbin/apk", "sudo apk add bubblewrap"),
    ];
    let found = known.iter().find(|(program, _)| Path::new(program).exists());
    found.map_or("install bubblewrap", |(_, command)| command)
}

/// Finds bubblewrap on PATH, but in none of these folders, which a confined command may have written.
pub fn bubblewrap(not_in: &[&Path]) -> Option<PathBuf> {
    program("bwrap", not_in)?.canonicalize().ok()
}

/// Finds a program on PATH, but in none of these folders.
pub fn program(name: &str, not_in: &[&Path]) -> Option<PathBuf> {
    let is_inside = |path: &Path| not_in.iter().any(|folder| path.starts_with(folder));
    let trusted = |path: &PathBuf| {
        let real = path.canonicalize();
        path.is_absolute() && !is_inside(path) && real.is_ok_and(|real| !is_inside(&real))
    };
    which::which_all(name).ok()?.find(trusted)
}

/// Returns the version of Landlock that the kernel has, up to 6, or 0.
pub fn landlock() -> u8 {
    files::version()
}

/// What is missing for a level; `None` if nothing is.
pub fn lack(level: Level, network: Network, not_in: &[&Path]) -> Result<Option<Lack>> {
    if !calls::is_possible() {
        return Ok(Some(Lack::NoFilters));
    }
    match level {
        Level::Landlock => Ok(lack_of_landlock(files::version(), network)),
        Level::Full => match bubblewrap(not_in) {
            None => Ok(Some(Lack::NoBubblewrap)),
            Some(program) => namespaces(&program, network),
        },
    }
}

/// What a version of Landlock lacks to stand alone.
fn lack_of_landlock(version: u8, network: Network) -> Option<Lack> {
    let least = if network == Network::On { LEAST } else { LEAST_FOR_NETWORK };
    match version {
        0 => Some(Lack::NoLandlock),
        version if version < least => Some(Lack::OldLandlock(version, least)),
        _ => None,
    }
}

/// Lets bubblewrap start our own program in the namespaces that a confined command gets.
fn namespaces(program: &Path, network: Network) -> Result<Option<Lack>> {
    #[expect(clippy::disallowed_methods, reason = "the launcher")]
    let mut command = Command::new(program);
    let view = "--ro-bind / / --dev /dev --proc /proc --tmpfs /run --ro-bind";
    command.args(mounts::namespaces(network)).args(view.split(' ')).arg(process::ourselves()?);
    command.args([mounts::PROGRAM, "--", mounts::PROGRAM, "--version"]).current_dir("/");
    let output = command.stdin(Stdio::null()).output().doing(|| "start bubblewrap".into())?;
    if output.status.success() {
        return Ok(None);
    }
    let setting = |name: &str| {
        let file = Path::new("/proc/sys").join(name.replace('.', "/"));
        std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    };
    let in_container =
        ["/.dockerenv", "/run/.containerenv"].iter().any(|it| Path::new(it).exists());
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or_default().trim_start_matches("bwrap: ");
    Ok(Some(match () {
        () if setting("kernel.apparmor_restrict_unprivileged_userns") == Some(1) => Lack::AppArmor,
        () if setting("kernel.unprivileged_userns_clone") == Some(0) => {
            Lack::Setting("kernel.unprivileged_userns_clone", 1)
        }
        () if setting("user.max_user_namespaces") == Some(0) => {
            Lack::Setting("user.max_user_namespaces", 15000)
        }
        () if in_container => Lack::Container(said.to_owned()),
        () => Lack::Fails(said.to_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_landlock_does_not_stand_alone() {
        for network in [Network::On, Network::Off] {
            assert_eq!(lack_of_landlock(0, network), Some(Lack::NoLandlock));
            assert_eq!(lack_of_landlock(4, network), None);
        }
        assert_eq!(lack_of_landlock(2, Network::On), Some(Lack::OldLandlock(2, 3)));
        assert_eq!(lack_of_landlock(3, Network::On), None);
        let old = lack_of_landlock(3, Network::Off).unwrap();
        assert_eq!(old.in_words(), "Landlock ABI 3 is less than 4 (Linux 6.7)");
    }
}

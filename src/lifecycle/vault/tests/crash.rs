//! Killed at every step: the same call once more completes it, and nothing is lost.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use super::{World, assert_same};
use crate::lifecycle::vault::Unpacked;

/// What a process that will be killed does.
#[derive(Clone, Copy)]
enum Deed {
    PutAway,
    Unpack,
    Purge,
}

const HOME: &str = "VAULT_TEST_HOME";
const DEED: &str = "VAULT_TEST_DEED";

impl Deed {
    fn name(self) -> &'static str {
        match self {
            Deed::PutAway => "put-away",
            Deed::Unpack => "unpack",
            Deed::Purge => "purge",
        }
    }

    /// Starts a process that does it, with more variables. Whether it came to its end; else it was
    /// killed.
    fn in_process(self, home: &Path, variables: &[(&str, &str)]) -> bool {
        let output = self.output(home, variables);
        if output.status.signal() == Some(9) {
            return false;
        }
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        true
    }

    fn output(self, home: &Path, variables: &[(&str, &str)]) -> Output {
        let program = std::env::current_exe().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test that is killed")]
        let mut command = Command::new(program);
        let name = module_path!().split_once("::").unwrap().1;
        command.args(["--exact", &format!("{name}::victim"), "--ignored", "--test-threads=1"]);
        command.env(HOME, home).env(DEED, self.name()).envs(variables.iter().copied());
        command.output().unwrap()
    }
}

#[test]
#[ignore = "started by the tests of this file, which kill it"]
fn victim() {
    let home = std::env::var_os(HOME).expect("started by another test");
    let world = World::open(Path::new(&home));
    match std::env::var(DEED).unwrap().as_str() {
        "put-away" => world.away(),
        "unpack" => drop(world.back()),
        "purge" => assert!(world.vault().purge(super::ID).unwrap()),
        other => panic!("{other}"),
    }
}

/// Kills it at the first step, the second, and so on, each time in a new world, until it is not
/// reached any more. How many there are.
fn at_every_step(deed: Deed, world: impl Fn() -> World, check: impl Fn(&World, u32)) -> u32 {
    for step in 1.. {
        let world = world();
        let ended = deed.in_process(&world.home, &[("GIT_SANDBOX_CRASH_AT", &step.to_string())]);
        check(&world, step);
        if ended {
            return step - 1;
        }
    }
    unreachable!()
}

fn world() -> World {
    let world = World::new();
    world.write("readme", "edited");
    world.write("notes/one", "linked");
    std::fs::hard_link(world.tree().join("notes/one"), world.tree().join("notes/two")).unwrap();
    std::fs::create_dir(world.tree().join("empty")).unwrap();
    world
}

#[test]
fn killed_while_it_is_put_away_the_very_bytes_times_and_links_come_back() {
    for step in 1.. {
        let world = world();
        let before = world.snapshot();
        let at = step.to_string();
        let ended = Deed::PutAway.in_process(&world.home, &[("GIT_SANDBOX_CRASH_AT", &at)]);
        let left = || world.tree().exists() || world.private().exists();
        assert!(!ended || !left());
        // Killed a second time, among its first deletions.
        if left() {
            Deed::PutAway.in_process(&world.home, &[("GIT_SANDBOX_CRASH_AT", "6")]);
        }
        if left() {
            world.away();
        }
        assert_eq!(world.back(), Unpacked::default(), "step {step}");
        assert_same(&world.snapshot(), &before);
        if ended {
            assert!(step > 25, "{step}");
            return;
        }
    }
}

#[test]
fn killed_while_it_is_brought_back() {
    let before = std::cell::RefCell::new(None);
    let away = || {
        let world = world();
        *before.borrow_mut() = Some(world.snapshot());
        world.away();
        world
    };
    let steps = at_every_step(Deed::Unpack, away, |world, step| {
        assert_eq!(world.back(), Unpacked::default(), "step {step}");
        assert_same(&world.snapshot(), before.borrow().as_ref().unwrap());
        for folder in [world.tree(), world.private()] {
            let beside = std::fs::read_dir(folder.parent().unwrap()).unwrap();
            assert_eq!(beside.count(), 1, "step {step}");
        }
    });
    assert_eq!(steps, 5);
}

#[test]
fn killed_while_it_is_purged() {
    let away = || {
        let world = world();
        world.away();
        world
    };
    let steps = at_every_step(Deed::Purge, away, |world, step| {
        assert!(!world.vault().has(super::ID).unwrap(), "step {step}");
        assert!(world.vault().items().unwrap().is_empty());
    });
    assert_eq!(steps, 1);
}

#[test]
fn a_vault_that_does_not_have_what_was_written_keeps_the_item_in_the_trash() {
    let world = world();
    let before = world.snapshot();
    // A git that changes one letter on its way into the vault.
    let real = which::which("git").unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = fast-import ]; then\n    \
         sed s/linked/Linked/ | {0} \"$@\"\n    exit\n  fi\ndone\nexec {0} \"$@\"\n",
        real.display()
    );
    let program = world.home.join("bin/git");
    super::write(&program, script);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}/bin:{}", world.home.display(), std::env::var("PATH").unwrap());
    let output = Deed::PutAway.output(&world.home, &[("PATH", &path)]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("it does not have what was written"), "{said}");
    assert_same(&world.snapshot(), &before);
    assert!(!world.vault().has(super::ID).unwrap());
    // With an honest one it goes.
    world.away();
    assert_eq!(world.back(), Unpacked::default());
    assert_same(&world.snapshot(), &before);
}

#[test]
fn what_the_environment_and_the_users_config_say_does_not_reach_the_vault() {
    let world = world();
    let before = world.snapshot();
    let hook = world.home.join("hooks/reference-transaction");
    super::write(&hook, format!("#!/bin/sh\ntouch {}/ran\n", world.home.display()));
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    let config = world.home.join("config");
    let hooks = world.home.join("hooks");
    super::write(
        &config,
        format!(
            "[core]\n\thooksPath = {0}\n\tautocrlf = true\n\tignoreStat = true\n\
             [safe]\n\tbareRepository = explicit\n\
             [hook \"x\"]\n\tcommand = touch {0}/ran\n\tevent = reference-transaction\n\
             [init]\n\ttemplateDir = {0}\n[fastimport]\n\tunpackLimit = 100\n",
            hooks.display()
        ),
    );
    let elsewhere = world.home.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let variables = [
        ("GIT_CONFIG_GLOBAL", config.to_str().unwrap()),
        ("GIT_DEFAULT_HASH", "sha256"),
        ("GIT_DEFAULT_REF_FORMAT", "reftable"),
        ("GIT_OBJECT_DIRECTORY", elsewhere.to_str().unwrap()),
        ("GIT_INDEX_FILE", elsewhere.to_str().unwrap()),
        ("GIT_DIR", elsewhere.to_str().unwrap()),
        ("GIT_CONFIG_PARAMETERS", "'gc.auto=1'"),
    ];
    assert!(Deed::PutAway.in_process(&world.home, &variables));
    assert!(!world.home.join("ran").exists() && !hooks.join("ran").exists());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(world.in_vault(&["count-objects", "-v"]).lines().next(), Some("count: 0"));
    assert_eq!(world.back(), Unpacked::default());
    assert_same(&world.snapshot(), &before);
}

//! A kill at any step of making a quarantine or of taking over loses nothing that was committed inside.

use std::fs;

use super::Confined;
use crate::fixture::files::names_in;
use crate::fixture::repository::{Format, repository};
use crate::fixture::state::collect_garbage;

/// More steps than any command has.
const MANY: u32 = 60;

#[test]
fn a_kill_while_a_quarantine_is_made_is_made_good() {
    for step in 1..MANY {
        let test = repository(Format::Files).unwrap();
        let path = test.new_sandbox(&["box"]);
        let it = Confined { test, path };
        let crashed = it.test.run(&["show", "--mounts", "box"]).crashes_at(step);
        assert_eq!(it.look(), "", "step {step}");
        it.prepare();
        assert_eq!(it.git(&["status", "--short"]), "", "step {step}");
        assert!(!names_in(&it.entry()).iter().any(|name| name == "sandbox.confining"));
        if !crashed {
            assert!(step > 3, "fewer steps than expected: {step}");
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn a_kill_while_something_is_taken_over_is_made_good() {
    for step in 1..MANY {
        let it = Confined::new();
        it.commit("one", "1\n");
        it.git(&["switch", "--quiet", "-c", "side"]);
        let side = it.commit("side", "side\n");
        it.git(&["switch", "--quiet", "box"]);
        let tip = it.commit("two", "2\n");
        crate::fixture::files::write(&it.path.join("a"), "staged\n");
        it.git(&["add", "a"]);
        let crashed = it.test.run(&["show", "box"]).crashes_at(step);
        it.look();
        assert_eq!(it.outside("box"), tip, "step {step}");
        let status = it.test.git_in(&it.path, &["status", "--short"]);
        assert_eq!(status, "M  a", "step {step}");
        assert_eq!(fs::read_to_string(it.path.join("a")).unwrap(), "staged\n");
        collect_garbage(&it.test);
        assert_eq!(it.outside(&format!("{side}^{{commit}}")), side, "step {step}");
        it.prepare();
        assert_eq!(it.git(&["rev-parse", "box", "side"]), format!("{tip}\n{side}"));
        if !crashed {
            assert!(step > 5, "fewer steps than expected: {step}");
            return;
        }
    }
    panic!("it never ends");
}

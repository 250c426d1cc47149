//! Settings of a repository that change what git sees, and so what a careless look would take for clean.

use std::fs;

use crate::plan::Setting;
use crate::world::World;

/// What makes git look honestly, whatever the repository says.
pub const HONEST: [&str; 8] = [
    "-c",
    "core.ignoreStat=false",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.ignoreCase=false",
];

/// Changes one, or takes all back.
pub fn change(world: &World, repo: usize, setting: Setting) {
    let dir = &world.repos[repo];
    world.odd.borrow_mut().ever = true;
    let (key, value) = match setting {
        Setting::IgnoreStat => ("core.ignoreStat", "true"),
        Setting::NoCtime => ("core.trustctime", "false"),
        Setting::MinimalStat => ("core.checkStat", "minimal"),
        Setting::IgnoreCase => ("core.ignoreCase", "true"),
        Setting::Autocrlf => ("core.autocrlf", "true"),
        Setting::Exclude => {
            fs::create_dir_all(dir.join(".git/info")).unwrap();
            fs::write(dir.join(".git/info/exclude"), "/new/\n").unwrap();
            world.odd.borrow_mut().excluded.insert(repo);
            return;
        }
        Setting::Usual => return take_back(world, repo),
    };
    world.odd.borrow_mut().settings.insert((repo, setting));
    assert!(world.does(dir, &["config", key, value]), "git config {key}");
    world.tools.counts.add("settings changed", 1);
}

fn take_back(world: &World, repo: usize) {
    let dir = &world.repos[repo];
    let mut odd = world.odd.borrow_mut();
    odd.settings.retain(|(there, _)| *there != repo);
    if odd.excluded.remove(&repo) {
        fs::write(dir.join(".git/info/exclude"), "").unwrap();
    }
    let keys = ["core.ignoreStat", "core.trustctime", "core.checkStat", "core.ignoreCase"];
    for key in keys.into_iter().chain(["core.autocrlf"]) {
        world.does(dir, &["config", "--unset-all", key]);
    }
}

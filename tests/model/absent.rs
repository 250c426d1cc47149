//! Repositories that go out of reach and come back: an unmounted disk, a folder that was moved away.
//!
//! Meanwhile commands are given from elsewhere, and what was theirs below the root is nobody's.

use std::fs;
use std::path::PathBuf;

use crate::world::World;

/// Where a repository is while it is out of reach.
fn elsewhere(world: &World, repo: usize) -> PathBuf {
    world.repos[repo].with_file_name("app.away")
}

pub fn is_away(world: &World, repo: usize) -> bool {
    !world.repos[repo].exists()
}

/// Takes a repository out of reach, if it is not.
pub fn go(world: &World, repo: usize) {
    if !is_away(world, repo) {
        fs::rename(&world.repos[repo], elsewhere(world, repo)).unwrap();
        world.was_away.set(true);
        world.tools.counts.add("repositories out of reach", 1);
    }
}

/// Puts it back in its place, if it was away.
pub fn come_back(world: &World, repo: usize) {
    if !is_away(world, repo) {
        return;
    }
    fs::rename(elsewhere(world, repo), &world.repos[repo]).unwrap();
    let common = world.repos[repo].join(".git");
    let orphans = world.trash().into_iter().filter_map(|item| item.journal).filter(|journal| {
        journal["orphan"] == true && journal["common"].as_str() == common.to_str()
    });
    world.tools.counts.add("orphans whose repository came back", orphans.count());
}

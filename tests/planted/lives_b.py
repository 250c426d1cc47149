"""What may live in creating, merging, spares, quarantines, the walls, and the rooms below them."""

MAKE = "src/lifecycle/quarantine/make.rs"
AGAIN = "Without this quicker way the quarantine is brought up to date again, to what it is already."
SPEED = "It decides how fast files are written, not which."
DONOR = "Each file is taken from a donor only if its bytes hash to the blob that the commit has: any donor gives the same."
CLONE = "A clone and a copy have the same bytes."
PIN = "The pin then names some commits a second time, and keeps the same."

LIVES = [
    ("src/lifecycle/quarantine/inside.rs", "found.sort();", "left out", "Refs and objects are looked up by name; it is order."),
    ("src/lifecycle/quarantine/import.rs", "incoming.release_packs();", "left out",
     "What a crash left is let go when the same take-over ends, too."),
    ("src/lifecycle/quarantine/take.rs", "drop(incoming);", "left out", "It is dropped at the end of the function."),
    ("src/lifecycle/quarantine/take.rs", "new != old", "true",
     "Where both are at the same commit, the branch outside contains it: nothing is moved or put aside."),
    (MAKE, "self.is_current(&snapshot)", "false", AGAIN),
    (MAKE, "before.is_ok_and(|before| before == snapshot::packed(&snapshot.refs).as_bytes())", "false", AGAIN),
    (MAKE, "before == snapshot::packed(&snapshot.refs).as_bytes()", "false", AGAIN),
    (MAKE, "synced.name == self.name()", "false", AGAIN),
    (MAKE, "!confined::is_waiting(entry)", "false", AGAIN),
    (MAKE, "synced.outside.is_some()", "false", AGAIN),
    (MAKE, "synced.outside == confined::fingerprint_outside(entry)", "false", AGAIN),
    (MAKE, "same_refs()", "false", AGAIN),
    (MAKE, "inside::check(&self.dir, &synced.name).is_ok()", "false", AGAIN),
    (MAKE, "self.repo.common.join(self.pin()).is_file()", "false", AGAIN),
    (MAKE, "index.tree.is_some()", "false", "Where the tree that an index remembers is not used, git computes the same one."),
    (MAKE, "index.has_conflict()", "false", "Git writes no tree of a conflict: the answer is the same, none."),
    ("src/lifecycle/quarantine/pin.rs", "!parents.contains(*id)", "true", PIN),
    ("src/lifecycle/quarantine/pin.rs", "new.is_empty()", "false", PIN),
    ("src/lifecycle/create/checkout.rs", "std::io::stderr().is_terminal()", "false", "It is progress on a terminal."),
    ("src/lifecycle/create/checkout.rs", "config.get(\"checkout.workers\").is_none()", "true", SPEED),
    ("src/lifecycle/create/checkout.rs", "config.get(\"checkout.thresholdforparallelism\").is_none()", "true", SPEED),
    ("src/lifecycle/create/checkout.rs", "fs::File::open(self.session.path).is_ok_and(dir::is_btrfs)", "false", SPEED),
    ("src/lifecycle/create/donor/mod.rs", "dir::is_btrfs(&to)", "false", SPEED),
    ("src/lifecycle/create/donor/mod.rs", "self.worktrees.linked.len() > MANY", "false", DONOR),
    ("src/lifecycle/create/donor/mod.rs",
     "best.as_ref().is_none_or(|best| best.common.len() < donor.common.len())", "true", DONOR),
    ("src/lifecycle/create/donor/mod.rs", "best.common.len() < donor.common.len()", "true", DONOR),
    ("src/lifecycle/create/donor/mod.rs", "best.common.len() < donor.common.len()", "false", DONOR),
    ("src/lifecycle/create/donor/mod.rs", "best.lacking() <= 3 * best.common.len()", "true", DONOR),
    ("src/lifecycle/create/donor/large.rs", "ioctl_ficlone(&target, source).is_ok()", "false", CLONE),
    ("src/lifecycle/create/include.rs", "reflink_copy::reflink(source, target).is_ok()", "false", CLONE),
]

//! Draws the plan of a run: it follows from seed and run number alone.
//!
//! A small cast of sandboxes is made and worked in; then come stories, in which one is removed, purged or
//! brought back in a way that has a point, between steps that have none.

use crate::plan::{
    Beside, Call, Deed, Disk, Fault, Foreign, GitFault, Hooks, MainDeed, Plan, RefTo, Sitter, Step,
};
use crate::random::Random;
use crate::rename;
use crate::script::{How, Script};

/// Branches, but for the last, which is detached; `old` is there before.
const NAMES: [&str; 4] = ["fix", "feat/ui", "old", "exploration-x"];
/// One in which nothing but commits are made, most often, so that it can be merged.
const MERGED: &str = "mend";
const REPOSITORIES: [usize; 2] = [0, 1];

/// A repository and a name.
type Role = (usize, &'static str);

pub struct Draw {
    pub random: Random,
    pub repositories: &'static [usize],
    disk: Disk,
    cast: Vec<Role>,
    pub steps: Vec<Step>,
    run: u64,
    /// How many scripts there are.
    scripts: u64,
}

/// The plan of a run.
pub fn plan(seed: u64, run: u64) -> Plan {
    let mut random = Random::of(seed, run);
    let disk = random.weighted(&[(92, Disk::None), (5, Disk::Root), (3, Disk::Home)]);
    let repositories = if random.percent(25) { &REPOSITORIES[..] } else { &REPOSITORIES[..1] };
    let (cast, steps) = (Vec::new(), Vec::new());
    let mut draw = Draw { random, repositories, disk, cast, steps, run, scripts: 0 };
    for _ in 0..=draw.random.below(2) {
        draw.beginning();
    }
    for _ in 0..=draw.random.below(2) {
        match draw.random.below(100) {
            0..8 => draw.out_of_reach(),
            8..15 => draw.seen_otherwise(),
            15..20 => draw.written_meanwhile(),
            _ => draw.story(),
        }
        for _ in 0..draw.random.below(3) {
            draw.step();
        }
    }
    Plan { disk, repositories: repositories.len(), steps: draw.steps }
}

impl Draw {
    /// One of the cast or, rarely, anybody.
    pub fn role(&mut self) -> Role {
        if !self.cast.is_empty() && self.random.percent(85) {
            return self.random.pick(&self.cast);
        }
        (self.random.pick(self.repositories), self.random.pick(&NAMES))
    }

    /// A fault, so many times in a hundred.
    fn fault(&mut self, percent: u64) -> Fault {
        if self.random.percent(percent) { fault(&mut self.random, self.disk) } else { Fault::None }
    }

    pub fn ours(&mut self, repo: usize, call: Call, faults: u64) {
        let fault = self.fault(faults);
        let long = matches!(call, Call::Script(_, how, _) if how.has_walls());
        let fault = if long || call.merges() { self.later(fault) } else { fault };
        self.steps.push(Step::Ours(repo, call, fault));
    }

    /// A call that runs a script.
    pub fn script(&mut self, name: &'static str, how: How) -> Call {
        self.scripts += 1;
        Call::Script(name, how, Script::draw(&mut self.random, self.run, self.scripts, how))
    }

    /// A merge has more steps and starts more gits than other commands.
    fn later(&mut self, fault: Fault) -> Fault {
        match fault {
            Fault::Kill(_) => Fault::Kill(self.random.below(250)),
            Fault::Crash(_) => Fault::Crash(1 + self.random.below(24)),
            Fault::PowerLoss(_) => Fault::PowerLoss(1 + self.random.below(24)),
            Fault::Git(_, how) => Fault::Git(1 + self.random.below(45), how),
            other => other,
        }
    }

    fn merge(&mut self, name: &'static str) -> Call {
        self.random.weighted(&[
            (4, Call::Merge(name)),
            (2, Call::MergeKept(name)),
            (3, Call::MergeSquashed(name)),
            (3, Call::MergeRebased(name)),
        ])
    }

    /// A sandbox with commits; rarely one of the cast, which may hold anything.
    fn one_to_merge(&mut self, repo: usize, name: &'static str) -> &'static str {
        let name = if self.random.percent(80) { MERGED } else { name };
        self.steps.push(Step::Ours(repo, new(name), Fault::None));
        for _ in 0..=self.random.below(2) {
            self.steps.push(Step::User(repo, name, Deed::Commit));
        }
        if self.random.percent(60) {
            self.steps.push(Step::Main(repo, MainDeed::Commit));
        }
        name
    }

    /// What a merge may meet in the main checkout.
    fn before_a_merge(&mut self, repo: usize, name: &'static str) {
        let hooks =
            [Hooks::None, Hooks::Refuse, Hooks::Stage, Hooks::StageAndRefuse, Hooks::RefuseRef];
        let deeds =
            [MainDeed::InTheWay(name), MainDeed::Untracked, MainDeed::Staged, MainDeed::Commit];
        if self.random.percent(50) {
            self.steps.push(Step::Main(repo, self.random.pick(&deeds)));
        }
        if self.random.percent(50) {
            self.steps.push(Step::Hooks(repo, self.random.pick(&hooks)));
        }
    }

    pub fn foreign(&mut self, repo: usize) {
        let choices = [(2, Foreign::Gc), (3, Foreign::Prune), (3, Foreign::ExpireReflogs)];
        self.steps.push(Step::Foreign(repo, self.random.weighted(&choices)));
    }

    /// A sandbox is made, and work in it.
    fn beginning(&mut self) {
        let (repo, name) = self.role();
        self.cast.push((repo, name));
        self.ours(repo, new(name), 20);
        for _ in 0..=self.random.below(2) {
            self.steps.push(Step::User(repo, name, deed(&mut self.random)));
        }
    }

    fn story(&mut self) {
        if self.random.percent(40) {
            return self.other_story();
        }
        let (repo, name) = self.role();
        match self.random.below(10) {
            // Merged, whatever the main checkout holds and whatever goes wrong.
            6 | 7 => {
                let name = self.one_to_merge(repo, name);
                self.before_a_merge(repo, name);
                let call = self.merge(name);
                self.ours(repo, call, 60);
                self.ours(repo, Call::DoctorFix, 10);
                if self.random.percent(40) {
                    self.foreign(repo);
                }
                self.steps.push(Step::Hooks(repo, Hooks::None));
                let call = self.merge(name);
                self.ours(repo, call, 30);
            }
            // Merged while the user works in the main checkout.
            8 => {
                let name = self.one_to_merge(repo, name);
                self.before_a_merge(repo, name);
                let beside = [Beside::Commit, Beside::Merge, Beside::Switch];
                let (beside, delay) = (self.random.pick(&beside), self.random.below(200));
                let call = self.merge(name);
                self.steps.push(Step::Beside(repo, call, beside, delay));
            }
            // Removed, other programs at work, brought back.
            0 => {
                self.ours(repo, Call::RmForced(name), 60);
                self.foreign(repo);
                self.ours(repo, Call::Restore(name), 60);
            }
            // Removed, and purged some day.
            1 => {
                self.ours(repo, Call::RmForced(name), 20);
                self.steps.push(Step::Clock(15));
                self.ours(repo, Call::Reap, 40);
                self.foreign(repo);
            }
            // Purged at once.
            2 => {
                let call = self.random.pick(&[Call::Rm(name), Call::RmForced(name)]);
                self.ours(repo, call, 20);
                self.ours(repo, Call::Purge, 40);
            }
            // Retired by itself.
            3 => {
                self.steps.push(Step::Clock(100));
                let call = self.random.pick(&[Call::Reap, Call::ReapAll, Call::ReapForced]);
                self.ours(repo, call, 60);
                self.foreign(repo);
            }
            // Removed only if there is nothing to lose.
            4 => {
                self.steps.push(Step::User(repo, name, deed(&mut self.random)));
                self.ours(repo, Call::Rm(name), 80);
            }
            // Made while it is removed.
            _ => {
                let fault = Fault::Kill(self.random.below(60));
                let calls = [Call::RmForced(name), new(name), Call::Restore(name)];
                let calls = calls.map(|call| (repo, call, self.random.pick(&[Fault::None, fault])));
                self.steps.push(Step::AtOnce(calls.to_vec()));
            }
        }
    }

    fn step(&mut self) {
        let (repo, name) = self.role();
        let random = &mut self.random;
        let step = match random.below(100) {
            0..30 => Step::User(repo, name, deed(random)),
            30..34 => {
                let deeds = [MainDeed::Untracked, MainDeed::Staged, MainDeed::Commit];
                Step::Main(repo, random.pick(&deeds))
            }
            34..70 => {
                let call = call(random, name);
                Step::Ours(repo, call, self.fault(55))
            }
            70..80 => {
                let count = 2 + random.below(3);
                let calls = (0..count).map(|_| {
                    let (repo, name) = self.role();
                    let kill = Fault::Kill(self.random.below(60));
                    let fault = if self.random.percent(25) { kill } else { Fault::None };
                    (repo, call(&mut self.random, name), fault)
                });
                Step::AtOnce(calls.collect())
            }
            80..86 => Step::Clock(random.pick(&[1, 15, 35, 100])),
            86..91 => return self.foreign(repo),
            91..93 => {
                let how = random.pick(&[How::Foreground, How::Background, How::Confined]);
                let call = self.script(name, how);
                return self.ours(repo, call, 50);
            }
            _ => {
                let sitter = random.pick(&[Sitter::Ours, Sitter::Foreign]);
                let calls =
                    [Call::Rm(name), Call::RmForced(name), Call::ReapForced, Call::Merge(name)];
                let rename = Call::Rename(name, rename::other(name));
                let calls = [&calls[..], &[rename]].concat();
                let call = random.pick(&calls);
                Step::InUse(repo, name, sitter, call)
            }
        };
        self.steps.push(step);
    }
}

/// The call that makes a sandbox of this name.
pub fn new(name: &'static str) -> Call {
    if name == "exploration-x" { Call::NewDetached(name) } else { Call::New(name) }
}

/// A private ref of a name that is easily taken for something else.
fn private_ref(random: &mut Random) -> Deed {
    let below = random.pick(&[
        "refs/worktree/mine-",
        "refs/worktree/index-",
        "refs/worktree/modules/y",
        "refs/bisect/z",
        "refs/rewritten/w",
    ]);
    let to = [(3, RefTo::Commit), (2, RefTo::Blob), (2, RefTo::Tag)];
    Deed::PrivateRef(below, random.weighted(&to))
}

pub fn deed(random: &mut Random) -> Deed {
    let private_ref = private_ref(random);
    random.weighted(&[
        (8, Deed::Untracked),
        (6, Deed::StagedThenOverwritten),
        (4, Deed::Unstaged),
        (3, Deed::EditUnseen),
        (2, Deed::CaseTwin),
        (8, Deed::Commit),
        (6, Deed::CommitDetached),
        (6, Deed::Amend),
        (4, Deed::ResetAway),
        (6, private_ref),
        (4, Deed::Stash),
        (4, Deed::StoppedRebase),
        (4, Deed::Conflict),
        (4, Deed::Bisect),
        (6, Deed::Ignored),
        (4, Deed::Precious),
        (3, Deed::AssumeUnchanged),
        (3, Deed::SkipWorktree),
        (3, Deed::NestedRepository),
        (3, Deed::IgnoredRepository),
        (3, Deed::SubmoduleCommit),
        (3, Deed::Chmod),
        (3, Deed::Rename),
        (3, Deed::Symlink),
        (3, Deed::Lock),
        (2, Deed::DeleteFile),
        (2, Deed::DeleteFolder),
    ])
}

fn call(random: &mut Random, name: &'static str) -> Call {
    random.weighted(&[
        (14, new(name)),
        (2, Call::NewTask(name)),
        (2, Call::NewFrom(name)),
        (1, Call::NewAndReapDaily(name)),
        (2, Call::NewAndRun(name)),
        (3, Call::List),
        (1, Call::ListAll),
        (2, Call::Show(name)),
        (3, Call::Run(name)),
        (4, Call::Rename(name, rename::other(name))),
        (2, Call::Rename(rename::other(name), name)),
        (10, Call::Rm(name)),
        (18, Call::RmForced(name)),
        (5, Call::RmTwiceForced(name)),
        (4, Call::RmWithBranch(name)),
        (14, Call::Restore(name)),
        (3, Call::RestoreAs(name)),
        (8, Call::Reap),
        (3, Call::ReapForced),
        (3, Call::ReapAll),
        (2, Call::ReapMerged),
        (6, Call::Purge),
        (2, Call::PurgeNamed(name)),
        (1, Call::Doctor),
        (5, Call::DoctorFix),
        (4, Call::Merge(name)),
        (2, Call::MergeSquashed(name)),
        (2, Call::MergeRebased(name)),
        (1, Call::MergeKept(name)),
    ])
}

fn fault(random: &mut Random, disk: Disk) -> Fault {
    let git = [
        GitFault::FailsBefore,
        GitFault::FailsBefore,
        GitFault::FailsAfter,
        GitFault::DiesBefore,
        GitFault::DiesAfter,
        GitFault::Hangs,
        GitFault::AllDieBefore,
        GitFault::AllDieAfter,
    ];
    if disk != Disk::None && random.percent(60) {
        return match random.below(3) {
            0 => Fault::ReadOnly,
            _ => Fault::Full(random.below(8)),
        };
    }
    match random.below(100) {
        0..22 => Fault::Kill(random.below(60)),
        22..52 => Fault::Crash(1 + random.below(14)),
        52..64 => Fault::PowerLoss(1 + random.below(14)),
        _ => {
            // Most commands start but a few.
            let most = random.pick(&[6, 6, 14]);
            Fault::Git(1 + random.below(most), random.pick(&git))
        }
    }
}

//! More stories: about renamings, and about scripts that run in a sandbox.

use crate::draw::{Draw, deed, new};
use crate::plan::{Call, Fault, Foreign, MainDeed, Step};
use crate::rename;
use crate::script::How;

impl Draw {
    /// One of these stories.
    pub fn other_story(&mut self) {
        match self.random.below(10) {
            0..3 => self.renamed(),
            3..7 => self.confined(),
            7 => self.in_the_background(),
            8 => self.copied(),
            _ => self.stopped(),
        }
    }

    /// Renamed, worked in under the new name, and renamed back, removed or made anew.
    fn renamed(&mut self) {
        let (repo, name) = self.role();
        let other = rename::other(name);
        self.ours(repo, Call::Rename(name, other), 60);
        if self.random.percent(50) {
            self.steps.push(Step::User(repo, other, deed(&mut self.random)));
        }
        if self.random.percent(30) {
            self.foreign(repo);
        }
        match self.random.below(4) {
            0 => self.ours(repo, Call::Rename(other, name), 50),
            1 => {
                self.ours(repo, Call::RmForced(other), 30);
                self.ours(repo, Call::Restore(other), 30);
            }
            2 => {
                self.steps.push(Step::Ours(repo, new(name), Fault::None));
                self.ours(repo, Call::Rename(other, name), 0);
            }
            _ => {
                let fault = Fault::Kill(self.random.below(60));
                let others = [Call::RmForced(other), new(name), new(other), Call::Restore(name)];
                let calls = [Call::Rename(other, name), self.random.pick(&others), Call::DoctorFix];
                let calls = calls.map(|call| (repo, call, self.random.pick(&[Fault::None, fault])));
                self.steps.push(Step::AtOnce(calls.to_vec()));
            }
        }
    }

    /// A sandbox in which a script can run, whatever came before.
    fn one_to_run_in(&mut self) -> (usize, &'static str) {
        let (repo, name) = self.role();
        self.steps.push(Step::Ours(repo, new(name), Fault::None));
        (repo, name)
    }

    /// Commands commit and stage behind walls; the branch moves outside, the repository collects its
    /// garbage, the sandbox goes and comes back; some time what they did is taken over.
    fn confined(&mut self) {
        let (repo, name) = self.one_to_run_in();
        let walls = [How::Confined, How::Confined, How::Landlocked];
        let how = self.random.pick(&walls);
        let call = self.script(name, how);
        self.ours(repo, call, 70);
        if self.random.percent(30) {
            self.steps.push(Step::User(repo, name, deed(&mut self.random)));
        }
        if self.random.percent(50) {
            self.steps.push(Step::Foreign(repo, Foreign::Gc));
        }
        match self.random.below(6) {
            0 => self.ours(repo, Call::List, 50),
            1 => self.ours(repo, Call::Rename(name, rename::other(name)), 30),
            2 => {
                self.ours(repo, Call::RmForced(name), 40);
                self.foreign(repo);
                self.ours(repo, Call::Restore(name), 40);
            }
            3 => {
                self.ours(repo, Call::RmForced(name), 20);
                self.steps.push(Step::Clock(15));
                self.ours(repo, Call::Reap, 30);
                self.foreign(repo);
                self.ours(repo, Call::Restore(name), 20);
            }
            4 => {
                let calls = [Call::List, Call::Rm(name), Call::Show(name)];
                let calls = calls.map(|call| (repo, call, Fault::None));
                self.steps.push(Step::AtOnce(calls.to_vec()));
            }
            _ => {}
        }
        if self.random.percent(50) {
            let how = self.random.pick(&walls);
            let call = self.script(name, how);
            self.ours(repo, call, 30);
        }
    }

    /// A command ends, fails or is started again; what it did and what it said stays.
    fn in_the_background(&mut self) {
        let (repo, name) = self.one_to_run_in();
        let how = [How::Background, How::Background, How::Restarted, How::Foreground];
        let how = self.random.pick(&how);
        let call = self.script(name, how);
        self.ours(repo, call, 50);
        let call = self.random.pick(&[Call::Rm(name), Call::RmForced(name), Call::StopAndRm(name)]);
        self.ours(repo, call, 30);
        if self.random.percent(50) {
            self.steps.push(Step::Clock(15));
            self.ours(repo, Call::Reap, 30);
        }
        self.foreign(repo);
        if self.random.percent(50) {
            self.ours(repo, Call::Restore(name), 30);
        }
    }

    /// Made from the files of another checkout, which is edited, removed or brought back meanwhile; or
    /// with the changes of the main checkout.
    fn copied(&mut self) {
        let (repo, name) = self.one_to_run_in();
        let made = self.random.pick(&["copy-1", "copy-2"]);
        if self.random.percent(40) {
            let deeds = [MainDeed::Untracked, MainDeed::Staged];
            self.steps.push(Step::Main(repo, self.random.pick(&deeds)));
            self.ours(repo, Call::NewWithChanges(made), 50);
            let call = self.random.pick(&[Call::Rm(made), Call::RmForced(made), Call::List]);
            return self.ours(repo, call, 30);
        }
        let donor = self.random.pick(&[None, None, Some(name)]);
        let others = match donor {
            None => vec![Call::RmForced(name), Call::Restore(name), Call::Purge, Call::List],
            Some(_) => vec![Call::List, Call::New("copy-3")],
        };
        let other = self.random.pick(&others);
        self.steps.push(Step::Edited(repo, donor, vec![Call::New(made), other]));
    }

    /// A command that stays is stopped, or the sandbox is taken from under it.
    fn stopped(&mut self) {
        let (repo, name) = self.one_to_run_in();
        let call = self.script(name, How::Lasting);
        self.ours(repo, call, 20);
        let calls = [
            Call::Stop(name),
            Call::StopAndRm(name),
            Call::StopAndRmForced(name),
            Call::RmTwiceForced(name),
            Call::Rm(name),
        ];
        let call = self.random.pick(&calls);
        self.ours(repo, call, 50);
        let call = self.random.pick(&[Call::Stop(name), Call::Restore(name), Call::DoctorFix]);
        self.ours(repo, call, 30);
    }
}

//! More stories: about renamings.

use crate::draw::{Draw, deed, new};
use crate::plan::{Call, Fault, Step};
use crate::rename;

impl Draw {
    /// One of these stories.
    pub fn other_story(&mut self) {
        self.renamed();
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
}

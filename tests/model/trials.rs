//! More stories: what goes out of reach, what is moved by hand, what changes while it is in the trash.

use crate::draw::{Draw, deed, new};
use crate::plan::{Call, Deed, Setting, Step, TrashDeed, Writer};

impl Draw {
    /// A repository goes out of reach, days go by elsewhere, and it comes back.
    pub fn out_of_reach(&mut self) {
        let (repo, name) = self.role();
        if self.random.percent(40) {
            self.ours(repo, Call::RmForced(name), 10);
        }
        self.steps.push(Step::Away(repo));
        let looks = [Call::ListAll, Call::RestoreList, Call::Doctor];
        for _ in 0..=self.random.below(2) {
            let elsewhere = self.random.pick(self.repositories);
            if self.random.percent(80) {
                self.steps.push(Step::Clock(self.random.pick(&[15, 100])));
                self.ours(elsewhere, Call::ReapAll, 30);
            } else {
                let look = self.random.pick(&looks);
                self.ours(elsewhere, look, 10);
            }
        }
        self.steps.push(Step::Back(repo));
        let calls =
            [Call::List, new(name), Call::Restore(name), Call::Restore(name), Call::DoctorFix];
        let call = self.random.pick(&calls);
        self.ours(repo, call, 30);
    }

    /// Settings change what git sees, before a sandbox is removed and before it is put away.
    pub fn seen_otherwise(&mut self) {
        let (repo, name) = self.role();
        if self.random.percent(30) {
            self.setting(repo);
        }
        self.ours(repo, new(name), 0);
        for _ in 0..=self.random.below(2) {
            let any = deed(&mut self.random);
            let deeds = [Deed::EditUnseen, Deed::EditUnseen, Deed::CaseTwin, Deed::Untracked, any];
            self.steps.push(Step::User(repo, name, self.random.pick(&deeds)));
        }
        if self.random.percent(30) {
            self.ours(repo, Call::Rm(name), 10);
        }
        self.ours(repo, Call::RmForced(name), 10);
        if self.random.percent(70) {
            self.setting(repo);
        }
        if self.random.percent(60) {
            self.in_trash(repo);
        }
        self.steps.push(Step::Clock(15));
        let call = self.random.pick(&[Call::Reap, Call::Reap, Call::Purge, Call::ReapAll]);
        self.ours(repo, call, 30);
        if self.random.percent(30) {
            self.foreign(repo);
        }
        if self.random.percent(40) {
            self.ours(repo, Call::Restore(name), 30);
        }
        self.steps.push(Step::Setting(repo, Setting::Usual));
    }

    /// A sandbox is removed, and somebody writes there while it is put away.
    pub fn written_meanwhile(&mut self) {
        let (repo, name) = self.role();
        self.ours(repo, Call::RmForced(name), 10);
        if self.random.percent(40) {
            self.in_trash(repo);
        }
        self.steps.push(Step::Clock(15));
        let writer = self.random.pick(&[Writer::Inside, Writer::Namespace, Writer::Outside]);
        let call = self.random.pick(&[Call::Reap, Call::Purge]);
        self.steps.push(Step::Written(repo, writer, call, self.random.below(120)));
        if self.random.percent(50) {
            let call = self.random.pick(&[Call::Purge, Call::Restore(name)]);
            self.ours(repo, call, 30);
        }
    }

    fn setting(&mut self, repo: usize) {
        let settings = [
            Setting::IgnoreStat,
            Setting::NoCtime,
            Setting::MinimalStat,
            Setting::IgnoreCase,
            Setting::Autocrlf,
            Setting::Exclude,
        ];
        self.steps.push(Step::Setting(repo, self.random.pick(&settings)));
    }

    fn in_trash(&mut self, repo: usize) {
        let deeds = [TrashDeed::EditUnseen, TrashDeed::Untracked, TrashDeed::Commit];
        self.steps.push(Step::InTrash(repo, self.random.pick(&deeds)));
    }
}

//! Proof, without `git status`, that there are no changes in a sandbox: for many at once.
//!
//! Where every file is as git put it there and nothing else is (`pristine`), and the index has the tree of
//! the commit, `git status` could only say so too, for a start of git each. Any doubt is no proof.

use std::collections::HashMap;

use crate::git::Answer;
use crate::git::index::Index;
use crate::git::porcelain::Status;
use crate::repo::Repo;
use crate::sandbox::{Sandbox, pristine};

/// The trees of commits, by the ids of the commits.
#[derive(Debug, Default)]
pub struct Trees(HashMap<String, String>);

impl Trees {
    /// Asks git, once, for the trees that sandboxes are at. A commit that git does not know is left out.
    pub fn of(repo: &Repo, sandboxes: &[&Sandbox]) -> Trees {
        const WORDS: [&str; 6] = [
            "rev-list",
            "--no-walk=unsorted",
            "--no-commit-header",
            "--format=%H %T",
            "--ignore-missing",
            "--stdin",
        ];
        let heads = sandboxes.iter().filter_map(|sandbox| sandbox.head.as_deref());
        let input: String = heads.flat_map(|head| [head, "\n"]).collect();
        if input.is_empty() {
            return Trees::default();
        }
        let git = repo.git.at(&repo.common);
        let told = git.look(WORDS).ask_with(input.into_bytes()).ok().filter(Answer::ok);
        let told = told.map(|told| told.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&told);
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        Trees(pairs.map(|(commit, tree)| (commit.to_owned(), tree.to_owned())).collect())
    }

    /// Returns what `git status` would say of a sandbox without any change, flagged file, ignored file
    /// or nested repository, on a branch that follows no other. `None` if git has to be asked.
    pub fn status(&self, repo: &Repo, sandbox: &Sandbox) -> Option<Status> {
        let tree = self.0.get(sandbox.head.as_ref()?)?;
        if follows(repo, sandbox) {
            return None;
        }
        let index = Index::read(&sandbox.entry.join("index"), repo.id_length())?;
        let is_at_commit = index.tree.as_ref() == Some(tree);
        let strangers = is_at_commit.then(|| pristine::strangers(&sandbox.path, &index, 1))??;
        strangers.is_empty().then(Status::default)
    }
}

/// Whether the branch of a sandbox may follow another, with which git would compare it.
fn follows(repo: &Repo, sandbox: &Sandbox) -> bool {
    // The config of the sandbox alone was not read.
    let is_private = repo.config.get("extensions.worktreeconfig").is_some();
    let branch = sandbox.branch_text().filter(|_| !sandbox.detached);
    let key = branch.map(|branch| format!("branch.{branch}.merge"));
    is_private || key.is_some_and(|key| repo.config.get(&key).is_some())
}

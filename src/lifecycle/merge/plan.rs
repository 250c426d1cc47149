//! What a merge comes to, and whether it can be done: decided before anything is changed, by the same
//! code for a dry run.

use super::checkout::Checkout;
use super::survey::{Survey, index_for_a_look, remove_index};
use super::{How, Merge, Plan, Way};
use crate::error::{Error, Result};
use crate::git::config;

/// Whether a fast-forward is made where one is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FastForward {
    Allowed,
    Never,
    Only,
}

impl Merge<'_> {
    /// Finds out what has to be done, and whether it can be. Changes nothing.
    pub fn plan(&self) -> Result<Plan> {
        let git = self.repo.git.at(&self.repo.common);
        let tip = self.into.branch.commit.as_str();
        let count = git.look(["rev-list", "--count", self.head, "--not", tip, "--"]);
        let count = count.line("count the commits")?;
        let commits = count.to_str().and_then(|count| count.parse().ok()).unwrap_or(0);
        if commits == 0 {
            return Err(self.nothing("has every commit of it"));
        }
        let checkout = Checkout::of(self.repo, self.worktrees, &self.into.branch.name);
        let checkout = checkout.map_err(|stop| self.stopped(stop))?;
        let is_ahead = git.look(["merge-base", "--is-ancestor", tip, self.head]).ask()?.ok();
        let way = self.way(is_ahead)?;
        let tree = match way {
            Way::FastForward => Some(self.head.to_owned()),
            Way::Commit | Way::Squash => self.preview(checkout.as_ref())?,
            Way::Rebase => self.preview_of_rebase(checkout.as_ref(), commits)?,
        };
        if way == Way::Squash && tree.as_ref() == Some(&self.into.branch.tree) {
            return Err(self.nothing("has all its changes"));
        }
        if let Some(checkout) = &checkout {
            self.survey(checkout, tree.as_deref().unwrap_or(tip))?;
        }
        Ok(Plan { commits, way, checkout })
    }

    fn way(&self, is_ahead: bool) -> Result<Way> {
        let rule = self.fast_forward()?;
        Ok(match self.how {
            How::Squash => Way::Squash,
            How::FastForward | How::Rebase if is_ahead => Way::FastForward,
            How::Merge if is_ahead && rule != FastForward::Never => Way::FastForward,
            How::Rebase => Way::Rebase,
            How::Merge if rule != FastForward::Only => Way::Commit,
            How::Merge | How::FastForward => {
                let hint = self.typed(How::Rebase);
                let why = format!("'{}' has commits of its own", self.into.name);
                return Err(self.refused(why, Some(hint)));
            }
        })
    }

    /// Whether a commit or tree could be landed now; what is not known yet stands as the target itself.
    fn survey(&self, checkout: &Checkout, new: &str) -> Result<()> {
        let old = &self.into.branch.commit;
        let survey = Survey { repo: self.repo, checkout, old, new };
        let index = index_for_a_look()?;
        let clear = survey.look(&index);
        remove_index(&index);
        clear.map(drop).map_err(|stop| self.stopped(stop))
    }

    /// The tree of the merge; `None` where this git cannot tell, or options and strategies of the user's
    /// decide.
    fn preview(&self, checkout: Option<&Checkout>) -> Result<Option<String>> {
        let strategies = ["pull.twohead", "merge.default"];
        let decided = strategies.iter().any(|key| self.repo.config.get(key).is_some());
        if decided || !self.options()?.is_empty() {
            return Ok(None);
        }
        // The attributes of the checkout say how files are merged.
        let folder = checkout.map_or(&self.sandbox.path, |checkout| &checkout.path);
        let git = self.repo.git.at(folder);
        let Some(merge) = git.merge(&self.into.branch.commit, self.head)? else { return Ok(None) };
        match merge.clean {
            true => Ok(Some(merge.tree)),
            false => Err(self.conflict(&merge.conflicts)),
        }
    }

    /// The tree of a rebase: that of a merge, where git can merge. Of one commit they also conflict alike;
    /// `None` for more, of which only the rebase itself can tell.
    fn preview_of_rebase(
        &self,
        checkout: Option<&Checkout>,
        commits: u64,
    ) -> Result<Option<String>> {
        match self.preview(checkout) {
            Err(_) if commits > 1 => Ok(None),
            other => other,
        }
    }

    fn fast_forward(&self) -> Result<FastForward> {
        let setting = self.repo.config.get("merge.ff");
        let mut rule = match setting {
            Some("only") => FastForward::Only,
            Some(value) if config::boolean(value) == Some(false) => FastForward::Never,
            _ => FastForward::Allowed,
        };
        for option in self.options()? {
            rule = match option.as_str() {
                "--ff" => FastForward::Allowed,
                "--no-ff" => FastForward::Never,
                "--ff-only" => FastForward::Only,
                _ => rule,
            };
        }
        Ok(rule)
    }

    /// Whether the user wants only signed commits merged, which git has to look at.
    pub(super) fn verifies_signatures(&self) -> Result<bool> {
        let setting = self.repo.config.boolean("merge.verifysignatures")?;
        let option = self.options()?.iter().any(|option| option == "--verify-signatures");
        Ok(option || setting == Some(true))
    }

    /// `branch.<target>.mergeOptions`, which a `git merge` in the target's checkout would heed.
    pub(super) fn options(&self) -> Result<Vec<String>> {
        let key = format!("branch.{}.mergeoptions", self.into.name);
        let Some(value) = self.repo.config.get(&key) else { return Ok(Vec::new()) };
        let bad = || Error::Config {
            key: key.clone(),
            value: value.to_owned(),
            wanted: "a quotation has no end",
        };
        split(value).ok_or_else(bad)
    }
}

/// Splits options as git does; `None` where a quotation has no end.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, None) if letter.is_ascii_whitespace() => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(end)) if letter == end => quote = None,
            ('\\', other) if other != Some('\'') => {
                word.get_or_insert_default().push(letters.next()?);
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::split;
    use crate::sys::fuzz;

    #[test]
    fn options_are_split_as_git_does() {
        let words = |text: &str| split(text).map(|words| words.join("|"));
        assert_eq!(words(" --no-ff  -X 'ours x' ").as_deref(), Some("--no-ff|-X|ours x"));
        assert_eq!(words(r#"-m "a \"b\"" c\ d '' 'e\f'"#).as_deref(), Some(r#"-m|a "b"|c d||e\f"#));
        assert_eq!(words(""), Some(String::new()));
        assert_eq!((words("'a"), words("a\\")), (None, None));
        fuzz::damaged_text(&["--no-ff -X 'ours x' \"a\\\"b\""], |text| drop(split(text)));
    }
}

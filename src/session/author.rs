//! Who commits in a sandbox, if it is not the user.

use crate::error::{Error, Result};
use crate::git::config::Config;

/// `Name <email>`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    name: String,
    email: String,
}

impl Author {
    /// As `--author` takes it.
    pub fn in_words(&self) -> String {
        format!("{} <{}>", self.name, self.email)
    }

    /// Whom `--author`, else the sandbox's record, else `sandbox.author` names.
    pub fn wanted(
        option: Option<&str>,
        recorded: Option<&str>,
        config: &Config,
    ) -> Result<Option<Author>> {
        match (option, recorded.and_then(Author::recorded), config.get("sandbox.author")) {
            (Some(text), _, _) => Author::parse("--author", text).map(Some),
            (None, Some(author), _) => Ok(Some(author)),
            (None, None, Some(text)) => Author::parse("sandbox.author", text).map(Some),
            (None, None, None) => Ok(None),
        }
    }

    /// Whom the record of a sandbox names; `None` if that cannot be understood.
    pub fn recorded(text: &str) -> Option<Author> {
        Author::parse("author", text).ok()
    }

    /// Reads `Name <email>`.
    fn parse(key: &str, text: &str) -> Result<Author> {
        let split = text.trim().strip_suffix('>').and_then(|text| text.split_once('<'));
        let pair = split.map(|(name, email)| (name.trim().to_owned(), email.trim().to_owned()));
        let whole = |(name, email): &(String, String)| !name.is_empty() && !email.is_empty();
        let (name, email) = pair.filter(whole).ok_or_else(|| Error::Config {
            key: key.into(),
            value: text.into(),
            wanted: "it must be of the form 'Name <email>'",
        })?;
        Ok(Author { name, email })
    }

    /// The variables that make git take it for author and committer.
    pub fn variables(&self) -> [(&'static str, &str); 4] {
        let Author { name, email } = self;
        [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", email),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", email),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn authors() {
        let author = Author::parse("k", "A U Thor <a@b>").unwrap();
        assert_eq!(author, Author { name: "A U Thor".into(), email: "a@b".into() });
        assert!(
            ["", "A", "<a@b>", "A <>", "A a@b"].iter().all(|bad| Author::parse("k", bad).is_err())
        );
    }

    #[test]
    fn fuzz_authors() {
        fuzz::damaged_text(&["A U Thor <a@b>", "<a@b>"], |text| {
            if let Ok(author) = Author::parse("k", text) {
                assert!(!author.name.is_empty() && !author.email.is_empty());
                assert!(text.contains(&author.name) && text.contains(&author.email));
            }
        });
    }
}

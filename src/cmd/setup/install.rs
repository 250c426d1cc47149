//! Files of ours in folders of other programs.
//!
//! Each carries a line that says so, and how many folders were made for it: without a list of our
//! own, a file without such a line is not ours and is neither replaced nor removed, and only
//! folders that we made, and that are empty again, go with the files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Doing, Error, Result};
use crate::sys::file;

const MARK: &str = "Installed by 'git sandbox setup'";

/// A file that should be somewhere.
#[derive(Debug)]
pub struct Wanted {
    /// In words that follow `installed `.
    pub what: &'static str,
    /// Where.
    pub path: PathBuf,
    /// What is in it, but for the mark.
    pub text: String,
    /// What starts a comment in it.
    pub comment: &'static str,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Installed,
    Updated,
    Nothing,
}

impl Wanted {
    /// Fails where a file that is not ours is in the way.
    pub fn check(&self) -> Result<()> {
        match folders_made_for(&self.path)? {
            None if self.path.symlink_metadata().is_ok() => {
                Err(Error::NotInstalledByUs { path: self.path.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Writes it, unless it is there.
    pub fn install(&self) -> Result<Done> {
        self.check()?;
        let before = folders_made_for(&self.path)?;
        let made = make_folders(self.path.parent().unwrap_or(&self.path))?;
        let text = self.marked(before.unwrap_or(made));
        if before.is_some() && fs::read(&self.path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(Done::Nothing);
        }
        file::replace(&self.path, text.as_bytes())?;
        Ok(if before.is_some() { Done::Updated } else { Done::Installed })
    }

    /// The text with our line: the first, but zsh wants its own ones before it.
    fn marked(&self, folders: usize) -> String {
        let ahead = |line: &&str| line.starts_with("#compdef") || line.starts_with("#description");
        let at = self.text.split_inclusive('\n').take_while(ahead).map(str::len).sum();
        let (head, tail) = self.text.split_at(at);
        let comment = self.comment;
        format!(
            "{head}{comment} {MARK} (folders made: {folders}); \
             'git sandbox setup --uninstall' removes it.\n{tail}"
        )
    }
}

/// Removes those of these files that are ours, then the folders that were made for them. What was
/// removed.
pub fn uninstall(paths: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    let mut folders = Vec::new();
    for path in paths {
        let Some(made) = folders_made_for(&path)? else { continue };
        fs::remove_file(&path).at("remove", &path)?;
        folders.extend(path.ancestors().skip(1).take(made).map(Path::to_owned));
        removed.push(path);
    }
    // The deepest first; those that hold anything stay.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
    Ok(removed)
}

/// How many folders were made for a file, if it is ours. A symlink is not.
fn folders_made_for(path: &Path) -> Result<Option<usize>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Err(error) if !is_absence(&error) => return Err(error).at("read", path),
        _ => return Ok(None),
    }
    let bytes = fs::read(path).at("read", path)?;
    Ok(mark_in(&String::from_utf8_lossy(&bytes)))
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn mark_in(text: &str) -> Option<usize> {
    let comments = text.lines().take(3).filter_map(|line| line.split_once(' '));
    let mut marks = comments.filter_map(|(_, comment)| comment.strip_prefix(MARK));
    let (_, number) = marks.next()?.split_once("made: ")?;
    number.split_once(')')?.0.parse().ok()
}

/// Makes a folder and its parents; how many of them there were not.
fn make_folders(folder: &Path) -> Result<usize> {
    let missing = folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err());
    let missing = missing.count();
    fs::create_dir_all(folder).at("create", folder)?;
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str, comment: &'static str) -> Wanted {
        Wanted { what: "", path: PathBuf::new(), text: text.into(), comment }
    }

    #[test]
    fn the_mark_can_be_found_again() {
        for (text, comment, line) in [
            ("complete x\n", "#", 0),
            ("", "#", 0),
            (".TH X 1\n", ".\\\"", 0),
            ("#compdef git-sandbox\n#description d\nx\n", "#", 2),
            ("#compdef git-sandbox\nx\n", "#", 1),
        ] {
            let marked = wanted(text, comment).marked(4);
            assert!(marked.lines().nth(line).unwrap().starts_with(&format!("{comment} {MARK}")));
            assert_eq!(mark_in(&marked), Some(4));
            assert_eq!(mark_in(text), None);
            let rest: String = marked.split_inclusive('\n').filter(|l| !l.contains(MARK)).collect();
            assert_eq!(rest, text);
        }
    }
}

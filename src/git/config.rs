//! The user's git config, read once.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::error::{Error, Result};

/// Every key and value in force, `git -c` included; the last one of a key counts.
#[derive(Clone, Debug, Default)]
pub struct Config {
    entries: Vec<(String, String)>,
    hooks: BTreeSet<OsString>,
}

impl Config {
    /// From `git config --list -z`: `key\nvalue\0`, or `key\0` for a bare key, which means true.
    pub fn parse(bytes: &[u8]) -> Config {
        let records = bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        let hooks = records.clone().filter_map(hook_name).collect();
        let entries = records.map(|record| {
            let text = String::from_utf8_lossy(record);
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            (key.to_owned(), value.to_owned())
        });
        Config { entries: entries.collect(), hooks }
    }

    /// From the same with `--show-scope --show-origin`, which put two records before each; and the
    /// files that the repository's own entries are in.
    pub fn parse_with_files(bytes: &[u8]) -> (Config, Vec<PathBuf>) {
        let records: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
        let (mut plain, mut files) = (Vec::new(), Vec::new());
        for record in records.chunks_exact(3) {
            plain.extend([record[2], b"\0"].concat());
            let file = record[1].strip_prefix(b"file:").filter(|_| record[0] == b"local");
            let file = file.map(|file| PathBuf::from(OsStr::from_bytes(file)));
            files.extend(file.filter(|file| files.last() != Some(file)));
        }
        (Config::parse(&plain), files)
    }

    /// The names of configured hooks, `hook.<name>.command`, byte for byte.
    pub fn hook_names(&self) -> impl Iterator<Item = &OsStr> {
        self.hooks.iter().map(OsString::as_os_str)
    }

    /// The value of a key; section and name in lower case.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all(key).last()
    }

    /// Every value of a key.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// A boolean as git reads it.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wanted = "it must be true or false";
        boolean(value).map(Some).ok_or_else(|| Error::Config {
            key: key.into(),
            value: value.into(),
            wanted,
        })
    }

    /// Whether there is any key that starts so.
    pub fn has_section(&self, lead: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.starts_with(lead))
    }

    /// Whether a repository with this local config could make git start a program, or read config
    /// that does.
    pub fn starts_programs(&self) -> bool {
        let leads = [
            "filter.",
            "include.",
            "includeif.",
            "extensions.worktreeconfig",
            "extensions.partialclone",
        ];
        let keys = self.entries.iter().map(|(key, _)| key.as_str());
        keys.into_iter()
            .any(|key| leads.iter().any(|lead| key.starts_with(lead)) || key.ends_with(".promisor"))
    }

    /// Whether a remote may be asked for objects that are not here.
    pub fn has_promisor(&self) -> bool {
        self.entries.iter().any(|(key, _)| key.ends_with(".promisor"))
    }

    /// Every key and value of these sections, in the order in which they count.
    pub fn of_sections(&self, leads: &[&str]) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        pairs.filter(|(key, _)| leads.iter().any(|lead| key.starts_with(lead)))
    }

    /// The remotes, as pairs of name and address.
    pub fn remote_urls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|(key, value)| {
            let remote = key.strip_prefix("remote.")?.strip_suffix(".url")?;
            Some((remote, value.as_str()))
        })
    }

    /// The fetch refspecs, as pairs of remote and refspec.
    pub fn fetch_refspecs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|(key, value)| {
            let remote = key.strip_prefix("remote.")?.strip_suffix(".fetch")?;
            Some((remote, value.as_str()))
        })
    }
}

/// The name in a record of `hook.<name>.<key>`.
fn hook_name(record: &[u8]) -> Option<OsString> {
    // A name has no line feed: git refuses one there.
    let key = record.split(|byte| *byte == b'\n').next()?.strip_prefix(b"hook.")?;
    let end = key.iter().rposition(|byte| *byte == b'.')?;
    Some(OsStr::from_bytes(&key[..end]).to_owned())
}

/// A boolean as git reads it.
pub fn boolean(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" | "" => Some(false),
        number => number.parse::<i64>().ok().map(|number| number != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn the_last_value_of_a_key_counts() {
        let config =
            Config::parse(b"a.b\n1\0a.b\ntwo\nlines\0sandbox.autoreap\0remote.o.x.fetch\n+a:b\0");
        assert_eq!(config.get("a.b"), Some("two\nlines"));
        assert_eq!(config.all("a.b").count(), 2);
        assert_eq!(config.boolean("sandbox.autoreap").unwrap(), Some(true));
        assert!(config.boolean("a.b").is_err());
        assert_eq!(config.fetch_refspecs().collect::<Vec<_>>(), [("o.x", "+a:b")]);
        assert_eq!(Config::parse(b"").get("a.b"), None);
    }

    #[test]
    fn hooks_are_named_byte_for_byte() {
        let config = Config::parse(
            b"hook.a.b=c.command\nx\ny\0hook.a.b=c.event\npost-index-change\0hook.\xff.command\n\0\
              hook.jobs\n3\0hooks.x.command\nx\0hook..event\0",
        );
        let names: Vec<&[u8]> = config.hook_names().map(OsStr::as_bytes).collect();
        assert_eq!(names, [b"".as_slice(), b"a.b=c", b"\xff"]);
    }

    #[test]
    fn the_files_of_the_repository_are_told() {
        let shown = b"global\0file:/h/.gitconfig\0a.b\n1\0local\0file:.git/config\0a.b\n2\0\
                      local\0file:.git/config\0a.c\0local\0file:/i\0a.d\n\0\
                      command\0command line:\0a.b\n3\n4\0";
        let (config, files) = Config::parse_with_files(shown);
        assert_eq!(config.all("a.b").collect::<Vec<_>>(), ["1", "2", "3\n4"]);
        assert_eq!((config.get("a.c"), config.get("a.d")), (Some("true"), Some("")));
        assert_eq!(files, [PathBuf::from(".git/config"), PathBuf::from("/i")]);
        fuzz::damaged(&[shown.as_slice()], |input| {
            let (config, files) = Config::parse_with_files(input);
            let records = input.split(|byte| *byte == 0).count() / 3;
            assert!(config.entries.len() <= records && files.len() <= records);
        });
    }

    #[test]
    fn fuzz_config() {
        let real = [
            b"core.bare\nfalse\0sandbox.setup\ntwo\nlines\0sandbox.autoreap\0".as_slice(),
            b"remote.o.x.fetch\n+refs/heads/*:refs/remotes/o/*\0filter.x.clean\ncat\0",
        ];
        fuzz::damaged(&real, |input| {
            let config = Config::parse(input);
            let records = input.split(|byte| *byte == 0).filter(|record| !record.is_empty());
            assert_eq!(config.entries.len(), records.clone().count());
            let filters = records.into_iter().any(|record| record.starts_with(b"filter."));
            assert!(config.starts_programs() || !filters);
            for (key, value) in &config.entries {
                assert_eq!(
                    config.boolean(key).is_ok(),
                    boolean(config.get(key).unwrap()).is_some()
                );
                assert!(config.all(key).any(|one| one == value));
            }
            assert!(config.fetch_refspecs().all(|(remote, _)| !remote.contains('\n')));
        });
    }
}

//! The variables that a confined command gets: a short list, so that no token and no socket of the
//! user's session is among them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

/// Names that pass; `*` stands for any letters.
const PASSED: [&str; 19] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "NO_COLOR",
    "GIT_SANDBOX_*",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_EDITOR",
];

/// The variables that a command would have, as far as they pass.
pub fn of(command: &Command, more: &[String]) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => drop(variables.insert(name.to_owned(), value.to_owned())),
            None => drop(variables.remove(name)),
        }
    }
    let passes = |name: &str| {
        let mut patterns = PASSED.iter().copied().chain(more.iter().map(String::as_str));
        patterns.any(|pattern| matches(pattern, name))
    };
    variables.retain(|name, _| name.to_str().is_some_and(passes));
    variables
}

/// Whether a name is of a pattern in which `*` stands for any letters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((lead, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut tail) = name.strip_prefix(lead) else { return false };
    loop {
        if matches(rest, tail) {
            return true;
        }
        let mut letters = tail.chars();
        if letters.next().is_none() {
            return false;
        }
        tail = letters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("LC_*", "LC_ALL") && matches("*", "") && matches("A*C*", "AxCx"));
        assert!(
            !matches("LC_*", "XLC_ALL") && !matches("PATH", "PATHS") && !matches("A*C", "AxCx")
        );
    }
}

//! What people call a program: `codex`, not `node` or `npx`.

use std::ffi::OsStr;
use std::fs;

/// Programs that only start another one.
const WRAPPERS: [&str; 11] =
    ["env", "exec", "command", "nohup", "nice", "time", "npx", "bunx", "pnpx", "uvx", "setsid"];
/// Programs that run a script, by the beginning of their names.
const INTERPRETERS: [&str; 6] = ["node", "python", "ruby", "perl", "bun", "deno"];
/// Names of scripts that say nothing.
const NAMELESS: [&str; 5] = ["index", "cli", "main", "bin", "__main__"];

/// The name of a command by its words.
pub fn of_words<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> =
        words.into_iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let is_before = |word: &&String| {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        });
        assigns || WRAPPERS.contains(&base(word))
    };
    let mut wrapped = false;
    let name = words.iter().find(|word| {
        let before = is_before(word) || (wrapped && word.starts_with('-'));
        wrapped |= before;
        !before
    });
    name.or(words.first()).map(|word| script(word)).unwrap_or_default()
}

/// The name of a running process: its own, or that of the script it runs.
pub fn of_process(pid: u32, own: &str) -> String {
    if !INTERPRETERS.iter().any(|name| own.starts_with(name)) {
        return own.to_owned();
    }
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    of_command_line(&line).unwrap_or_else(|| own.to_owned())
}

fn of_command_line(line: &[u8]) -> Option<String> {
    let words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let script_word = words.skip(1).find(|word| !word.starts_with('-'))?;
    Some(script(&script_word)).filter(|name| !name.is_empty())
}

fn base(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
}

/// The name of a script or package: without its folder, version and suffix. A script whose own name
/// says nothing is called as its package.
fn script(word: &str) -> String {
    let name = base(word);
    let name =
        name.split_once('@').filter(|(lead, _)| !lead.is_empty()).map_or(name, |(lead, _)| lead);
    let bare = ["js", "mjs", "cjs", "ts", "py", "rb", "pl"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix)?.strip_suffix('.'));
    let Some(bare) = bare else { return name.to_owned() };
    let folders = word.split('/').rev().skip(1);
    let package = folders
        .filter(|folder| !["bin", "dist", "src", "lib"].contains(folder))
        .find(|it| !it.is_empty());
    match package {
        Some(package) if NAMELESS.contains(&bare) => package.to_owned(),
        _ => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_called_as_people_call_them() {
        for (words, name) in [
            (&["claude", "--continue"][..], "claude"),
            (&["/usr/local/bin/codex", "exec"], "codex"),
            (&["npx", "-y", "@openai/codex@latest"], "codex"),
            (&["env", "A=1", "B=2", "gemini"], "gemini"),
            (&["A=1", "aider"], "aider"),
            (&["sh", "-c", "echo"], "sh"),
            (&["./tools/run.py"], "run"),
            (&["env"], "env"),
            (&[], ""),
        ] {
            assert_eq!(of_words(words), name, "{words:?}");
        }
    }

    #[test]
    fn processes_are_called_as_their_scripts() {
        for (line, name) in [
            (&b"node\0/usr/lib/node_modules/@openai/codex/bin/codex.js\0exec\0"[..], Some("codex")),
            (b"node\0--no-warnings\0/usr/bin/gemini\0", Some("gemini")),
            (b"node\0/x/node_modules/@anthropic-ai/claude-code/cli.js\0", Some("claude-code")),
            (b"python3\0-m\0", None),
            (b"python3\0", None),
        ] {
            assert_eq!(of_command_line(line).as_deref(), name);
        }
    }
}

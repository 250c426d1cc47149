//! Whether a program is there, before anything is done for it.

use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Error, Result};

/// Fails when a program cannot be found, as seen from a folder.
pub fn check_program(word: &OsStr, folder: &Path) -> Result<()> {
    let path = std::env::var_os("PATH");
    match which::which_in(word, path, folder) {
        Ok(_) => Ok(()),
        Err(_) if folder.join(word).exists() => {
            Err(Error::NotExecutable { program: word.to_string_lossy().into_owned() })
        }
        Err(_) => Err(Error::NoProgram { program: word.to_string_lossy().into_owned() }),
    }
}

/// The program that a shell command starts, where that is plain to see.
pub fn plain_program(value: &str) -> Option<&str> {
    let word = value.split_whitespace().next()?;
    let plain = |letter: char| letter.is_alphanumeric() || "-_./+".contains(letter);
    // What the shell itself understands.
    let own = [
        "exec", "cd", "eval", ".", "source", "export", "set", "if", "for", "while", "until",
        "case", "command",
    ];
    (word.chars().all(plain) && !own.contains(&word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    #[test]
    fn the_program_of_a_shell_command() {
        assert_eq!(plain_program("claude --continue"), Some("claude"));
        assert_eq!(plain_program("A=1 claude"), None);
        assert_eq!(plain_program("exec claude"), None);
        assert_eq!(plain_program("\"$HOME/bin/x\""), None);
        assert_eq!(plain_program(""), None);
    }

    #[test]
    fn fuzz_commands() {
        let real = ["claude --continue", "A=1 exec \"$x\"", "./tool -x"];
        fuzz::damaged_text(&real, |text| {
            if let Some(program) = plain_program(text) {
                assert!(text.trim_start().starts_with(program));
                assert!(
                    !program.contains(['$', '`', ';', '|', '&', '(', '<', '"', '\'', '=', '\\'])
                );
            }
        });
    }
}

//! What the terminal can show, as the user's locale says.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The letters that are printed as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All that are not hidden.
    Unicode,
    /// Those of ASCII.
    Ascii,
}

/// Returns the letters of the user's locale.
pub fn letters() -> Letters {
    static LETTERS: OnceLock<Letters> = OnceLock::new();
    *LETTERS.get_or_init(|| of(|name| std::env::var_os(name)))
}

/// By the first of the variables that is set, as every program does it.
fn of(variable: impl Fn(&str) -> Option<OsString>) -> Letters {
    let values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let value = values.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    let value = value.to_string_lossy().to_lowercase();
    match value.contains("utf-8") || value.contains("utf8") {
        true => Letters::Unicode,
        false => Letters::Ascii,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let letters = |set: &[(&str, &str)]| {
            of(|name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into()))
        };
        assert_eq!(letters(&[("LANG", "de_DE.UTF-8")]), Letters::Unicode);
        assert_eq!(letters(&[("LANG", "C"), ("LC_CTYPE", "C.utf8")]), Letters::Unicode);
        assert_eq!(letters(&[("LANG", "C.UTF-8"), ("LC_ALL", "C")]), Letters::Ascii);
        assert_eq!(letters(&[("LANG", "C.UTF-8"), ("LC_ALL", "")]), Letters::Unicode);
        assert_eq!(letters(&[("LANG", "de_DE.ISO-8859-1")]), Letters::Ascii);
        assert_eq!(letters(&[]), Letters::Ascii);
    }
}

//! The hooks in Claude Code's settings that have it make its worktrees with `git sandbox`.
//!
//! The file is the user's: what is not ours in it stays as it is, to the byte but for the white space
//! around the members that are taken apart.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{Doing, Error, Result};
use crate::sys::file;
use crate::sys::path::absolute;

const COMMAND: &str = "git sandbox hook claude";
const EVENTS: [&str; 2] = ["WorktreeCreate", "WorktreeRemove"];

/// Where the settings of the user are.
pub fn settings() -> Result<PathBuf> {
    let home = || absolute("HOME").map(|home| home.join(".claude"));
    let folder = absolute("CLAUDE_CONFIG_DIR").or_else(home).ok_or(Error::NoHome)?;
    let path = folder.join("settings.json");
    // A link to where the user really keeps it stays a link.
    Ok(path.canonicalize().unwrap_or(path))
}

/// Adds our hooks; whether they were not there.
pub fn install(path: &Path) -> Result<bool> {
    let text = read(path)?;
    let mut settings = parse(path, text.as_deref().unwrap_or("{}"))?;
    let mut hooks = match settings.get("hooks") {
        Some(hooks) => parse(path, hooks)?,
        None => Object::default(),
    };
    let mut added = false;
    for event in EVENTS {
        match hooks.get(event) {
            Some(value) if is_ours(value) => {}
            Some(value) if !is_empty(value) => {
                return Err(Error::OtherHook { path: path.to_owned(), event });
            }
            _ => {
                let hook = format!(
                    "[\n      {{ \"hooks\": [{{ \"type\": \"command\", \"command\": \"{COMMAND}\" }}] }}\n    ]"
                );
                hooks.set(event, hook);
                added = true;
            }
        }
    }
    if added {
        settings.set("hooks", hooks.in_text(1));
        write(path, &settings)?;
    }
    Ok(added)
}

/// Takes our hooks out again; whether there were any.
pub fn uninstall(path: &Path) -> Result<bool> {
    let Some(text) = read(path)? else { return Ok(false) };
    // Settings that we could not have edited have nothing of ours.
    let (true, Ok(mut settings)) = (text.contains(COMMAND), parse(path, &text)) else {
        return Ok(false);
    };
    let Some(mut hooks) = settings.get("hooks").and_then(|hooks| parse(path, hooks).ok()) else {
        return Ok(false);
    };
    let before = hooks.0.len();
    hooks.0.retain(|(event, value)| !(EVENTS.contains(&event.as_str()) && is_ours(value)));
    if hooks.0.len() == before {
        return Ok(false);
    }
    match hooks.0.is_empty() {
        true => settings.0.retain(|(key, _)| key != "hooks"),
        false => settings.set("hooks", hooks.in_text(1)),
    }
    write(path, &settings)?;
    Ok(true)
}

fn read(path: &Path) -> Result<Option<String>> {
    match file::read_small(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Error::NotJson { path: path.to_owned(), why: "it is not UTF-8".into() }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("read", path),
    }
}

/// An empty file is taken for no settings.
fn parse(path: &Path, text: &str) -> Result<Object> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text)
        .map_err(|error| Error::NotJson { path: path.to_owned(), why: error.to_string() })
}

fn write(path: &Path, settings: &Object) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).at("create", folder)?;
    let mode = fs::metadata(path).map(|meta| meta.permissions());
    file::replace(path, format!("{}\n", settings.in_text(0)).as_bytes())?;
    match mode {
        Ok(mode) => fs::set_permissions(path, mode).at("write", path),
        Err(_) => Ok(()),
    }
}

/// Whether hooks of an event are ours alone.
fn is_ours(value: &str) -> bool {
    #[derive(Deserialize)]
    struct Group {
        hooks: Vec<Hook>,
    }
    #[derive(Deserialize)]
    struct Hook {
        command: String,
    }
    let groups: Vec<Group> = serde_json::from_str(value).unwrap_or_default();
    let mut hooks = groups.iter().flat_map(|group| &group.hooks).peekable();
    hooks.peek().is_some() && hooks.all(|hook| hook.command == COMMAND)
}

fn is_empty(value: &str) -> bool {
    serde_json::from_str::<Vec<serde_json::Value>>(value).is_ok_and(|groups| groups.is_empty())
}

/// An object whose members keep their order and their text.
#[derive(Debug, Default)]
struct Object(Vec<(String, String)>);

impl Object {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, key: &str, value: String) {
        match self.0.iter_mut().rev().find(|(name, _)| name == key) {
            Some(member) => member.1 = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// With one member a line, as deep as it stands.
    fn in_text(&self, depth: usize) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let indent = "  ".repeat(depth);
        let members: Vec<String> = self
            .0
            .iter()
            .map(|(key, value)| format!("{indent}  {}: {value}", serde_json::Value::from(&**key)))
            .collect();
        format!("{{\n{}\n{indent}}}", members.join(",\n"))
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(input: D) -> std::result::Result<Object, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Object, M::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((key, value.get().to_owned()));
                }
                Ok(Object(members))
            }
        }
        input.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fuzz;

    fn parsed(text: &str) -> Object {
        parse(Path::new("x"), text).unwrap()
    }

    #[test]
    fn members_keep_order_and_text() {
        let text = "{\n  \"z\": 1.50,\n  \"a\": {\"x\":  [1e5]},\n  \"z\": null\n}";
        assert_eq!(parsed(text).in_text(0), text);
        assert_eq!(parsed(" ").in_text(0), "{}");
        assert!(parse(Path::new("x"), "[]").is_err());
        assert!(parse(Path::new("x"), "{} x").is_err());
    }

    #[test]
    fn only_hooks_of_ours_are_ours() {
        let ours = format!("[{{\"hooks\":[{{\"type\":\"command\",\"command\":\"{COMMAND}\"}}]}}]");
        assert!(is_ours(&ours));
        assert!(!is_ours("[]") && is_empty("[ ]") && !is_empty(&ours));
        assert!(!is_ours(&ours.replace("claude", "other")));
        assert!(!is_ours("[{\"hooks\":[{\"type\":\"http\",\"url\":\"x\"}]}]"));
    }

    #[test]
    fn fuzz_settings() {
        let real = [r#"{"model":"x","hooks":{"Stop":[{"hooks":[]}]},"n":1.5e3}"#];
        fuzz::damaged_text(&real, |text| {
            if let Ok(object) = parse(Path::new("x"), text) {
                let again = parsed(&object.in_text(0));
                assert_eq!(again.0, object.0);
            }
        });
    }
}

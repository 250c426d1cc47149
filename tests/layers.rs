//! The architecture as a test: the rooms of `src/`, their order, and no cycles.
//!
//! A room may import only the rooms below it. No two files import each other, directly or in a
//! circle. No command imports another command. A file has at most 400 lines, the table of commands
//! and the manual's prose aside. Each rule is also shown to fail on a planted violation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail so")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms and files of `src/`, from the top of the house to the bottom.
const ROOMS: [&str; 11] =
    ["main", "cmd", "cli", "lifecycle", "session", "sandbox", "repo", "git", "sys", "ui", "error"];
/// What every command starts from: the one part of `cmd/` that commands may import.
const CONTEXT: &str = "context";
const MOST_LINES: usize = 400;
/// Files that are one long table or text.
const LONG: [&str; 2] = ["cli/spec.rs", "cli/manual.rs"];

/// The text of each file, by its path below `src/`.
type Sources = BTreeMap<String, String>;

#[test]
fn the_house_is_in_order() {
    let told = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let src = told.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into()).join("src");
    let mut sources = Sources::new();
    read(&src, "", &mut sources);
    assert!(sources.len() > 50, "only {} files were found", sources.len());
    assert!(sources.contains_key("main.rs") && sources.contains_key("error.rs"));
    let found = violations(&sources);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn read(folder: &Path, lead: &str, sources: &mut Sources) {
    for entry in fs::read_dir(folder).expect("src can be read") {
        let entry = entry.expect("an entry can be read");
        let name = format!("{lead}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), sources);
        } else if Path::new(&name).extension() == Some("rs".as_ref()) {
            sources.insert(name, fs::read_to_string(entry.path()).expect("a file can be read"));
        }
    }
}

/// Everything that breaks a rule, one line each.
fn violations(sources: &Sources) -> Vec<String> {
    let modules: BTreeMap<String, &String> =
        sources.iter().map(|(path, text)| (module_of(path), text)).collect();
    let imports: BTreeMap<&str, BTreeSet<String>> = modules
        .iter()
        .map(|(module, text)| (module.as_str(), imports_of(module, text, &modules)))
        .collect();
    let mut found = Vec::new();
    for (path, text) in sources {
        if !ROOMS.contains(&room_of(&module_of(path))) {
            found.push(format!("{path}: is in no room of the house"));
        }
        let lines = text.lines().count();
        if lines > MOST_LINES && !LONG.contains(&path.as_str()) {
            found.push(format!("{path}: {lines} lines are more than {MOST_LINES}"));
        }
    }
    for (module, targets) in &imports {
        for target in targets {
            if height(target) < height(module) {
                found.push(format!("{module} imports {target}, which is above it"));
            }
            if let (Some(one), Some(other)) = (command_of(module), command_of(target))
                && one != other
            {
                found.push(format!("the command {one} imports the command {other}"));
            }
        }
    }
    found.extend(cycles(&imports));
    found
}

/// `sandbox/mod.rs` is `sandbox`, `repo/link.rs` is `repo::link`.
fn module_of(path: &str) -> String {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.strip_suffix("/mod").unwrap_or(path).replace('/', "::")
}

fn room_of(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn height(module: &str) -> usize {
    ROOMS.iter().position(|room| *room == room_of(module)).unwrap_or(ROOMS.len())
}

/// The command that a module of `cmd/` belongs to.
fn command_of(module: &str) -> Option<&str> {
    let mut parts = module.split("::");
    let command = (parts.next() == Some("cmd")).then(|| parts.next()).flatten()?;
    (command != CONTEXT).then_some(command)
}

/// The modules that a file names outside of its tests: by their full path, from where it is
/// (`super::`, `self::`), or as its own children.
fn imports_of(module: &str, text: &str, modules: &BTreeMap<String, &String>) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let code: Vec<&str> =
        code.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for statement in code.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        paths.extend(expanded(statement));
    }
    paths.extend(spelled_out(&code));
    let full = paths.iter().filter_map(|path| full_path(module, path, modules));
    let mut found: BTreeSet<String> =
        full.filter_map(|path| nearest_module(&path, modules)).collect();
    found.remove(module);
    found
}

/// Every path with two parts or more, where it is used.
fn spelled_out(code: &str) -> Vec<String> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    // One that a brace follows is the lead of a `use`.
    let whole = words.filter(|word| word.contains("::") && !word.ends_with("::"));
    whole.map(str::to_owned).collect()
}

/// A path from the top of `src/`; `None` for one that leads out of it.
fn full_path(module: &str, path: &str, modules: &BTreeMap<String, &String>) -> Option<String> {
    let below = |module: &str, rest: &str| match module {
        "" | "main" => rest.to_owned(),
        _ => format!("{module}::{rest}"),
    };
    let (first, rest) = path.split_once("::")?;
    let mut parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    match first {
        "crate" => Some(rest.to_owned()),
        "self" => Some(below(module, rest)),
        "super" => {
            let mut rest = rest;
            while let Some(above) = rest.strip_prefix("super::") {
                parent = parent.rsplit_once("::").map_or("", |(parent, _)| parent);
                rest = above;
            }
            Some(below(parent, rest))
        }
        child => modules.contains_key(&below(module, child)).then(|| below(module, path)),
    }
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((lead, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_owned()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expanded).map(|part| format!("{}{part}", lead.trim())).collect()
}

/// The longest part of a path that is a module.
fn nearest_module(path: &str, modules: &BTreeMap<String, &String>) -> Option<String> {
    let mut path = path.trim_end_matches("::");
    loop {
        if modules.contains_key(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once("::")?.0;
    }
}

/// Every module from which imports lead back to itself, with the way.
fn cycles(imports: &BTreeMap<&str, BTreeSet<String>>) -> Vec<String> {
    let mut found = Vec::new();
    for start in imports.keys() {
        let mut ways = vec![vec![(*start).to_owned()]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            let last = way.last().cloned().unwrap_or_default();
            for next in imports.get(last.as_str()).into_iter().flatten() {
                if next == start {
                    found.push(format!("a cycle: {} -> {start}", way.join(" -> ")));
                } else if seen.insert(next.clone()) {
                    ways.push([way.clone(), vec![next.clone()]].concat());
                }
            }
        }
    }
    found
}

/// A small house in order, with one file changed or added.
fn house(path: &str, text: &str) -> Vec<String> {
    let mut sources = Sources::new();
    for (path, text) in [
        ("main.rs", "use cmd::run;\n"),
        ("error.rs", ""),
        ("cmd/mod.rs", "mod rm;\nmod stop;\nuse crate::cli::args::Args;\n"),
        ("cmd/context/mod.rs", ""),
        ("cmd/rm.rs", "use crate::cmd::context::Here;\nuse crate::repo::link;\n"),
        ("cmd/stop.rs", ""),
        ("cli/args.rs", "use crate::error::{Error, Result};\n"),
        ("repo/link.rs", "use crate::sys::file;\n"),
        ("sys/file.rs", "use crate::error::Error;\n"),
    ] {
        sources.insert(path.to_owned(), text.to_owned());
    }
    assert_eq!(violations(&sources), Vec::<String>::new());
    sources.insert(path.to_owned(), text.to_owned());
    violations(&sources)
}

#[test]
fn an_upward_import_is_found() {
    let said = [
        "sys::file imports repo::link, which is above it",
        "a cycle: repo::link -> sys::file -> repo::link",
    ];
    assert_eq!(house("sys/file.rs", "use crate::repo::{link, name};\n")[..2], said);
    let inline = house("repo/name.rs", "fn x() { crate::cmd::rm::run() }\n");
    assert_eq!(inline, ["repo::name imports cmd::rm, which is above it"]);
}

#[test]
fn a_cycle_in_one_room_is_found() {
    let found = house("sys/path.rs", "use crate::sys::path::real;\n");
    assert_eq!(found, Vec::<String>::new(), "a file may name itself");
    let mut sources = Sources::new();
    sources.insert("sys/a.rs".into(), "use super::b::B;\n".into());
    sources.insert("sys/b.rs".into(), "use crate::sys::{a::A, c};\n".into());
    let found = violations(&sources);
    assert!(found.contains(&"a cycle: sys::a -> sys::b -> sys::a".to_owned()), "{found:?}");
}

#[test]
fn a_cycle_of_a_folder_and_a_file_in_it_is_found() {
    for (parent, child) in [
        ("mod a;\npub use a::A;\n", "use super::B;\n"),
        ("mod a;\nuse self::a::A;\n", "use crate::sys::B;\n"),
        ("mod a;\nfn f() { a::f() }\n", "fn f() { super::g() }\n"),
    ] {
        let mut sources = Sources::new();
        sources.insert("sys/mod.rs".into(), parent.into());
        sources.insert("sys/a.rs".into(), child.into());
        let found = violations(&sources);
        assert_eq!(found, ["a cycle: sys -> sys::a -> sys", "a cycle: sys::a -> sys -> sys::a"]);
    }
    let mut sources = Sources::new();
    sources.insert("sys/deep/a.rs".into(), "fn f() { super::super::b::f() }\n".into());
    sources.insert("sys/b.rs".into(), "use crate::sys::deep::a;\n".into());
    let found = violations(&sources);
    assert!(found.contains(&"a cycle: sys::b -> sys::deep::a -> sys::b".to_owned()), "{found:?}");
}

#[test]
fn a_command_that_imports_a_command_is_found() {
    let found = house("cmd/stop.rs", "use super::rm;\n");
    assert_eq!(found, ["the command stop imports the command rm"]);
}

#[test]
fn a_file_outside_of_the_rooms_is_found() {
    assert_eq!(house("util.rs", ""), ["util.rs: is in no room of the house"]);
    assert_eq!(house("helpers/mod.rs", ""), ["helpers/mod.rs: is in no room of the house"]);
}

#[test]
fn a_long_file_is_found() {
    let long = "\n".repeat(MOST_LINES + 1);
    assert_eq!(house("repo/name.rs", &long), ["repo/name.rs: 401 lines are more than 400"]);
    assert_eq!(house("cli/spec.rs", &long), Vec::<String>::new());
}

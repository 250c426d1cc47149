//! Commands that only look: `git sandbox list`, `show`, `path` and `diff`.

mod age;
mod diff;
mod output;
mod path;
mod show;
mod terminal;

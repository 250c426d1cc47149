//! `git sandbox merge`, and whether a sandbox counts as merged.

mod crash;
mod disk;
mod faults;
mod hooks;
mod in_use;
mod interrupt;
mod landing;
mod left_over;
mod made;
mod meanwhile;
mod merged;
mod outcome;
mod refuse;
mod scratch;
mod untouched;
mod untracked;

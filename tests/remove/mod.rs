//! `git sandbox rm`: what it refuses, what it moves to the trash, and what stays.

mod branch;
mod crash;
mod failed;
mod faults;
mod in_use;
mod kinds;
mod missing;
mod nested;
mod no_answer;
mod orphan;
mod places;
mod power;
mod removed_name;
mod rm;
mod teardown;
mod untouched;

//! `git sandbox setup`, and the completions that it installs.

mod claude;
mod files;
mod function;
mod shells;
mod timer;

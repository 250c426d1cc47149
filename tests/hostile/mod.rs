//! Forged files, config, variables and names: no foreign program runs, nothing outside is touched.

mod config;
mod env;
mod files;
mod hooks;
mod names;
mod pointers;
mod trash;

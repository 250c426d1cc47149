//! Programs in a sandbox: `git sandbox run`, `stop`, agents and terminals.

mod again;
mod agent;
mod author;
mod background;
mod hook;
mod in_use;
mod ordinary_user;
mod pool;
mod restart;
mod run;
mod runs;
mod signals;
mod stop;
mod tmux;
mod wait;
mod windows;

//! How git and `git sandbox` meet: where it is started, and which git processes it starts.

mod environment;
mod processes;

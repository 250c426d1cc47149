//! `git sandbox reap`: which sandboxes are stale, and which of them go.

mod all;
mod auto;
mod periods;
mod used;
mod verdict;

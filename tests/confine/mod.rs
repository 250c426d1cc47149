//! Walls around commands: what must not get out, what must work inside, and what is refused.

mod aliases;
mod at_once;
mod closed;
mod escapes;
mod landlock;
mod operations;
mod readme;
mod sockets;
mod system_calls;
mod usable;
mod wishes;

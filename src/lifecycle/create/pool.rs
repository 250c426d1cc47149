//! Several sandboxes by one command: registered one after another, in order, and checked out beside
//! each other.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use super::{Maker, Outcome, Wish};
use crate::error::Result;
use crate::sys::lock::Lock;

/// What is left to begin with. Who holds it is at work under the repository lock.
#[derive(Debug)]
struct Gate {
    next: usize,
    /// The repository lock, for the first.
    lock: Option<Lock>,
    /// Whether one has failed: no other is begun.
    stopped: bool,
}

impl Maker<'_> {
    /// Creates or resumes these sandboxes. Each that is there is told to `tell`, in order. After a
    /// failure no other is begun, and the first failure is the error.
    pub fn ensure_all(
        &self,
        wishes: &[Wish],
        lock: Lock,
        mut tell: impl FnMut(Outcome) -> Result<()>,
    ) -> Result<()> {
        if let [wish] = wishes {
            return tell(self.ensure(wish, Some(lock))?);
        }
        let gate = Mutex::new(Gate { next: 0, lock: Some(lock), stopped: false });
        // One writes files while git starts for the next.
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1;
        let (sender, ends) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..workers.min(wishes.len()) {
                let (gate, sender) = (&gate, sender.clone());
                scope.spawn(move || {
                    while let Some((number, end)) = self.ensure_next(wishes, gate) {
                        // The other end is there until all have ended.
                        let _ = sender.send((number, end));
                    }
                });
            }
            drop(sender);
            let mut waiting: Vec<Option<Result<Outcome>>> = wishes.iter().map(|_| None).collect();
            let (mut told, mut failure) = (0, Ok(()));
            for (number, end) in ends {
                waiting[number] = Some(end);
                while let Some(end) = waiting.get_mut(told).and_then(Option::take) {
                    told += 1;
                    let end = end.and_then(&mut tell);
                    failure = failure.and(end);
                }
            }
            failure
        })
    }

    /// Makes the next one that is wanted; its number, and how it ended.
    fn ensure_next(&self, wishes: &[Wish], gate: &Mutex<Gate>) -> Option<(usize, Result<Outcome>)> {
        let mut begun = enter(gate);
        let number = begun.next;
        let wish = wishes.get(number).filter(|_| !begun.stopped)?;
        begun.next += 1;
        let lock = begun.lock.take();
        let begun = RefCell::new(Some(begun));
        let end = self.ensure_then(wish, lock, &|| drop(begun.take()));
        if end.is_err() {
            begun.take().unwrap_or_else(|| enter(gate)).stopped = true;
        }
        Some((number, end))
    }
}

fn enter(gate: &Mutex<Gate>) -> MutexGuard<'_, Gate> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

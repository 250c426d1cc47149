//! Many small looks at the disk, shared out among the cores.

use std::panic::resume_unwind;
use std::thread;

/// So few are not worth a thread.
const PORTION: usize = 50;

/// Does the same to each, with all cores where there are many. The answers are in the order of the items.
pub fn map<T: Sync, A: Send>(items: &[T], each: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let size = items.len().div_ceil(cores).max(PORTION).min(items.len());
    let (first, rest) = items.split_at(size);
    let portion = |items: &[T]| -> Vec<A> { items.iter().map(&each).collect() };
    thread::scope(|scope| {
        let portions = rest.chunks(size.max(1));
        let others: Vec<_> = portions.map(|items| scope.spawn(move || portion(items))).collect();
        let mut answers = portion(first);
        for other in others {
            answers.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        answers
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_in_its_place() {
        for count in [0, 1, PORTION - 1, PORTION, PORTION + 1, 1000, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = (0..count).map(|item| 2 * item).collect();
            assert_eq!(map(&items, |item| 2 * item), doubled);
        }
    }
}

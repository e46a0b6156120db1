//! How many threads work at once, and how they share tasks. Knows no task.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};

/// More workers than this gained nothing: writes to one file follow each other, and while one
/// worker writes, one or two can read. See docs/performance.md.
const MOST_BY_DEFAULT: usize = 4;

/// A number of threads, the calling one counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jobs(NonZeroUsize);

impl Jobs {
    /// The calling thread alone.
    pub const ONE: Self = Self(NonZeroUsize::MIN);

    /// So many threads, whatever the machine has.
    pub fn new(count: NonZeroUsize) -> Self {
        Self(count)
    }

    /// How many.
    pub fn count(self) -> usize {
        self.0.get()
    }

    /// At least `least`.
    pub fn at_least(self, least: usize) -> Self {
        Self(NonZeroUsize::new(least).map_or(self.0, |least| least.max(self.0)))
    }

    /// Carries out `tasks`, each by whichever worker is free, and returns the workers, which
    /// `hire` made, one in each thread. Where the system gives fewer threads there are fewer.
    ///
    /// # Errors
    /// Whatever the number of threads, the error of the first task in their order that fails: they
    /// are handed out in that order, none after an error, and those before it are carried through.
    pub fn in_order<Task, Worker: Send, Error: Send>(
        self,
        tasks: impl Iterator<Item = Task> + Send,
        hire: impl Fn() -> Worker + Sync,
        carry_out: impl Fn(&mut Worker, Task) -> Result<(), Error> + Sync,
    ) -> Result<Vec<Worker>, Error> {
        let queue = Mutex::new(Queue { tasks: tasks.enumerate(), failure: None });
        let workers = self.run(|| {
            let mut worker = hire();
            loop {
                // Its own statement: in a loop's head the lock would be held all through its body.
                let task = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, task)) = task else { return worker };
                if let Err(error) = carry_out(&mut worker, task) {
                    queue.lock().unwrap_or_else(PoisonError::into_inner).fail(number, error);
                }
            }
        });
        match queue.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
            Some((_, error)) => Err(error),
            None => Ok(workers),
        }
    }

    /// Calls `work` in this thread and `help` in the others, and returns when all are done.
    pub fn beside<T>(self, help: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
        scope(|scope| {
            for _ in 1..self.count() {
                if Builder::new().spawn_scoped(scope, &help).is_err() {
                    break;
                }
            }
            work()
        })
    }

    /// Calls `work` in so many threads at once, and returns what each call made, this thread's
    /// first. Where the system gives fewer threads, fewer calls are made, one at least.
    fn run<T: Send>(self, work: impl Fn() -> T + Sync) -> Vec<T> {
        scope(|scope| {
            let start = |_| Builder::new().spawn_scoped(scope, &work).ok();
            let others: Vec<ScopedJoinHandle<'_, T>> = (1..self.count()).map_while(start).collect();
            let mut made = vec![work()];
            for other in others {
                match other.join() {
                    Ok(result) => made.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            made
        })
    }
}

/// What is to be done yet, and the first task that failed.
struct Queue<Tasks, Error> {
    tasks: Tasks,
    failure: Option<(usize, Error)>,
}

impl<Task, Tasks: Iterator<Item = Task>, Error> Queue<Tasks, Error> {
    fn next(&mut self) -> Option<Task> {
        if self.failure.is_some() { None } else { self.tasks.next() }
    }

    fn fail(&mut self, number: usize, error: Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
    }
}

impl Default for Jobs {
    /// As many as this process may use processors, and at most four.
    fn default() -> Self {
        Self(available_parallelism().map_or(NonZeroUsize::MIN, |count| {
            count.min(NonZeroUsize::new(MOST_BY_DEFAULT).unwrap_or(count))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_in_the_order_of_the_tasks_is_told() {
        for count in [1, 2, 3, 8] {
            let jobs = Jobs::new(NonZeroUsize::new(count).unwrap());
            for _ in 0..200 {
                let done = jobs.in_order(
                    0..100,
                    || (),
                    |(), number| match number {
                        3 => {
                            // The other workers fail first, more often than not.
                            std::thread::yield_now();
                            Err(number)
                        }
                        4.. => Err(number),
                        _ => Ok(()),
                    },
                );
                assert_eq!(done.map(|workers| workers.len()), Err(3));
            }
        }
    }

    #[test]
    fn every_task_is_carried_out_once() {
        for count in [1, 2, 7] {
            let jobs = Jobs::new(NonZeroUsize::new(count).unwrap());
            let workers = jobs
                .in_order(
                    0..1000_u64,
                    || 0,
                    |sum, number| {
                        *sum += number;
                        Ok::<(), ()>(())
                    },
                )
                .unwrap();
            assert_eq!(workers.len(), count);
            assert_eq!(workers.iter().sum::<u64>(), 999 * 1000 / 2);
        }
    }
}

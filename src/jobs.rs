//! How many threads work at once, and how they share tasks. Knows no task.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};

use rustix::process::{Resource, getrlimit};

/// Descriptors that a worker holds at most: a source, a directory of it, the next one, a file.
const DESCRIPTORS_PER_WORKER: u64 = 4;

/// Descriptors of all workers together, and some that whoever started this process left open.
const DESCRIPTORS_OF_ALL: u64 = 12;

/// What a process may need for each worker, and its share of what all need, where its addresses are
/// limited (ulimit -v): a thread that gets its stack and nothing more ends the whole process.
const ADDRESSES_PER_WORKER_BYTES: u64 = 16 << 20;

/// Of the memory that a thread may be given, what one of ours needs with room to spare.
const STACK_BYTES: usize = 512 << 10;

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

    /// At most `most`, and one at least.
    pub fn at_most(self, most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self(NonZeroUsize::new(most).map_or(NonZeroUsize::MIN, |most| most.min(self.0)))
    }

    /// Carries out `tasks`, each by whichever worker is free, and returns the workers, which
    /// `hire` made, one in each thread. Where the system gives less than they need there are fewer.
    ///
    /// # Errors
    /// When not even one worker can be hired. Else, whatever the number of threads, the error of the
    /// first task in their order that fails: tasks are handed out in that order, none after an
    /// error, and those before it are carried through.
    pub fn in_order<Task, Worker: Send, Error: Send>(
        self,
        tasks: impl Iterator<Item = Task> + Send,
        hire: impl Fn() -> Result<Worker, Error> + Sync,
        carry_out: impl Fn(&mut Worker, Task) -> Result<(), Error> + Sync,
    ) -> Result<Vec<Worker>, Error> {
        let queue = Mutex::new(Queue { tasks: tasks.enumerate(), failure: None, closed: false });
        let work = |mut worker: Worker| {
            let closing = CloseOnPanic(&queue);
            loop {
                // Its own statement: in a loop's head the lock would be held all through its body.
                let task = lock(&queue).next();
                let Some((number, task)) = task else { break };
                if let Err(error) = carry_out(&mut worker, task) {
                    lock(&queue).fail(number, error);
                }
            }
            drop(closing);
            worker
        };
        let first = hire()?;
        let workers = self.run(|| hire().ok().map(work), || work(first));
        match queue.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
            Some((_, error)) => Err(error),
            None => Ok(workers),
        }
    }

    /// Calls `work` in this thread and `help` in the others, and returns when all are done.
    pub fn beside<T>(self, help: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
        scope(|scope| {
            for _ in 1..self.affordable() {
                if thread().spawn_scoped(scope, &help).is_err() {
                    break;
                }
            }
            work()
        })
    }

    /// Calls `work` in this thread and `help` in the others, and returns what they made, this
    /// thread's first.
    fn run<T: Send>(self, help: impl Fn() -> Option<T> + Sync, work: impl FnOnce() -> T) -> Vec<T> {
        scope(|scope| {
            let start = |_| thread().spawn_scoped(scope, &help).ok();
            let others: Vec<ScopedJoinHandle<'_, Option<T>>> =
                (1..self.affordable()).map_while(start).collect();
            let mut made = vec![work()];
            for other in others {
                match other.join() {
                    Ok(result) => made.extend(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            made
        })
    }

    /// As many as this process may open files and has addresses for.
    fn affordable(self) -> usize {
        let limit = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        let descriptors = limit(Resource::Nofile).saturating_sub(DESCRIPTORS_OF_ALL);
        let by_memory = limit(Resource::As) / ADDRESSES_PER_WORKER_BYTES;
        self.at_most((descriptors / DESCRIPTORS_PER_WORKER).min(by_memory)).count()
    }
}

fn thread() -> Builder {
    Builder::new().stack_size(STACK_BYTES)
}

/// Locks what threads share. Whoever panics ends the work when its thread is joined; what it held is
/// not looked at then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be done yet, and the first task that failed.
struct Queue<Tasks, Error> {
    tasks: Tasks,
    failure: Option<(usize, Error)>,
    /// Whether a worker has panicked.
    closed: bool,
}

impl<Task, Tasks: Iterator<Item = Task>, Error> Queue<Tasks, Error> {
    fn next(&mut self) -> Option<Task> {
        if self.closed || self.failure.is_some() { None } else { self.tasks.next() }
    }

    fn fail(&mut self, number: usize, error: Error) {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, error));
        }
    }
}

/// Nothing is handed out any more once a worker has panicked.
struct CloseOnPanic<'a, Tasks, Error>(&'a Mutex<Queue<Tasks, Error>>);

impl<Tasks, Error> Drop for CloseOnPanic<'_, Tasks, Error> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(self.0).closed = true;
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
                    || Ok(()),
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
                    || Ok(0),
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

    #[test]
    fn a_worker_that_cannot_be_hired_leaves_its_tasks_to_the_others() {
        let jobs = Jobs::new(NonZeroUsize::new(4).unwrap());
        let left = Mutex::new(1);
        let hire = || {
            let mut left = left.lock().unwrap();
            if *left == 0 {
                return Err("no more");
            }
            *left -= 1;
            Ok(0)
        };
        let count = |done: &mut u32, _: i32| {
            *done += 1;
            Ok(())
        };
        assert_eq!(jobs.in_order(0..100, hire, count), Ok(vec![100]));
        assert_eq!(jobs.in_order(0..100, hire, count), Err("no more"));
    }

    #[test]
    fn a_panic_ends_the_work_and_is_passed_on() {
        let jobs = Jobs::new(NonZeroUsize::new(2).unwrap());
        let ended = std::panic::catch_unwind(|| {
            jobs.in_order(
                0..,
                || Ok::<_, ()>(()),
                |(), number: u64| match number {
                    5 => panic!("on purpose"),
                    _ => Ok(()),
                },
            )
        });
        assert!(ended.is_err());
    }
}

//! Directories listed by other threads before the walk comes to them. The walk alone decides what
//! becomes of the entries, in its own order, so the tree does not depend on who was faster.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::listing::{Folder, Listing};
use super::tree::os_name;
use crate::event::Observer;
use crate::jobs::{Jobs, lock};
use crate::pattern::Patterns;

/// A directory whose listing the walk will want, and how far it is.
#[derive(Debug)]
pub(super) struct Ticket {
    folder: Folder,
    progress: Mutex<Progress>,
    done: Condvar,
}

#[derive(Debug)]
enum Progress {
    Waiting,
    Underway,
    Done(Delivered),
}

/// A directory that is listed.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) listing: Listing,
    /// Tickets of the directories in it, in order.
    pub(super) directories: Vec<Arc<Ticket>>,
}

/// Threads that list directories while the walk goes on.
pub(super) struct Ahead<'a> {
    exclude: &'a Patterns,
    watch: &'a dyn Observer,
    /// Whether there are other threads.
    helped: bool,
    /// The tickets that nobody has taken, the one that the walk wants first the last.
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    tickets: Vec<Arc<Ticket>>,
    /// Threads that sleep until there are more.
    idle: usize,
    closed: bool,
}

impl<'a> Ahead<'a> {
    /// Calls `walk` in this thread; the others list what it will want.
    pub(super) fn while_walking<T>(
        jobs: Jobs,
        exclude: &'a Patterns,
        watch: &'a dyn Observer,
        walk: impl FnOnce(&Self) -> T,
    ) -> T {
        let (waiting, changed) = (Mutex::default(), Condvar::new());
        let ahead = Self { exclude, watch, helped: jobs != Jobs::ONE, waiting, changed };
        jobs.beside(
            || ahead.help(),
            || {
                let closing = Closing(&ahead);
                let walked = walk(closing.0);
                drop(closing);
                walked
            },
        )
    }

    /// The listing of `folder`, which nobody knows yet.
    pub(super) fn list(&self, folder: Folder) -> Delivered {
        self.work_on(&Ticket::new(folder))
    }

    /// The listing for a ticket: made now if nobody is at it. While another thread is, this one
    /// lists something else: to be put to sleep and woken costs more than a small directory.
    pub(super) fn collect(&self, ticket: &Ticket) -> Delivered {
        loop {
            if ticket.take() {
                return self.work_on(ticket);
            }
            let mut progress = lock(&ticket.progress);
            if let Some(listed) = progress.delivered() {
                return listed;
            }
            drop(progress);
            // Its own statement: in the condition the lock would be held all through the block.
            let other = lock(&self.waiting).tickets.pop();
            if let Some(other) = other {
                self.deliver(&other);
                continue;
            }
            progress = lock(&ticket.progress);
            while matches!(*progress, Progress::Underway) {
                progress = ticket.done.wait(progress).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn help(&self) {
        while let Some(ticket) = self.next_ticket() {
            self.deliver(&ticket);
        }
    }

    /// Lists for a ticket, unless somebody does or did.
    fn deliver(&self, ticket: &Ticket) {
        if ticket.take() {
            let mut delivery = Delivery { ticket, listed: Delivered::default() };
            delivery.listed = self.work_on(ticket);
        }
    }

    fn next_ticket(&self) -> Option<Arc<Ticket>> {
        let mut waiting = lock(&self.waiting);
        loop {
            if waiting.closed {
                return None;
            }
            if let Some(ticket) = waiting.tickets.pop() {
                return Some(ticket);
            }
            waiting.idle += 1;
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }

    /// Lists a directory, and lets others know of those in it.
    fn work_on(&self, ticket: &Ticket) -> Delivered {
        let Folder { root, path, image_path, .. } = &ticket.folder;
        let listing = ticket.folder.list(self.exclude, self.watch);
        let met = |(name, identity)| {
            let name = os_name(name);
            let (path, image_path) = (path.join(name), image_path.join(name));
            Arc::new(Ticket::new(Folder { root: Arc::clone(root), path, image_path, identity }))
        };
        let directories: Vec<Arc<Ticket>> = listing.directories().map(met).collect();
        if self.helped && !directories.is_empty() {
            let tickets = directories.iter().rev().map(Arc::clone);
            let mut waiting = lock(&self.waiting);
            waiting.tickets.extend(tickets);
            if waiting.idle > 0 {
                self.changed.notify_all();
            }
        }
        Delivered { listing, directories }
    }
}

impl Progress {
    /// The listing, once.
    fn delivered(&mut self) -> Option<Delivered> {
        match self {
            Self::Done(listed) => Some(std::mem::take(listed)),
            Self::Waiting | Self::Underway => None,
        }
    }
}

impl Ticket {
    fn new(folder: Folder) -> Self {
        Self { folder, progress: Mutex::new(Progress::Waiting), done: Condvar::new() }
    }

    /// Takes the listing upon the calling thread, unless another has.
    fn take(&self) -> bool {
        let mut progress = lock(&self.progress);
        let waits = matches!(*progress, Progress::Waiting);
        if waits {
            *progress = Progress::Underway;
        }
        waits
    }
}

/// Hands a listing to the walk, an empty one should the listing end by a panic: the walk must not
/// wait for ever.
struct Delivery<'a> {
    ticket: &'a Ticket,
    listed: Delivered,
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        *lock(&self.ticket.progress) = Progress::Done(std::mem::take(&mut self.listed));
        self.ticket.done.notify_all();
    }
}

/// Sends the other threads home, also when the walk ends by a panic.
struct Closing<'a, 'b>(&'a Ahead<'b>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        lock(&self.0.waiting).closed = true;
        self.0.changed.notify_all();
    }
}

//! How an image is written: each decision once, with its reason. Knows figures of the plan and of
//! the system, and writes nothing.

use std::fs;

use super::buffer::MIN_HOLE_BYTES;
use super::output::Direct;
use crate::image::{Body, Image};
use crate::jobs::Jobs;
use crate::source::NodeId;

/// Workers that write past the page cache wait for the disk, not for a processor, and a disk is at
/// its fastest when several writes wait for it.
const LEAST_DIRECT_JOBS: usize = 4;

/// One thread at least reads ahead while another writes to a stream.
const LEAST_STREAM_JOBS: usize = 2;

/// Where the system does not tell how much it keeps in memory.
const USUAL_ROOM_BYTES: u64 = 2 << 30;

/// Bytes of the pages in which `/proc/vmstat` counts, on all machines but a few with larger ones;
/// there the room is taken for smaller than it is.
const PAGE_BYTES: u64 = 4096;

/// How an image was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// How many threads read and wrote: fewer than wanted where the system gave no more, or where
    /// there was nothing for them to do.
    pub jobs: Jobs,
    /// How many were asked for, if any number was.
    pub jobs_asked: Option<Jobs>,
    /// Whether room was reserved before anything was written.
    pub room: Room,
    /// Whether large files were cloned.
    pub cloning: Cloning,
    /// Whether the writes went through the page cache.
    pub cache: Cache,
    /// What was written to.
    pub target: Target,
}

/// What an image was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A file of its own.
    File,
    /// A stream.
    Stream,
    /// A block device, in place: its first block last, and synced.
    Device,
    /// A part of an image file, in place: its first block last.
    Part,
}

/// Room on the disk that was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// None.
    None,
    /// For all that would be written, since that is faster there.
    Written,
    /// For the whole image, as was asked.
    Whole,
}

/// Whether large files were cloned: their blocks shared between source and image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloning {
    /// There was none to clone, or it was not wanted.
    None,
    /// Some or all were.
    Done,
    /// Every byte had to be read, for a digest.
    EveryByteWanted,
    /// The system refused: the file system cannot, or source and image lie on two.
    Refused,
}

/// Whether writes go through the page cache of the system, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Nothing was written: the image that is there is the same.
    Unused,
    /// A stream has no choice.
    Stream,
    /// Through it: the image is there when the disk has not seen it yet, and whoever reads it next
    /// finds it in memory.
    Through(Reason),
    /// Past it: at the pace of the disk, at a fraction of the processor's time, and what others
    /// have in the cache stays there.
    Past(Reason),
    /// Through it, because writes past it were refused.
    Refused,
}

/// Why the page cache is used or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It was asked for.
    Asked,
    /// The system starts to write to the disk when so much is waiting in memory. Up to there a
    /// build ends without waiting for the disk; beyond it each byte would be copied for nothing.
    Room {
        /// Bytes.
        room_bytes: u64,
    },
    /// A device has to have every byte before the build ends; this way the progress that is told is that
    /// of the device.
    Device,
}

impl Cache {
    /// What suits `written_bytes` that are to be written.
    pub(super) fn choose(wish: Direct, written_bytes: u64) -> Self {
        match wish {
            Direct::Never => Self::Through(Reason::Asked),
            Direct::Always => Self::Past(Reason::Asked),
            Direct::Auto => {
                let room_bytes = room_bytes();
                let reason = Reason::Room { room_bytes };
                if written_bytes > room_bytes { Self::Past(reason) } else { Self::Through(reason) }
            }
        }
    }
}

/// How many threads work, where it was not asked for.
pub(super) fn default_jobs(cache: Cache) -> Jobs {
    match cache {
        Cache::Unused | Cache::Through(_) | Cache::Refused => Jobs::default(),
        Cache::Past(_) => Jobs::default().at_least(LEAST_DIRECT_JOBS),
        Cache::Stream => Jobs::default().at_least(LEAST_STREAM_JOBS),
    }
}

/// How much may wait in memory before the system begins to write it to the disk.
fn room_bytes() -> u64 {
    let figures = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let pages = figures
        .lines()
        .find_map(|line| line.strip_prefix("nr_dirty_background_threshold "))
        .and_then(|pages| pages.trim().parse::<u64>().ok());
    pages.map_or(USUAL_ROOM_BYTES, |pages| pages.saturating_mul(PAGE_BYTES))
}

/// What of an image is to be written.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// First byte and length of each stretch that is certainly not stepped over: nothing of a
    /// sparse file, whose holes nobody knows before it is read.
    pub(super) stretches: Vec<(u64, u64)>,
    /// Bytes in all, those included that the host stores of sparse files.
    pub(super) bytes: u64,
}

impl Work {
    /// Of `image`, when `cloned` tells how many bytes of a file, from its first on, are there
    /// already.
    pub(super) fn of(image: Image<'_>, cloned: impl Fn(NodeId) -> u64) -> Self {
        let tree = image.plan().tree();
        let mut work = Self::default();
        for segment in image.segments() {
            let (at, len) = (segment.at, segment.len);
            match segment.body {
                Body::Zero if len >= MIN_HOLE_BYTES => {}
                Body::Meta(_) | Body::Zero => work.add(at, len),
                Body::Content(id) => {
                    let (node, done) = (tree.node(id), cloned(id));
                    if !node.is_sparse() {
                        work.add(at + done, len - done);
                    } else if done == 0 {
                        work.bytes += node.stored_bytes();
                    }
                }
            }
        }
        work
    }

    fn add(&mut self, at: u64, len: u64) {
        self.bytes += len;
        match self.stretches.last_mut() {
            Some((last_at, last_len)) if *last_at + *last_len == at => *last_len += len,
            _ if len > 0 => self.stretches.push((at, len)),
            _ => {}
        }
    }
}

//! How an image is written: each decision once, with its reason. Knows figures of the plan and of
//! the system, and writes nothing.

use std::fs;

use super::buffer::MIN_HOLE_BYTES;
use super::output::Direct;
use crate::image::{Body, Image};
use crate::jobs::Jobs;

/// Workers that write past the page cache wait for the disk, not for a processor, and a disk is at its
/// fastest when several writes wait for it.
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
    /// How many threads read and wrote: fewer than asked for where the system gave no more.
    pub jobs: Jobs,
    /// Whether room was reserved for all that would be written before it was.
    pub reserved: bool,
    /// Whether the writes went through the page cache.
    pub cache: Cache,
}

/// Whether writes go through the page cache of the system, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// A stream has no choice.
    Stream,
    /// Through it: the image is there when the disk has not seen it yet, and whoever reads it next
    /// finds it in memory.
    Through(Reason),
    /// Past it: at the pace of the disk, at a fraction of the processor's time, and what others
    /// have in the cache stays there.
    Past(Reason),
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
    /// The file system or its disk takes no writes past the cache.
    Refused,
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
        Cache::Through(_) => Jobs::default(),
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

/// First byte and length of each stretch of `image` that is not stepped over. Of a sparse file
/// nobody knows before it is read: none of it is counted.
pub(super) fn written_stretches(image: Image<'_>) -> Vec<(u64, u64)> {
    let tree = image.plan().tree();
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for segment in image.segments() {
        let stepped_over = match segment.body {
            Body::Zero => segment.len >= MIN_HOLE_BYTES,
            Body::Content(id) => tree.node(id).is_sparse(),
            Body::Meta(_) => false,
        };
        if stepped_over {
            continue;
        }
        match stretches.last_mut() {
            Some((at, len)) if *at + *len == segment.at => *len += segment.len,
            _ => stretches.push((segment.at, segment.len)),
        }
    }
    stretches
}

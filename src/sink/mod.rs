//! Where the bytes go: runs of the image, filled and written by workers, for files and streams
//! alike. Knows no FAT.
//!
//! | Room | Purpose |
//! |---|---|
//! | [`output`] | what the user named, and whether it can be written |
//! | [`strategy`] | how this image is written, and why so |
//! | `runs` | the image cut into pieces of work |
//! | `workers` | who does it, and the first error in the order of the image |
//! | `buffer` | small pieces become large writes |
//! | `file` | a regular file that appears only when it is complete |
//! | `stream` | standard output, pipes, character devices |
//! | `clone`, `reserve`, `direct` | what some file systems do faster |

mod buffer;
mod clone;
mod direct;
mod file;
pub mod output;
mod reserve;
mod runs;
pub mod strategy;
mod stream;
mod workers;

use std::fs::File;
use std::time::{Duration, Instant};

use thiserror::Error;

pub use output::{Direct, Output, OutputError};
pub use strategy::{Cache, Cloning, Reason, Room, Strategy};

use crate::event::{Observer, Stage};
use crate::image::Image;
use crate::jobs::Jobs;
use crate::source::content::ContentError;
use clone::Cloned;
use file::NewFile;
use strategy::Work;
use stream::Stream;

/// Bytes of the run that a worker writes to a file before it takes the next: enough to make the
/// taking cheap, not so much that the others wait for the last one.
const FILE_RUN_BYTES: u64 = 8 << 20;

/// Of a stream: what a buffer holds, so that it is full when its turn comes.
const STREAM_RUN_BYTES: u64 = buffer::CAPACITY_BYTES as u64;

/// What went wrong after the plan.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A file of the source.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The output.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Not even one worker can have its buffer.
    #[error("there is no memory for a buffer of 1 MiB; no image was written")]
    Memory,
    /// The watcher asked to stop.
    #[error("stopped; no image was written")]
    Stopped,
}

/// A destination of bytes. Workers call it at the same time, each for its own part of the image.
trait Destination: Sync {
    /// Writes all of `bytes` at byte `at` of the image.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError>;

    /// Makes `len` bytes at `at` zero, and tells whether they had to be written for that.
    fn zeros(&self, at: u64, len: u64) -> Result<bool, WriteError>;

    /// The run that begins at byte `at` will not be complete.
    fn break_off(&self, at: u64) {
        let _ = at;
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Bytes that are zero without having been written.
    pub hole_bytes: u64,
    /// Bytes that the file system shares between source and image.
    pub cloned_bytes: u64,
}

impl Outcome {
    /// What two workers wrote.
    fn plus(self, other: &Self) -> Self {
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            hole_bytes: self.hole_bytes + other.hole_bytes,
            cloned_bytes: self.cloned_bytes + other.cloned_bytes,
        }
    }
}

/// What was written, how, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writing {
    /// What.
    pub outcome: Outcome,
    /// How.
    pub strategy: Strategy,
    /// From the first byte to the last, in wall time.
    pub elapsed: Duration,
}

/// A complete image that does not have its name yet.
#[derive(Debug)]
pub struct Written {
    writing: Writing,
    file: Option<NewFile>,
}

impl Written {
    /// The file, to be read back; `None` for a stream.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref().map(NewFile::file)
    }

    /// Gives the image its name; what had it before is replaced.
    ///
    /// # Errors
    /// When the system refuses; then nothing is left, and what was there stays.
    pub fn publish(self) -> Result<Writing, WriteError> {
        if let Some(file) = self.file {
            file.publish()?;
        }
        Ok(self.writing)
    }
}

/// Writes the whole image, each byte once.
///
/// # Errors
/// When a file of the source is not what was planned, the output refuses a write, or `watch` asks
/// to stop. Of a file nothing is left then; what a stream has taken is gone.
pub fn write(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<Written, WriteError> {
    watch.stage(Stage::Write { total_bytes: image.plan().image_bytes() });
    let started = Instant::now();
    let (outcome, strategy, file) = if output.is_stream() {
        let (outcome, strategy) = write_stream(image, output, watch)?;
        (outcome, strategy, None)
    } else {
        let (outcome, strategy, file) = write_file(image, output, watch)?;
        (outcome, strategy, Some(file))
    };
    let writing = Writing { outcome, strategy, elapsed: started.elapsed() };
    Ok(Written { writing, file })
}

fn write_stream(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<(Outcome, Strategy), WriteError> {
    let stream = Stream::open(output)?;
    let cache = Cache::Stream;
    let jobs = jobs_for(image, output, cache, STREAM_RUN_BYTES);
    let runs = runs::runs(image.segments(), STREAM_RUN_BYTES, |_| 0);
    let (outcome, jobs) = workers::write_runs(image, runs, &stream, jobs, watch)?;
    let (room, cloning) = (Room::None, Cloning::None);
    let strategy = Strategy { jobs, jobs_asked: output.jobs, room, cloning, cache };
    Ok((outcome, strategy))
}

fn write_file(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<(Outcome, Strategy, NewFile), WriteError> {
    let mut file = NewFile::create(output, image.plan().image_bytes())?;
    // Room that was asked for is the image's own, so nothing is shared then.
    let cloned = if output.preallocate {
        Cloned::default()
    } else {
        clone::clone_large_files(image, file.file(), watch)
    };
    let tree = image.plan().tree();
    let cloned_bytes = |id| cloned.bytes_of(id, tree.node(id).size_bytes());
    let work = Work::of(image, cloned_bytes);
    let room = if output.preallocate { Room::Whole } else { file.reserve(&work.stretches)? };
    let wanted = Cache::choose(output.direct, work.bytes);
    if matches!(wanted, Cache::Past(_)) {
        file.go_past_cache();
    }
    let jobs = jobs_for(image, output, wanted, FILE_RUN_BYTES);
    let runs = runs::runs(image.segments(), FILE_RUN_BYTES, cloned_bytes);
    let (copied, jobs) = workers::write_runs(image, runs, &file, jobs, watch)?;
    file.complete()?;
    let outcome = Outcome { cloned_bytes: cloned.bytes, ..copied };
    let cache = match wanted {
        Cache::Past(_) if !file.is_past_cache() => Cache::Refused,
        wanted => wanted,
    };
    let (jobs_asked, cloning) = (output.jobs, cloned.cloning());
    Ok((outcome, Strategy { jobs, jobs_asked, room, cloning, cache }, file))
}

/// As many workers as were asked for or suit the way of writing, and no more than there are runs.
fn jobs_for(image: Image<'_>, output: &Output, cache: Cache, run_bytes: u64) -> Jobs {
    let wanted = output.jobs.unwrap_or_else(|| strategy::default_jobs(cache));
    wanted.at_most(image.plan().image_bytes().div_ceil(run_bytes))
}

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
//! | `file`, `unnamed` | a regular file; that it has no name until it is complete |
//! | `stream` | standard output, pipes, character devices |
//! | `standing` | an image that is there already and may be the same |
//! | `digest`, `turnstile` | digests on the way; workers in the order of the image |
//! | [`companion`] | small files that tell of the image and are named with it |
//! | `clone`, `reserve`, `direct` | what some file systems do faster |

mod buffer;
mod clone;
pub mod companion;
pub mod digest;
mod direct;
mod file;
pub mod output;
mod reserve;
mod runs;
mod standing;
pub mod strategy;
mod stream;
mod turnstile;
mod unnamed;
mod workers;
mod zeros;

use std::fs::File;
use std::ops::Range;
use std::time::{Duration, Instant};

use thiserror::Error;

pub use digest::Digests;
pub use output::{Direct, Output, OutputError};
pub use strategy::{Cache, Cloning, Reason, Room, Strategy};

use crate::event::{Observer, ProblemKind, Stage};
use crate::image::Image;
use crate::image::blocks::MAP_BLOCK_BYTES;
use crate::jobs::Jobs;
use crate::printable;
use crate::source::content::ContentError;
use clone::Cloned;
use digest::Digesting;
use file::NewFile;
use standing::Standing;
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

impl WriteError {
    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Content(error) => error.kind.problem_kind(),
            Self::Output(error) => error.problem_kind(),
            Self::Memory => ProblemKind::NoMemory,
            Self::Stopped => ProblemKind::Stopped,
        }
    }

    /// What it happened to, as in the message.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Content(error) => Some(printable::path(&error.path)),
            Self::Output(error) => Some(error.output_name()),
            Self::Memory | Self::Stopped => None,
        }
    }
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writing {
    /// What.
    pub outcome: Outcome,
    /// How.
    pub strategy: Strategy,
    /// Whether nothing was written, since the image that is there is the same.
    pub unchanged: bool,
    /// The digests that were wanted.
    pub digests: Digests,
    /// From the first byte to the last, in wall time.
    pub elapsed: Duration,
}

/// A complete image that does not have its name yet.
#[derive(Debug)]
pub struct Written {
    writing: Writing,
    made: Made,
}

#[derive(Debug)]
enum Made {
    /// Bytes that are gone.
    Stream,
    File(NewFile),
    /// The image that was there, and whether it has to be on the disk.
    Standing(File, Output),
}

impl Written {
    /// The file, to be read back; `None` for a stream.
    pub fn file(&self) -> Option<&File> {
        match &self.made {
            Made::Stream => None,
            Made::File(new) => Some(new.file()),
            Made::Standing(file, _) => Some(file),
        }
    }

    /// What was written.
    pub fn writing(&self) -> &Writing {
        &self.writing
    }

    /// Gives the image its name; what had it before is replaced.
    ///
    /// # Errors
    /// When the system refuses; then nothing is left, and what was there stays.
    pub fn publish(self) -> Result<(), WriteError> {
        match self.made {
            Made::Stream => {}
            Made::File(new) => new.publish()?,
            Made::Standing(file, output) if output.sync => {
                file.sync_all().map_err(|error| output.error(error))?;
            }
            Made::Standing(..) => {}
        }
        Ok(())
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
    let total_bytes = image.plan().image_bytes();
    if output.if_changed
        && let Some(written) = compare(image, output, watch)?
    {
        return Ok(written);
    }
    watch.stage(Stage::Write { total_bytes });
    if output.is_stream() {
        write_stream(image, output, watch)
    } else {
        write_file(image, output, watch)
    }
}

/// Looks whether the image that is there is the one that would be written; `None` if it has to be
/// written.
fn compare(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<Option<Written>, WriteError> {
    let total_bytes = image.plan().image_bytes();
    let Some(standing) = Standing::open(output, total_bytes) else { return Ok(None) };
    watch.stage(Stage::Compare { total_bytes });
    let started = Instant::now();
    let cache = Cache::Through(Reason::Asked);
    match copy(image, output, &standing, cache, FILE_RUN_BYTES, &Cloned::default(), watch) {
        Ok(copied) => {
            let strategy = copied.strategy(output, Room::None, Cloning::None, cache);
            // What was compared is in the file already.
            let outcome = Outcome::default();
            let elapsed = started.elapsed();
            let writing =
                Writing { outcome, strategy, unchanged: true, digests: copied.digests, elapsed };
            let made = Made::Standing(standing.into_file(), output.clone());
            Ok(Some(Written { writing, made }))
        }
        Err(WriteError::Stopped) if standing.differs() && !watch.must_stop() => Ok(None),
        Err(error) => Err(error),
    }
}

fn write_stream(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<Written, WriteError> {
    let started = Instant::now();
    let stream = Stream::open(output)?;
    let cache = Cache::Stream;
    let copied = copy(image, output, &stream, cache, STREAM_RUN_BYTES, &Cloned::default(), watch)?;
    let strategy = copied.strategy(output, Room::None, Cloning::None, cache);
    Ok(copied.written(strategy, started, Made::Stream))
}

fn write_file(
    image: Image<'_>,
    output: &Output,
    watch: &dyn Observer,
) -> Result<Written, WriteError> {
    let started = Instant::now();
    let mut file = NewFile::create(output, image.plan().image_bytes())?;
    // Room that was asked for is the image's own, and a digest needs every byte.
    let cloned = if output.preallocate || output.is_digested() {
        Cloned::default()
    } else {
        clone::clone_large_files(image, file.file(), watch)
    };
    let tree = image.plan().tree();
    let work = Work::of(image, |id| cloned.bytes_of(id, tree.node(id).size_bytes()));
    let room = if output.preallocate { Room::Whole } else { file.reserve(&work.stretches)? };
    let wanted = Cache::choose(output.direct, work.bytes);
    if matches!(wanted, Cache::Past(_)) {
        file.go_past_cache();
    }
    let copied = copy(image, output, &file, wanted, FILE_RUN_BYTES, &cloned, watch)?;
    file.complete()?;
    let cache = match wanted {
        Cache::Past(_) if !file.is_past_cache() => Cache::Refused,
        wanted => wanted,
    };
    let cloning = if output.is_digested() { Cloning::EveryByteWanted } else { cloned.cloning() };
    let strategy = copied.strategy(output, room, cloning, cache);
    let mut written = copied.written(strategy, started, Made::File(file));
    written.writing.outcome.cloned_bytes = cloned.bytes;
    Ok(written)
}

/// What went through the workers.
struct Copied {
    outcome: Outcome,
    jobs: Jobs,
    digests: Digests,
}

/// Fills and writes what is not cloned, with as many workers as were asked for or suit the way of
/// writing, and no more than there are runs.
fn copy(
    image: Image<'_>,
    output: &Output,
    destination: &dyn Destination,
    cache: Cache,
    run_bytes: u64,
    cloned: &Cloned,
    watch: &dyn Observer,
) -> Result<Copied, WriteError> {
    // Digests are made in the order of the image: with a run that is longer than a buffer the
    // others would wait for it.
    let run_bytes = if output.is_digested() { STREAM_RUN_BYTES } else { run_bytes };
    let plan = image.plan();
    let wanted = output.jobs.unwrap_or_else(|| strategy::default_jobs(cache));
    let jobs = wanted.at_most(plan.image_bytes().div_ceil(run_bytes));
    let cloned_bytes = |id| cloned.bytes_of(id, plan.tree().node(id).size_bytes());
    let runs = runs::runs(image.segments(), run_bytes, cloned_bytes);
    if !output.is_digested() {
        let (outcome, jobs) = workers::write_runs(image, runs, destination, jobs, watch)?;
        return Ok(Copied { outcome, jobs, digests: Digests::default() });
    }
    let stretches = if output.block_map { mapped_bytes(image) } else { Vec::new() };
    let digesting = Digesting::new(destination, output.digest, stretches);
    let (outcome, jobs) = workers::write_runs(image, runs, &digesting, jobs, watch)?;
    Ok(Copied { outcome, jobs, digests: digesting.finish() })
}

/// The bytes of the image that a block map has to tell of.
fn mapped_bytes(image: Image<'_>) -> Vec<Range<u64>> {
    let total_bytes = image.plan().image_bytes();
    let bytes = |blocks: Range<u64>| {
        blocks.start * MAP_BLOCK_BYTES..(blocks.end * MAP_BLOCK_BYTES).min(total_bytes)
    };
    image.mapped_blocks().into_iter().map(bytes).collect()
}

impl Copied {
    fn strategy(&self, output: &Output, room: Room, cloning: Cloning, cache: Cache) -> Strategy {
        Strategy { jobs: self.jobs, jobs_asked: output.jobs, room, cloning, cache }
    }

    fn written(self, strategy: Strategy, started: Instant, made: Made) -> Written {
        let Self { outcome, digests, .. } = self;
        let elapsed = started.elapsed();
        Written { writing: Writing { outcome, strategy, unchanged: false, digests, elapsed }, made }
    }
}

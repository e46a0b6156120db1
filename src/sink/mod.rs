//! Where the bytes go: one loop over the segments, for files and streams alike. Knows no FAT.
//!
//! | Room | Purpose |
//! |---|---|
//! | [`output`] | what the user named, and whether it can be written |
//! | `buffer` | small pieces become large writes |
//! | `file` | a regular file that appears only when it is complete |
//! | `stream` | standard output, pipes, character devices |

mod buffer;
mod file;
pub mod output;
mod stream;

use std::fs::File;
use std::time::{Duration, Instant};

use thiserror::Error;

pub use output::{Output, OutputError};

use crate::event::{Observer, Stage};
use crate::image::{Body, Image};
use crate::source::NodeId;
use crate::source::content::{ContentError, Opener, Part};
use buffer::Buffer;
use file::NewFile;
use stream::Stream;

/// What went wrong after the plan.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A file of the source.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The output.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The watcher asked to stop.
    #[error("stopped; no image was written")]
    Stopped,
}

/// A destination of bytes.
trait Destination {
    /// Writes all of `bytes` at byte `at` of the image.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutputError>;

    /// Makes `len` bytes at `at` zero, and tells whether they had to be written for that.
    fn zeros(&mut self, at: u64, len: u64) -> Result<bool, OutputError>;
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Bytes that are zero without having been written.
    pub hole_bytes: u64,
    /// From the first byte to the last, in wall time.
    pub elapsed: Duration,
}

/// A complete image that does not have its name yet.
#[derive(Debug)]
pub struct Written {
    outcome: Outcome,
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
    pub fn publish(self) -> Result<Outcome, WriteError> {
        if let Some(file) = self.file {
            file.publish()?;
        }
        Ok(self.outcome)
    }
}

/// Writes the whole image, each byte once, in order.
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
    watch.stage(Stage::Write { total_bytes });
    let started = Instant::now();
    let (mut outcome, file) = if output.is_stream() {
        let mut stream = Stream::open(output)?;
        (copy(image, &mut stream, watch)?, None)
    } else {
        let mut file = NewFile::create(output, total_bytes)?;
        let outcome = copy(image, &mut file, watch)?;
        file.complete()?;
        (outcome, Some(file))
    };
    outcome.elapsed = started.elapsed();
    Ok(Written { outcome, file })
}

/// The only loop over segments.
fn copy(
    image: Image<'_>,
    destination: &mut dyn Destination,
    watch: &dyn Observer,
) -> Result<Outcome, WriteError> {
    let plan = image.plan();
    let mut opener = Opener::new(plan.tree());
    let mut buffer = Buffer::new(destination, watch);
    for segment in image.segments() {
        match segment.body {
            Body::Zero => buffer.zeros(segment.len)?,
            Body::Content(id) => copy_content(&mut opener, id, &mut buffer)?,
            Body::Meta(meta) => {
                let mut from = 0;
                while from < segment.len {
                    let space = buffer.space(segment.len - from)?;
                    image.render(meta, from, space);
                    from += space.len() as u64;
                    let filled = space.len();
                    buffer.filled(filled);
                }
            }
        }
    }
    let outcome = buffer.finish()?;
    // What has no bytes was not opened so far.
    for id in plan.stored().filter(|id| plan.tree().node(*id).size_bytes() == 0) {
        if watch.must_stop() {
            return Err(WriteError::Stopped);
        }
        opener.confirm(id)?;
    }
    Ok(outcome)
}

fn copy_content(
    opener: &mut Opener<'_>,
    id: NodeId,
    buffer: &mut Buffer<'_>,
) -> Result<(), WriteError> {
    let mut content = opener.open(id)?;
    while let Some(part) = content.next_part()? {
        match part {
            Part::Hole(len) => buffer.zeros(len)?,
            Part::Data(len) => {
                let mut left = len;
                while left > 0 {
                    let read = content.read(buffer.space(left)?)?;
                    buffer.filled(read);
                    left -= read as u64;
                }
            }
        }
    }
    content.finish()?;
    Ok(())
}

//! Where the bytes go: runs of the image, filled and written by workers, for files and streams
//! alike. Knows no FAT.
//!
//! | Room | Purpose |
//! |---|---|
//! | [`output`] | what the user named, and whether it can be written |
//! | `order` | one image into its output, by the way that suits it |
//! | [`strategy`] | how this image is written, and why so |
//! | `runs` | the image cut into pieces of work |
//! | `workers` | who does it, and the first error in the order of the image |
//! | `buffer` | small pieces become large writes |
//! | `file`, `unnamed` | a regular file; that it has no name until it is complete |
//! | `in_place`, [`device`], [`usage`] | what is overwritten where it lies; block devices, and who uses them |
//! | `stream` | standard output, pipes, character devices |
//! | `standing` | an image that is there already and may be the same |
//! | `digest`, `turnstile` | digests on the way; workers in the order of the image |
//! | [`companion`] | small files that tell of the image and are named with it |
//! | `clone`, `reserve`, `direct` | what some file systems do faster |
//! | `taken` | what some file systems tell only in the end |

mod buffer;
mod clone;
pub mod companion;
pub mod device;
pub mod digest;
mod direct;
mod file;
mod in_place;
mod order;
pub mod output;
mod reserve;
mod runs;
mod standing;
pub mod strategy;
mod stream;
mod taken;
mod turnstile;
mod unnamed;
pub mod usage;
mod workers;
mod zeros;

use std::fs::File;
use std::time::Duration;

use thiserror::Error;

pub use device::Device;
pub use digest::{Digests, Wanted};
pub use output::{Direct, Output, OutputError};
pub use strategy::{Cache, Cloning, Reason, Room, Strategy, Target};

use crate::event::{Observer, ProblemKind};
use crate::image::Image;
use crate::printable;
use crate::source::content::ContentError;
use file::{NamedFile, NewFile};
use in_place::InPlace;

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
    /// What the image was to take the place of is gone.
    #[error("{cause}; {output} holds no volume now")]
    Emptied {
        /// The output as text.
        output: String,
        /// Why there is no image.
        cause: Box<WriteError>,
    },
}

impl WriteError {
    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Content(error) => error.kind.problem_kind(),
            Self::Output(error) => error.problem_kind(),
            Self::Memory => ProblemKind::NoMemory,
            Self::Stopped => ProblemKind::Stopped,
            Self::Emptied { cause, .. } => cause.problem_kind(),
        }
    }

    /// What it happened to, as in the message.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Content(error) => Some(printable::path(&error.path)),
            Self::Output(error) => Some(error.output_name()),
            Self::Memory | Self::Stopped => None,
            Self::Emptied { output, cause } => cause.path().or_else(|| Some(output.clone())),
        }
    }
}

/// A destination of bytes. Workers call it at the same time, each for its own part of the image.
trait Destination: Sync {
    /// Writes all of `bytes` at byte `at` of the image.
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError>;

    /// Makes `len` bytes at `at` zero, unless nobody will ever read them, and tells what became of
    /// each.
    fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError>;

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
    /// Bytes of free clusters that hold what the device held there.
    pub left_bytes: u64,
}

impl Outcome {
    fn written(written_bytes: u64) -> Self {
        Self { written_bytes, ..Self::default() }
    }

    fn hole(hole_bytes: u64) -> Self {
        Self { hole_bytes, ..Self::default() }
    }

    /// What two workers wrote.
    fn plus(self, other: &Self) -> Self {
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            hole_bytes: self.hole_bytes + other.hole_bytes,
            cloned_bytes: self.cloned_bytes + other.cloned_bytes,
            left_bytes: self.left_bytes + other.left_bytes,
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
    InPlace(InPlace),
    /// The image that was there, and whether it has to be on the disk.
    Standing(File, Output),
}

impl Written {
    /// The file, to be read back; `None` for a stream.
    pub fn file(&self) -> Option<&File> {
        match &self.made {
            Made::Stream => None,
            Made::File(new) => Some(new.file()),
            Made::InPlace(place) => Some(place.file()),
            Made::Standing(file, _) => Some(file),
        }
    }

    /// Byte of the file at which the image begins, where it is a part of it: of what was there already.
    pub fn in_place_at(&self) -> Option<u64> {
        match &self.made {
            Made::InPlace(place) => Some(place.at()),
            _ => None,
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
    pub fn publish(self) -> Result<Named, WriteError> {
        match self.made {
            Made::File(new) => return Ok(Named(Some(new.publish()?))),
            Made::InPlace(place) => place.publish(),
            Made::Standing(file, output) if output.sync => {
                file.sync_all().map_err(|error| output.error(error))?;
            }
            Made::Stream | Made::Standing(..) => {}
        }
        Ok(Named(None))
    }
}

/// An image that has its name: whoever looks finds it complete.
#[derive(Debug)]
#[must_use]
pub struct Named(Option<NamedFile>);

impl Named {
    /// Does what has to wait for the name. A new file is `newer_than_folder` on request: its coming
    /// changes the time of the folder that it lies in, and make compares the two if the folder is a
    /// source.
    ///
    /// # Errors
    /// [`OutputError::Unsettled`] when the system refuses; the image stays.
    pub fn settle(self, newer_than_folder: bool) -> Result<(), OutputError> {
        self.0.map_or(Ok(()), |file| file.settle(newer_than_folder))
    }
}

/// Writes the whole image, each byte once, and digests what is wanted on the way.
///
/// # Errors
/// When a file of the source is not what was planned, the output refuses a write, or `watch` asks
/// to stop. Of a file nothing is left then; what a stream has taken is gone, and so is what was in the
/// place of an image that is written in place.
pub fn write(
    image: Image<'_>,
    output: &Output,
    wanted: Wanted,
    watch: &dyn Observer,
) -> Result<Written, WriteError> {
    order::Order { image, output, wanted, watch }.carry_out()
}

//! An image that is there already, held against the one that would be written. Writes nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::output::Output;
use super::{Destination, Outcome, WriteError};

/// Bytes that are read and compared at once: they lie on the stack.
const PIECE_BYTES: usize = 64 << 10;

/// A destination that compares instead of writing, and breaks off at the first difference.
#[derive(Debug)]
pub(super) struct Standing {
    file: File,
    differs: AtomicBool,
}

impl Standing {
    /// The file that `output` names, if it is as long as an image of `total_bytes` and can be read.
    pub(super) fn open(output: &Output, total_bytes: u64) -> Option<Self> {
        // What has taken the file's place since may block.
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(nonblocking).open(output.path()?).ok()?;
        let found = file.metadata().ok()?;
        let same = found.is_file() && found.len() == total_bytes;
        same.then_some(Self { file, differs: AtomicBool::new(false) })
    }

    /// Whether it is another image.
    pub(super) fn differs(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
    }

    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Ends the comparison: the image is to be written.
    fn differ<T>(&self) -> Result<T, WriteError> {
        self.differs.store(true, Ordering::Relaxed);
        Err(WriteError::Stopped)
    }

    /// Whether the `wanted.len()` bytes at `at` are these; what cannot be read is not.
    fn holds(&self, at: u64, wanted: &[u8]) -> io::Result<bool> {
        let mut found = [0; PIECE_BYTES];
        let mut at = at;
        for piece in wanted.chunks(PIECE_BYTES) {
            let found = &mut found[..piece.len()];
            self.file.read_exact_at(found, at)?;
            if found != piece {
                return Ok(false);
            }
            at += piece.len() as u64;
        }
        Ok(true)
    }

    /// Whether the `len` bytes at `at` are zero. Holes are stepped over.
    fn is_zero(&self, at: u64, len: u64) -> io::Result<bool> {
        let (mut at, end) = (at, at + len);
        while at < end {
            at = match seek(&self.file, SeekFrom::Data(at)) {
                Ok(data_at) => data_at,
                Err(Errno::NXIO) => end,
                // The file system knows no holes: all is data.
                Err(_) => at,
            };
            for piece in super::zeros::pieces(end.saturating_sub(at).min(PIECE_BYTES as u64)) {
                if !self.holds(at, piece)? {
                    return Ok(false);
                }
                at += piece.len() as u64;
            }
        }
        Ok(true)
    }
}

impl Destination for Standing {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        if self.holds(at, bytes).unwrap_or(false) { Ok(()) } else { self.differ() }
    }

    fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError> {
        if self.is_zero(at, len).unwrap_or(false) { Ok(Outcome::hole(len)) } else { self.differ() }
    }
}

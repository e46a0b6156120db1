//! Writing past the page cache, where the file system and its disk let us. Knows only the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::buffer::BLOCK_BYTES;

/// A second descriptor of a file, for writes that do not stop at the page cache.
#[derive(Debug)]
pub(super) struct DirectFile {
    file: File,
    refused: AtomicBool,
}

impl DirectFile {
    /// Opens the file once more; `name` is any name that leads to it.
    ///
    /// # Errors
    /// `InvalidInput` where the file system knows no such writes.
    pub(super) fn open(name: &Path) -> io::Result<Self> {
        // The flags of all systems that have this one are positive.
        let direct = OFlags::DIRECT.bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(direct).open(name)?;
        Ok(Self { file, refused: AtomicBool::new(false) })
    }

    /// Writes the whole blocks with which `bytes` begins and returns how many bytes that were: none
    /// once the system has refused such a write.
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        let whole = bytes.len() - bytes.len() % BLOCK_BYTES;
        if whole == 0 || self.was_refused() {
            return Ok(0);
        }
        let refusal = [Errno::INVAL, Errno::OPNOTSUPP].map(Errno::raw_os_error);
        match self.file.write_all_at(&bytes[..whole], at) {
            Ok(()) => Ok(whole),
            Err(error) if error.raw_os_error().is_some_and(|code| refusal.contains(&code)) => {
                self.refused.store(true, Ordering::Relaxed);
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the system has refused a write.
    pub(super) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

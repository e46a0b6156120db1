//! Where an image's bytes come from: a file, or memory. Knows no structure.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Bytes that are read at once where only zeros should be.
const PIECE_BYTES: usize = 1 << 20;

/// An image that can be read anywhere.
pub trait ImageBytes {
    /// Bytes of the image.
    ///
    /// # Errors
    /// Those of the system.
    fn length(&self) -> io::Result<u64>;

    /// Fills `buffer` from byte `at` on.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` where the image is shorter.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The first byte from `at` on that may be other than zero; `None` if there is none.
    ///
    /// # Errors
    /// Those of the system.
    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        Ok((at < self.length()?).then_some(at))
    }
}

/// The first byte of `range` that is not zero. Holes are stepped over; `before_piece` is asked before
/// each piece of at most 1 MiB is read.
///
/// # Errors
/// When the image cannot be read, and those of `before_piece`.
pub fn first_not_zero<E: From<io::Error>>(
    image: &(impl ImageBytes + ?Sized),
    range: Range<u64>,
    mut before_piece: impl FnMut() -> Result<(), E>,
) -> Result<Option<u64>, E> {
    let mut at = range.start;
    let mut buffer = Vec::new();
    while let Some(data_at) = image.next_data(at)?.filter(|at| *at < range.end) {
        before_piece()?;
        let len = usize::try_from(range.end - data_at).unwrap_or(usize::MAX);
        buffer.resize(len.min(PIECE_BYTES), 0);
        image.read_at(data_at, &mut buffer)?;
        if let Some(byte) = buffer.iter().position(|byte| *byte != 0) {
            return Ok(Some(data_at + byte as u64));
        }
        at = data_at + buffer.len() as u64;
    }
    Ok(None)
}

impl ImageBytes for File {
    fn length(&self) -> io::Result<u64> {
        // A device tells its length at its end only.
        Ok(seek(self, SeekFrom::End(0))?)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, at)
    }

    /// Holes are stepped over, where the file system tells of them.
    fn next_data(&self, at: u64) -> io::Result<Option<u64>> {
        match seek(self, SeekFrom::Data(at)) {
            Ok(data_at) => Ok(Some(data_at)),
            Err(Errno::NXIO) => Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok((at < self.length()?).then_some(at)),
            Err(error) => Err(error.into()),
        }
    }
}

impl ImageBytes for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end_of_image = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let start = usize::try_from(at).map_err(|_| end_of_image())?;
        let end = start.checked_add(buffer.len()).ok_or_else(end_of_image)?;
        buffer.copy_from_slice(self.get(start..end).ok_or_else(end_of_image)?);
        Ok(())
    }
}

//! Where an image's bytes come from: a file, or memory. Knows no structure.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

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

//! A small file that tells of the image: opened before the image is written, so that what cannot be
//! is told before, filled after, and named with it. Knows nothing of what it tells.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;

use super::output::{Output, OutputError};
use super::unnamed::Unnamed;

/// A companion in the making.
#[derive(Debug)]
pub struct Companion {
    output: Output,
    /// `None` for a stream.
    file: Option<Unnamed>,
}

impl Companion {
    /// One that is empty, for where `output` names.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(output: &Output) -> Result<Self, OutputError> {
        if let Some(path) = output.path().filter(|_| output.is_in_place()) {
            let path = path.to_path_buf();
            return Err(OutputError::Unsupported { path, what: "block device" });
        }
        let path = output.path().filter(|_| !output.is_stream());
        let file = path.map(Unnamed::beside).transpose();
        Ok(Self { output: output.clone(), file: file.map_err(|error| output.error(error))? })
    }

    /// Writes what `tell` says.
    ///
    /// # Errors
    /// When the system refuses; then nothing is left, and what was there stays.
    pub fn write(
        &self,
        tell: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let written = match (&self.file, self.output.path()) {
            (Some(new), _) => fill(new.file(), tell).and_then(|()| match self.output.old_mode() {
                Some(mode) => new.file().set_permissions(Permissions::from_mode(mode)),
                None => Ok(()),
            }),
            (None, Some(path)) => {
                OpenOptions::new().write(true).open(path).and_then(|stream| fill(stream, tell))
            }
            (None, None) => fill(io::stdout().lock(), tell),
        };
        written.map_err(|error| self.output.error(error))
    }

    /// Gives the file its name; a stream has taken its bytes.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn publish(self) -> Result<(), OutputError> {
        let Some((file, path)) = self.file.zip(self.output.path()) else { return Ok(()) };
        file.publish(path).map_err(|error| self.output.error(error))?;
        Ok(())
    }
}

fn fill(into: impl Write, tell: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(into);
    tell(&mut writer)?;
    writer.flush()
}

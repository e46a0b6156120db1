//! A small file that tells of the image: opened before the image is written, so that what cannot be
//! is told before, filled after, and named with it. Knows nothing of what it tells.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;

use super::output::{Output, OutputError};
use super::taken;
use super::unnamed::{Revocable, Unnamed};
use crate::printable;

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
            (Some(new), _) => fill(new.file(), tell)
                .and_then(|()| match self.output.old_mode() {
                    Some(mode) => new.file().set_permissions(Permissions::from_mode(mode)),
                    None => Ok(()),
                })
                .and_then(|()| taken::confirm(new.file())),
            (None, Some(path)) => OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|stream| fill(&stream, tell).and_then(|()| taken::confirm(stream))),
            (None, None) => fill(io::stdout().lock(), tell),
        };
        written.map_err(|error| self.output.error(error))
    }

    /// Gives the file its name, to be kept or taken back; a stream has taken its bytes.
    ///
    /// # Errors
    /// When the system refuses; then what was there stays.
    pub fn publish(self) -> Result<Published, OutputError> {
        let Self { output, file } = self;
        let named = file.zip(output.path()).map(|(file, path)| file.publish_revocably(path));
        let named = named.transpose().map_err(|error| output.error(error))?;
        Ok(Published { output, named })
    }
}

/// A companion that has its name. Dropped without [`keep`](Self::keep) it gives way again to what was
/// there before.
#[derive(Debug)]
#[must_use]
pub struct Published {
    output: Output,
    named: Option<Revocable>,
}

impl Published {
    /// The image has its name too: the companion stays.
    ///
    /// # Errors
    /// [`OutputError::Unsettled`] when what was there before cannot be removed.
    pub fn keep(self) -> Result<(), OutputError> {
        let Self { output, named } = self;
        named.map_or(Ok(()), Revocable::keep).map_err(|(left, error)| OutputError::Unsettled {
            name: output.name(),
            what: format!("the file that was replaced is left as {}", printable::path(&left)),
            error,
        })
    }
}

fn fill(into: impl Write, tell: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(into);
    tell(&mut writer)?;
    writer.flush()
}

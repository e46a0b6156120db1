//! A small file that tells of the image, written before the image has its name and named with it.
//! Knows nothing of what it tells.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::output::{Output, OutputError};
use super::unnamed::Unnamed;

/// A companion that is complete but for its name.
#[derive(Debug)]
pub struct Companion {
    output: Output,
    /// The file and its name to be; `None` for a stream, which has taken its bytes.
    file: Option<(Unnamed, PathBuf)>,
}

impl Companion {
    /// Writes what `tell` says to where `output` names.
    ///
    /// # Errors
    /// When the system refuses; then nothing is left, and what was there stays.
    pub fn write(
        output: &Output,
        tell: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Self, OutputError> {
        let written = match output.path().filter(|_| !output.is_stream()) {
            Some(path) => write_file(output, path.to_path_buf(), tell).map(Some),
            None => write_stream(output, tell).map(|()| None),
        };
        let file = written.map_err(|error| output.error(error))?;
        Ok(Self { output: output.clone(), file })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn publish(self) -> Result<(), OutputError> {
        let Some((file, path)) = self.file else { return Ok(()) };
        file.publish(&path).map_err(|error| self.output.error(error))?;
        Ok(())
    }
}

fn write_file(
    output: &Output,
    path: PathBuf,
    tell: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<(Unnamed, PathBuf)> {
    let file = Unnamed::beside(&path)?;
    let mut writer = BufWriter::new(file.file());
    tell(&mut writer)?;
    writer.flush()?;
    drop(writer);
    if let Some(mode) = output.old_mode() {
        file.file().set_permissions(Permissions::from_mode(mode))?;
    }
    Ok((file, path))
}

fn write_stream(
    output: &Output,
    tell: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let stream: Box<dyn Write> = match output.path() {
        Some(path) => Box::new(OpenOptions::new().write(true).open(path)?),
        None => Box::new(io::stdout().lock()),
    };
    let mut writer = BufWriter::new(stream);
    tell(&mut writer)?;
    writer.flush()
}

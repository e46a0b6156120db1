//! Standard output, pipes and character devices: bytes one after the other, zeros too. Workers
//! fill their buffers at the same time and write in turn.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use super::output::{Output, OutputError};
use super::turnstile::Turnstile;
use super::{Destination, Outcome, WriteError, taken, zeros};

pub(super) struct Stream {
    file: Turnstile<File>,
    output: Output,
}

impl Stream {
    /// Opens the output; a FIFO waits here for its reader.
    pub(super) fn open(output: &Output) -> Result<Self, OutputError> {
        let file = match output.path() {
            // The standard library's own handle would look for line ends in the image.
            None => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Some(path) => OpenOptions::new().write(true).open(path),
        };
        let file = file.map_err(|error| output.error(error))?;
        if file.is_terminal() {
            return Err(OutputError::Terminal(output.name()));
        }
        Ok(Self { file: Turnstile::before(file), output: output.clone() })
    }

    /// Everything has been written.
    pub(super) fn finish(self) -> Result<(), OutputError> {
        let Self { file, output } = self;
        taken::confirm(file.into_behind()).map_err(|error| output.error(error))
    }
}

impl Destination for Stream {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.pass(at, bytes.len() as u64, |file| {
            Ok(file.write_all(bytes).map_err(|error| self.output.error(error))?)
        })
    }

    fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError> {
        self.file.pass(at, len, |file| {
            zeros::pieces(len)
                .try_for_each(|piece| file.write_all(piece))
                .map_err(|error| self.output.error(error).into())
        })?;
        Ok(Outcome::written(len))
    }

    fn break_off(&self, at: u64) {
        self.file.break_off(at);
    }
}

//! Standard output, pipes and character devices: bytes one after the other, zeros too.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use super::Destination;
use super::output::{Output, OutputError};

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

pub(super) struct Stream {
    file: File,
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
        Ok(Self { file, output: output.clone() })
    }
}

impl Destination for Stream {
    fn write(&mut self, _: u64, bytes: &[u8]) -> Result<(), OutputError> {
        self.file.write_all(bytes).map_err(|error| self.output.error(error))
    }

    fn zeros(&mut self, _: u64, len: u64) -> Result<bool, OutputError> {
        let mut left = len;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
            self.file.write_all(&ZEROS[..count]).map_err(|error| self.output.error(error))?;
            left -= count as u64;
        }
        Ok(true)
    }
}

//! Standard output, pipes and character devices: bytes one after the other, zeros too. Workers
//! fill their buffers at the same time and write in turn.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, PoisonError};

use super::output::{Output, OutputError};
use super::{Destination, WriteError};
use crate::jobs::lock;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

pub(super) struct Stream {
    file: File,
    output: Output,
    turn: Mutex<Turn>,
    moved: Condvar,
}

/// Whose bytes come next.
struct Turn {
    /// Byte of the image up to which the stream was written.
    at: u64,
    /// From this byte on nothing will come any more.
    end: u64,
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
        let turn = Mutex::new(Turn { at: 0, end: u64::MAX });
        Ok(Self { file, output: output.clone(), turn, moved: Condvar::new() })
    }

    /// Waits until everything before byte `at` is written, then writes `len` bytes.
    fn in_turn(
        &self,
        at: u64,
        len: u64,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let mut turn = lock(&self.turn);
        while turn.at < at && at < turn.end {
            turn = self.moved.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        if at >= turn.end {
            // Whoever broke off knows why.
            return Err(WriteError::Stopped);
        }
        write(&self.file).map_err(|error| self.output.error(error))?;
        turn.at += len;
        self.moved.notify_all();
        Ok(())
    }
}

impl Destination for Stream {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.in_turn(at, bytes.len() as u64, |mut file| file.write_all(bytes))
    }

    fn zeros(&self, at: u64, len: u64) -> Result<bool, WriteError> {
        self.in_turn(at, len, |mut file| {
            let mut left = len;
            while left > 0 {
                let count = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
                file.write_all(&ZEROS[..count])?;
                left -= count as u64;
            }
            Ok(())
        })?;
        Ok(true)
    }

    fn break_off(&self, at: u64) {
        let mut turn = lock(&self.turn);
        turn.end = turn.end.min(at);
        self.moved.notify_all();
    }
}

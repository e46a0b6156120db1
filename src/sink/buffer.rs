//! One buffer that everything passes through, so that thousands of small files become a few large
//! writes. Knows neither files nor segments.

use super::{Destination, Outcome, WriteError};
use crate::event::Observer;

/// Larger buffers were slower on ext4 by a factor of 1.2 to 6, smaller ones cost system calls.
const CAPACITY_BYTES: usize = 1 << 20;

/// A run of zeros shorter than this is cheaper to write than to step over.
const MIN_HOLE_BYTES: u64 = 32 << 10;

pub(super) struct Buffer<'a> {
    destination: &'a mut dyn Destination,
    watch: &'a dyn Observer,
    bytes: Vec<u8>,
    filled: usize,
    /// Byte of the image at which the buffer begins.
    at: u64,
    outcome: Outcome,
}

impl<'a> Buffer<'a> {
    pub(super) fn new(destination: &'a mut dyn Destination, watch: &'a dyn Observer) -> Self {
        Self {
            destination,
            watch,
            bytes: vec![0; CAPACITY_BYTES],
            filled: 0,
            at: 0,
            outcome: Outcome::default(),
        }
    }

    /// Room for the next bytes: at least one, at most `wanted`.
    pub(super) fn space(&mut self, wanted: u64) -> Result<&mut [u8], WriteError> {
        if self.filled == self.limit() {
            self.flush()?;
        }
        let room = self.limit() - self.filled;
        let count = usize::try_from(wanted).unwrap_or(usize::MAX).min(room);
        Ok(&mut self.bytes[self.filled..self.filled + count])
    }

    /// The first `count` bytes of the room are filled now.
    pub(super) fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// The next `len` bytes are zero.
    pub(super) fn zeros(&mut self, len: u64) -> Result<(), WriteError> {
        if len < MIN_HOLE_BYTES && self.filled > 0 {
            let mut left = len;
            while left > 0 {
                let space = self.space(left)?;
                space.fill(0);
                let count = space.len();
                self.filled(count);
                left -= count as u64;
            }
            return Ok(());
        }
        self.flush()?;
        let mut left = len;
        while left > 0 {
            // In pieces, so that a stream can be stopped.
            let piece = left.min(64 << 20);
            self.check_stop()?;
            let outcome = &mut self.outcome;
            if self.destination.zeros(self.at, piece)? {
                outcome.written_bytes += piece;
            } else {
                outcome.hole_bytes += piece;
            }
            self.at += piece;
            left -= piece;
            self.watch.advance(piece);
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<Outcome, WriteError> {
        self.flush()?;
        Ok(self.outcome)
    }

    /// Bytes that the buffer may hold where it begins: writes end on multiples of its capacity,
    /// hence on blocks and pages of whatever takes them.
    fn limit(&self) -> usize {
        let past = usize::try_from(self.at % CAPACITY_BYTES as u64).unwrap_or(0);
        CAPACITY_BYTES - past
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        self.check_stop()?;
        if self.filled > 0 {
            let bytes = &self.bytes[..self.filled];
            self.destination.write(self.at, bytes)?;
            let count = self.filled as u64;
            self.at += count;
            self.filled = 0;
            self.outcome.written_bytes += count;
            self.watch.advance(count);
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), WriteError> {
        if self.watch.must_stop() { Err(WriteError::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OutputError;
    use super::*;

    #[derive(Default)]
    struct Log(Vec<(u64, Result<usize, u64>)>);

    impl Destination for Log {
        fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutputError> {
            self.0.push((at, Ok(bytes.len())));
            Ok(())
        }

        fn zeros(&mut self, at: u64, len: u64) -> Result<bool, OutputError> {
            self.0.push((at, Err(len)));
            Ok(false)
        }
    }

    fn fill(buffer: &mut Buffer<'_>, len: u64) {
        let mut left = len;
        while left > 0 {
            let count = buffer.space(left).expect("the log takes everything").len();
            buffer.filled(count);
            left -= count as u64;
        }
    }

    #[test]
    fn small_pieces_share_a_write_and_long_zeros_are_stepped_over() {
        let mut log = Log::default();
        let mut buffer = Buffer::new(&mut log, &());
        fill(&mut buffer, 100);
        buffer.zeros(412).unwrap();
        fill(&mut buffer, 512);
        buffer.zeros(32 << 10).unwrap();
        fill(&mut buffer, 2 << 20);
        buffer.zeros(100).unwrap();
        let outcome = buffer.finish().unwrap();
        let first = 1024 + (32 << 10);
        assert_eq!(
            log.0,
            [
                (0, Ok(1024)),
                (1024, Err(32 << 10)),
                (first, Ok((1 << 20) - first as usize)),
                (1 << 20, Ok(1 << 20)),
                (2 << 20, Ok(first as usize + 100)),
            ]
        );
        assert_eq!(outcome.written_bytes, 1024 + (2 << 20) + 100);
        assert_eq!(outcome.hole_bytes, 32 << 10);
    }
}

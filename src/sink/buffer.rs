//! A worker's buffer, so that thousands of small files become a few large writes. Knows neither
//! files nor segments.

use super::{Destination, Outcome, WriteError};
use crate::event::Observer;

/// Larger buffers were slower on ext4 by a factor of 1.2 to 6, smaller ones cost system calls.
pub(super) const CAPACITY_BYTES: usize = 1 << 20;

/// Every write begins and ends on such a boundary, but for the image's last: pages of the host and
/// blocks of its disks. The memory lies on one too; the system copies it faster, and can take it
/// past the page cache.
pub(super) const BLOCK_BYTES: usize = 4096;

/// A run of zeros shorter than this is cheaper to write than to step over.
pub(super) const MIN_HOLE_BYTES: u64 = 32 << 10;

pub(super) struct Buffer<'a> {
    destination: &'a dyn Destination,
    watch: &'a dyn Observer,
    /// More than the capacity by what it takes to reach a block's boundary.
    memory: Vec<u8>,
    start: usize,
    filled: usize,
    /// Byte of the image at which the buffer begins: the beginning of a block.
    at: u64,
    outcome: Outcome,
}

impl<'a> Buffer<'a> {
    /// An empty buffer.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn new(
        destination: &'a dyn Destination,
        watch: &'a dyn Observer,
    ) -> Result<Self, WriteError> {
        let mut memory = Vec::new();
        let bytes = CAPACITY_BYTES + BLOCK_BYTES;
        memory.try_reserve_exact(bytes).map_err(|_| WriteError::Memory)?;
        memory.resize(bytes, 0);
        let start = memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        let outcome = Outcome::default();
        Ok(Self { destination, watch, memory, start, filled: 0, at: 0, outcome })
    }

    /// Goes to byte `at` of the image, the beginning of a block. What was not written is forgotten.
    pub(super) fn begin(&mut self, at: u64) {
        self.at = at;
        self.filled = 0;
    }

    /// Room for the next bytes: at least one, at most `wanted`.
    pub(super) fn space(&mut self, wanted: u64) -> Result<&mut [u8], WriteError> {
        if self.filled == self.limit() {
            self.flush()?;
        }
        let room = self.limit() - self.filled;
        let count = usize::try_from(wanted).unwrap_or(usize::MAX).min(room);
        let from = self.start + self.filled;
        Ok(&mut self.memory[from..from + count])
    }

    /// The first `count` bytes of the room are filled now.
    pub(super) fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// The next `len` bytes are zero. Whole blocks of many are stepped over.
    pub(super) fn zeros(&mut self, len: u64) -> Result<(), WriteError> {
        if len < MIN_HOLE_BYTES {
            return self.put_zeros(len);
        }
        // Less than a block, hence less than there are.
        let to_boundary = self.to_boundary();
        self.put_zeros(to_boundary)?;
        self.flush()?;
        let len = len - to_boundary;
        let blocks = len - len % BLOCK_BYTES as u64;
        self.outcome = self.outcome.plus(&self.destination.zeros(self.at, blocks)?);
        self.at += blocks;
        self.watch.advance(blocks);
        self.put_zeros(len - blocks)
    }

    /// The next `len` bytes, whole blocks, are in the image already.
    pub(super) fn skip(&mut self, len: u64) -> Result<(), WriteError> {
        self.flush()?;
        self.at += len;
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn flush(&mut self) -> Result<(), WriteError> {
        if self.watch.must_stop() {
            return Err(WriteError::Stopped);
        }
        if self.filled > 0 {
            let bytes = &self.memory[self.start..self.start + self.filled];
            self.destination.write(self.at, bytes)?;
            let count = self.filled as u64;
            self.at += count;
            self.filled = 0;
            self.outcome.written_bytes += count;
            self.watch.advance(count);
        }
        Ok(())
    }

    /// What this buffer has written in all.
    pub(super) fn outcome(self) -> Outcome {
        self.outcome
    }

    fn put_zeros(&mut self, len: u64) -> Result<(), WriteError> {
        let mut left = len;
        while left > 0 {
            let space = self.space(left)?;
            space.fill(0);
            let count = space.len();
            self.filled(count);
            left -= count as u64;
        }
        Ok(())
    }

    /// Bytes up to the end of the block in which the next byte lies; none at its beginning.
    fn to_boundary(&self) -> u64 {
        let position = self.at + self.filled as u64;
        position.next_multiple_of(BLOCK_BYTES as u64) - position
    }

    /// Bytes that the buffer may hold where it begins: writes end on multiples of its capacity.
    fn limit(&self) -> usize {
        let past = usize::try_from(self.at % CAPACITY_BYTES as u64).unwrap_or(0);
        CAPACITY_BYTES - past
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Log(Mutex<Vec<(u64, Result<usize, u64>)>>);

    impl Destination for Log {
        fn write(&self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
            assert!(bytes.as_ptr().addr().is_multiple_of(BLOCK_BYTES), "memory is not aligned");
            self.0.lock().unwrap().push((at, Ok(bytes.len())));
            Ok(())
        }

        fn zeros(&self, at: u64, len: u64) -> Result<Outcome, WriteError> {
            self.0.lock().unwrap().push((at, Err(len)));
            Ok(Outcome::hole(len))
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
    fn small_pieces_share_a_write_and_whole_blocks_of_zeros_are_stepped_over() {
        let log = Log::default();
        let mut buffer = Buffer::new(&log, &()).unwrap();
        fill(&mut buffer, 100);
        buffer.zeros(412).unwrap();
        fill(&mut buffer, 512);
        buffer.zeros(32 << 10).unwrap();
        fill(&mut buffer, 2 << 20);
        buffer.zeros(100).unwrap();
        buffer.flush().unwrap();
        let outcome = buffer.outcome();
        // The hole begins with the second block and ends before the block with its last 1024 bytes.
        let after = 32 << 10;
        assert_eq!(
            *log.0.lock().unwrap(),
            [
                (0, Ok(4096)),
                (4096, Err(after - 4096)),
                (after, Ok((1 << 20) - after as usize)),
                (1 << 20, Ok(1 << 20)),
                (2 << 20, Ok(1024 + after as usize + 100)),
            ]
        );
        assert_eq!(outcome.written_bytes, 4096 + 1024 + (2 << 20) + 100);
        assert_eq!(outcome.hole_bytes, (32 << 10) - 4096);
    }
}

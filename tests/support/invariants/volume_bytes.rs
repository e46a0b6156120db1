//! Reads pieces of an image file, and figures in them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const PIECE_BYTES: u64 = 1 << 20;
static ZEROS: [u8; PIECE_BYTES as usize] = [0; PIECE_BYTES as usize];

/// The bytes of the image file from the start of the volume on; behind the end of the file they
/// read as zeros.
pub struct VolumeBytes {
    file: File,
    start: u64,
    file_bytes: u64,
}

impl VolumeBytes {
    pub fn open(image: &Path, start: u64) -> io::Result<VolumeBytes> {
        let mut file = File::open(image)?;
        let file_bytes = file.seek(SeekFrom::End(0))?;
        Ok(VolumeBytes { file, start, file_bytes })
    }

    /// How many bytes the file has from the start of the volume on.
    pub fn length(&self) -> u64 {
        self.file_bytes.saturating_sub(self.start)
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        if position < self.length() {
            let mut file = &self.file;
            file.seek(SeekFrom::Start(self.start + position))?;
            while filled < buffer.len() {
                match file.read(&mut buffer[filled..]) {
                    Ok(0) => break,
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        buffer[filled..].fill(0);
        Ok(())
    }

    /// `count` is bounded by the caller, never a figure from the image as it stands.
    pub fn read(&self, position: u64, count: u64) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; count as usize];
        self.read_at(position, &mut buffer)?;
        Ok(buffer)
    }

    /// Calls `see` with the position and the bytes of each piece of the range, until it returns
    /// false.
    pub fn pieces(
        &self,
        mut position: u64,
        end: u64,
        mut see: impl FnMut(u64, &[u8]) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; PIECE_BYTES.min(end.saturating_sub(position)) as usize];
        while position < end {
            let piece = &mut buffer[..PIECE_BYTES.min(end - position) as usize];
            self.read_at(position, piece)?;
            if !see(position, piece)? {
                break;
            }
            position += piece.len() as u64;
        }
        Ok(())
    }

    /// The position of the first byte in the range that is not zero.
    pub fn first_nonzero(&self, position: u64, end: u64) -> io::Result<Option<u64>> {
        let mut found = None;
        // What lies behind the end of the file is zero by definition.
        self.pieces(position, end.min(self.length()), |position, piece| {
            // Comparing slices is fast even in a debug build, a loop over the bytes is not.
            if piece != &ZEROS[..piece.len()] {
                let index = piece.iter().position(|&byte| byte != 0);
                found = index.map(|index| position + index as u64);
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }
}

/// Little-endian figures at a place in a buffer that is known to be long enough.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

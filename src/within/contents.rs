//! What lies in a place now: a FAT volume, nothing at all, or something that somebody may want to keep.
//! Names what it can; that is for people, and decides nothing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};

use crate::fat::boot::BOOT_SECTOR_BYTES;
use crate::fat::mount::decode_boot_sector;

/// Bytes that are read at once where only zeros may be.
const PIECE_BYTES: u64 = 1 << 20;

/// Where in a place, and by which bytes, others are known.
const MARKS: [(u64, &[u8], &str); 12] = [
    (3, b"NTFS    ", "NTFS"),
    (3, b"EXFAT   ", "exFAT"),
    (1080, b"\x53\xEF", "ext2, ext3 or ext4"),
    (0, b"XFSB", "XFS"),
    (0x10040, b"_BHRfS_M", "btrfs"),
    (1024, b"\x10\x20\xF5\xF2", "F2FS"),
    (0, b"hsqs", "squashfs"),
    (1024, b"\xE2\xE1\xF5\xE0", "EROFS"),
    (0, b"LUKS\xBA\xBE", "an encrypted volume (LUKS)"),
    (512, b"LABELONE", "a part of a volume group (LVM)"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0x8001, b"CD001", "ISO 9660"),
];

/// What lies in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// A FAT volume that says so of itself.
    Fat {
        /// Its length.
        bytes: u64,
        /// Its sectors.
        sector_bytes: u32,
    },
    /// Zeros.
    Blank,
    /// Anything else, by name where it is known.
    Other(Option<&'static str>),
}

/// What lies in `place`, which is within `file`.
pub(super) fn of(file: &File, place: Range<u64>) -> io::Result<Contents> {
    let mut sector = [0; BOOT_SECTOR_BYTES];
    if place.end - place.start >= sector.len() as u64 {
        file.read_exact_at(&mut sector, place.start)?;
        if let Ok(boot) = decode_boot_sector(&sector) {
            let (bytes, sector_bytes) =
                (boot.geometry.volume_bytes(), boot.geometry.sector_bytes());
            return Ok(Contents::Fat { bytes, sector_bytes });
        }
    }
    for (at, mark, name) in MARKS {
        let at = place.start + at;
        let mut found = [0; 10];
        let Some(found) = found.get_mut(..mark.len()) else { continue };
        if at + mark.len() as u64 <= place.end {
            file.read_exact_at(found, at)?;
            if found == mark {
                return Ok(Contents::Other(Some(name)));
            }
        }
    }
    Ok(if is_zero(file, place)? { Contents::Blank } else { Contents::Other(None) })
}

/// Whether a stretch is zero. Holes are stepped over.
fn is_zero(file: &File, stretch: Range<u64>) -> io::Result<bool> {
    let mut piece = Vec::new();
    let mut at = stretch.start;
    loop {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data_at) => data_at,
            Err(rustix::io::Errno::NXIO) => return Ok(true),
            // The file system knows no holes: all is data.
            Err(_) => at,
        };
        if at >= stretch.end {
            return Ok(true);
        }
        let count = usize::try_from((stretch.end - at).min(PIECE_BYTES)).unwrap_or(0);
        piece.resize(count, 0);
        file.read_exact_at(&mut piece, at)?;
        if piece.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        at += count as u64;
    }
}

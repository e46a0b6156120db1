//! What lies in a place now: a FAT volume, nothing at all, or something that somebody may want to keep.
//! Names what it can; that is for people, and decides nothing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::fat::boot::BOOT_SECTOR_BYTES;
use crate::fat::mount::decode_boot_sector;
use crate::verify::bytes::first_not_zero;

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
    let data_at = first_not_zero(file, place, || io::Result::Ok(()))?;
    Ok(data_at.map_or(Contents::Blank, |_| Contents::Other(None)))
}

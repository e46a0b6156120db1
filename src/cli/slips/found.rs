//! What a word of the command line is on the disk, as far as a slip tells sources and image apart.
//! Reads a sector at most.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Found {
    /// Nothing, or nothing that may be seen.
    Nothing,
    /// What goes in as it is: a directory or a manifest.
    Source,
    /// A file that is no image, and not to be written over for a guess.
    File,
    /// An image or the place of one: a boot sector or a table begins it, or zeros or nothing are in
    /// it, or it is a device.
    Image,
}

const SECTOR_BYTES: u64 = 512;

pub(in crate::cli) fn on_disk(word: &OsStr) -> Found {
    let Ok(metadata) = fs::metadata(word) else { return Found::Nothing };
    if metadata.is_dir() {
        return Found::Source;
    }
    // Opening a pipe would wait for its other end.
    if !metadata.is_file() {
        return Found::Image;
    }
    match first_sector(Path::new(word)) {
        Ok(sector) if sector.starts_with(b"#mtree") => Found::Source,
        _ if Path::new(word).extension().is_some_and(|ending| ending == "mtree") => Found::Source,
        Ok(sector) if sector.ends_with(&[0x55, 0xAA]) => Found::Image,
        Ok(sector) if sector.iter().all(|byte| *byte == 0) => Found::Image,
        _ => Found::File,
    }
}

fn first_sector(path: &Path) -> io::Result<Vec<u8>> {
    let mut sector = Vec::new();
    File::open(path)?.take(SECTOR_BYTES).read_to_end(&mut sector)?;
    Ok(sector)
}

//! What the host says of one file or directory, in the figures that a tree needs. Knows no names.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Mode, Stat};

use super::tree::Identity;

/// Bytes of the blocks in which `st_blocks` counts.
const STAT_BLOCK_BYTES: u64 = 512;

/// What is at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) identity: Identity,
    pub(super) file_type: FileType,
    pub(super) size_bytes: u64,
    /// KiB of it that the host does not store, as many as the field holds.
    pub(super) hole_kib: u32,
    /// Whether everybody may read it.
    pub(super) open_to_all: bool,
    /// Whether its owner may not write it.
    pub(super) read_only: bool,
}

impl Seen {
    pub(super) fn is_directory(&self) -> bool {
        self.file_type == FileType::Directory
    }

    pub(super) fn is_file(&self) -> bool {
        self.file_type == FileType::RegularFile
    }

    fn new(identity: Identity, mode: u32, size_bytes: u64, blocks: u64) -> Self {
        // Less than a KiB is the end of a block, or a file that lies in its inode.
        let hole_bytes = size_bytes.saturating_sub(blocks.saturating_mul(STAT_BLOCK_BYTES));
        Self {
            identity,
            file_type: FileType::from_raw_mode(mode),
            size_bytes,
            hole_kib: u32::try_from(hole_bytes / 1024).unwrap_or(u32::MAX),
            open_to_all: Mode::from_raw_mode(mode).contains(Mode::RUSR | Mode::RGRP | Mode::ROTH),
            read_only: !Mode::from_raw_mode(mode).contains(Mode::WUSR),
        }
    }
}

impl From<&Metadata> for Seen {
    fn from(metadata: &Metadata) -> Self {
        let identity = Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified_seconds: metadata.mtime(),
            // Always below a thousand million.
            modified_nanoseconds: metadata.mtime_nsec() as u32,
            changed_seconds: metadata.ctime(),
            changed_nanoseconds: metadata.ctime_nsec() as u32,
        };
        Self::new(identity, metadata.mode(), metadata.size(), metadata.blocks())
    }
}

impl From<&Stat> for Seen {
    // The fields' types differ from machine to machine; none holds more than what is kept.
    #[allow(clippy::unnecessary_cast)]
    fn from(stat: &Stat) -> Self {
        let identity = Identity {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            modified_seconds: stat.st_mtime as i64,
            modified_nanoseconds: stat.st_mtime_nsec as u32,
            changed_seconds: stat.st_ctime as i64,
            changed_nanoseconds: stat.st_ctime_nsec as u32,
        };
        Self::new(identity, stat.st_mode as u32, stat.st_size as u64, stat.st_blocks as u64)
    }
}

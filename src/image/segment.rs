//! What an image is made of. Knows no bytes.

use crate::source::NodeId;

/// A stretch of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Byte offset in the image.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// What fills it.
    pub body: Body,
    /// The part of the image that it belongs to.
    pub region: Region,
}

/// What fills a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Structures of the volume, to be had from [`super::Image::render`].
    Meta(Meta),
    /// The bytes of a file of the source.
    Content(NodeId),
    /// Zeros.
    Zero,
}

/// A structure of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meta {
    /// Boot sector and, on FAT32, FSInfo and the backups of both.
    Reserved,
    /// A FAT; all copies are equal.
    Fat,
    /// The records of a directory, the fixed root among them.
    Directory(NodeId),
    /// The partition table at the disk's beginning.
    Table,
    /// Its backup at the disk's end.
    BackupTable,
}

/// A part of the image, in the order of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// The partition table, up to the partition.
    Table,
    /// Boot sector to the sector before the first FAT.
    Reserved,
    /// A FAT, counted from 0.
    Fat(u8),
    /// The root directory.
    Root,
    /// All other directories.
    Directories,
    /// Files.
    Files,
    /// Clusters that nothing owns, and sectors that make up no cluster.
    Free,
    /// Behind the partition: the backup of the table.
    BackupTable,
}

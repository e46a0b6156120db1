//! Why a volume cannot go to a place, as facts and as one line each. Decides nothing.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::disk::found::FoundType;
use crate::printable;

/// A place that cannot be had.
#[derive(Debug, Error)]
#[error("{}: {fact}", printable::path(path))]
pub struct NoPlace {
    /// The image.
    pub path: PathBuf,
    /// Why.
    pub fact: Fact,
}

/// Why a place cannot be had.
#[derive(Debug, Error)]
pub enum Fact {
    /// The image cannot be read.
    #[error("cannot be read: {}", printable::error(.0))]
    Unreadable(#[from] io::Error),
    /// A disk has devices for its partitions.
    #[error("is a block device; name the device of the partition as the output instead")]
    BlockDevice,
    /// A directory, a pipe and so on.
    #[error("is no regular file")]
    NotAFile,
    /// No table to find a partition in.
    #[error(
        "has no partition table{}",
        if *is_volume { ", but is a FAT volume itself: its place is @0" } else { "" }
    )]
    NoTable {
        /// Whether the image is a volume.
        is_volume: bool,
    },
    /// A GPT whose digests are wrong.
    #[error("has a damaged GPT; let a partitioner repair it first")]
    DamagedTable,
    /// The table has no such partition.
    #[error("has no partition {number}; it has {}", List(there))]
    NoPartition {
        /// As asked for.
        number: u32,
        /// Those that there are.
        there: Vec<u32>,
    },
    /// The partition is for something else.
    #[error(
        "partition {number} is of type {}, which is not for FAT; change the type first if it is to hold FAT",
        type_text(*partition_type)
    )]
    OtherType {
        /// The partition.
        number: u32,
        /// Its type.
        partition_type: FoundType,
    },
    /// The partition holds others.
    #[error(
        "partition {number} is an extended one, which holds others; name the volume in it by its first byte (IMAGE@OFFSET)"
    )]
    Extended {
        /// The partition.
        number: u32,
    },
    /// The partition is not all there.
    #[error(
        "partition {number} ends at byte {end}, and the image has {bytes} bytes; the image was cut"
    )]
    PartitionOutside {
        /// The partition.
        number: u32,
        /// Its end.
        end: u64,
        /// Bytes of the image.
        bytes: u64,
    },
    /// Two partitions claim the same bytes.
    #[error("partition {number} overlaps partition {other}; correct the table first")]
    Overlaps {
        /// The partition.
        number: u32,
        /// The one that it overlaps.
        other: u32,
    },
    /// The place has bytes in common with the table.
    #[error("the place lies over the partition table or its backup; correct the table first")]
    OverTable,
    /// Something that may be wanted.
    #[error(
        "partition {number} holds {}; add --force to overwrite it",
        what.unwrap_or("something that is no FAT volume")
    )]
    Holds {
        /// The partition.
        number: u32,
        /// What it seems to be.
        what: Option<&'static str>,
    },
    /// Nothing tells how long the place is.
    #[error(
        "no FAT volume begins at byte {at}, so that nothing tells how much may be written there; name a partition"
    )]
    NoVolume {
        /// As asked for.
        at: u64,
    },
    /// The place is not all there.
    #[error("the place ends at byte {end}, and the image has {bytes} bytes")]
    Outside {
        /// Its end.
        end: u64,
        /// Bytes of the image.
        bytes: u64,
    },
    /// Not the beginning of a sector.
    #[error("byte {at} lies within a sector of {sector_bytes} bytes")]
    WithinSector {
        /// As asked for.
        at: u64,
        /// Bytes of a sector of the volume there.
        sector_bytes: u32,
    },
    /// The volume says that it is longer than its partition.
    #[error(
        "the volume there says that it ends at byte {end}, across an end of partition {number}; name the partition"
    )]
    ReachesOver {
        /// Its end.
        end: u64,
        /// The partition.
        number: u32,
    },
}

/// `none`, `1`, or `1, 2 and 5`.
struct List<'a>(&'a [u32]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((last, others)) = self.0.split_last() else { return f.write_str("none") };
        for (index, number) in others.iter().enumerate() {
            write!(f, "{}{number}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "{}{last}", if others.is_empty() { "" } else { " and " })
    }
}

fn type_text(partition_type: FoundType) -> String {
    match partition_type {
        FoundType::Mbr(byte) => format!("{byte:02X}"),
        FoundType::Gpt(guid) => guid.to_string(),
    }
}

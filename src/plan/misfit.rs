//! Why no volume is as asked for, as facts and as one line each. Decides nothing.

use std::fmt;

use thiserror::Error;

use super::problem::{Blame, Figures};
use super::profile::refusal::Refusal;
use crate::disk::Scheme;
use crate::event::ProblemKind;
use crate::fat::boot::MIN_FAT32_RESERVED_SECTORS;
use crate::fat::kind::FatKind;
use crate::units::as_typed;

/// What was asked of type and cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The type, if one was named.
    pub kind: Option<FatKind>,
    /// The cluster size, if one was named.
    pub cluster_bytes: Option<u32>,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{kind}")?,
            None => f.write_str("FAT")?,
        }
        match self.cluster_bytes {
            Some(bytes) => write!(f, " with clusters of {bytes} bytes"),
            None => Ok(()),
        }
    }
}

/// Why there is no volume as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misfit {
    /// The size ends inside a sector.
    #[error(
        "--size {bytes} is no whole number of sectors of {sector_bytes} bytes; use {}",
        whole_sectors(*bytes, *sector_bytes)
    )]
    SizeNotWholeSectors {
        /// The size.
        bytes: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// More sectors than 32 bits count.
    #[error(
        "--size {} is too large; with sectors of {sector_bytes} bytes a FAT volume has at most {most} bytes",
        as_typed(*bytes)
    )]
    SizeOverLimit {
        /// The size.
        bytes: u64,
        /// The largest size.
        most: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// A place with more sectors than 32 bits count.
    #[error(
        "{} are too many for one FAT volume; with sectors of {sector_bytes} bytes it has at most {most} bytes",
        as_typed(*bytes)
    )]
    PlaceOverLimit {
        /// Bytes of the place.
        bytes: u64,
        /// The largest size.
        most: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// The place is smaller than any volume as asked for.
    #[error("{} are too few for a {asked} volume, which has at least {}", as_typed(*bytes), as_typed(*least))]
    PlaceTooSmall {
        /// Bytes of the place.
        bytes: u64,
        /// What was asked.
        asked: Asked,
        /// The least size.
        least: u64,
    },
    /// The partition begins inside a sector.
    #[error(
        "a partition that starts at byte {start_bytes} starts within a sector of {sector_bytes} bytes; use a multiple of {sector_bytes}"
    )]
    StartNotWholeSectors {
        /// As asked.
        start_bytes: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// The partition begins where the table is.
    #[error(
        "--partition-start {} lies in the partition table; use {} or more",
        as_typed(*start_bytes),
        as_typed(*least)
    )]
    StartInTable {
        /// As asked.
        start_bytes: u64,
        /// The table's end.
        least: u64,
    },
    /// More sectors before the volume than its boot sector can tell.
    #[error(
        "a volume that starts at byte {start_bytes} is too far into the disk for its boot sector, which tells places up to {most}"
    )]
    StartOverLimit {
        /// As asked.
        start_bytes: u64,
        /// The last place.
        most: u64,
    },
    /// Where the partition begins is asked for twice.
    #[error("--hidden-sectors is where the partition begins, which is known; leave it out")]
    HiddenSectorsOfPartition,
    /// Something that the other kind of table has.
    #[error("{flag} is of the other kind of table than {}; {remedy}", scheme.id())]
    NotOfTable {
        /// The flag.
        flag: &'static str,
        /// The table that was asked for.
        scheme: Scheme,
        /// What to do.
        remedy: &'static str,
    },
    /// FAT32 has no fixed root directory.
    #[error("--root-entries is for FAT12 and FAT16: the root directory of FAT32 grows by itself")]
    RootEntriesOnFat32,
    /// The root directory ends inside a sector.
    #[error("--root-entries {entries} does not fill whole sectors; use a multiple of {per_sector}")]
    RootEntriesNotWholeSectors {
        /// As asked.
        entries: u16,
        /// Records in a sector.
        per_sector: u64,
    },
    /// The boundary lies inside a sector.
    #[error("--align {align_bytes} is no multiple of the sector size, {sector_bytes} bytes")]
    AlignNotWholeSectors {
        /// As asked.
        align_bytes: u32,
        /// The sector.
        sector_bytes: u64,
    },
    /// A cluster is 1 to 128 sectors.
    #[error(
        "--cluster-size {cluster_bytes} is not possible with sectors of {sector_bytes} bytes; use {sector_bytes} to {}",
        (128 * sector_bytes).min(65536)
    )]
    ClusterOutOfRange {
        /// As asked.
        cluster_bytes: u32,
        /// The sector.
        sector_bytes: u64,
    },
    /// FAT32 keeps its boot sector, FSInfo and their backups there.
    #[error(
        "--reserved-sectors {0} is too few for FAT32, which keeps {MIN_FAT32_RESERVED_SECTORS} sectors there; use {MIN_FAT32_RESERVED_SECTORS} or more"
    )]
    ReservedTooFew(u16),
    /// The given number of reserved sectors and the given boundary do not agree.
    #[error(
        "--reserved-sectors {reserved} leaves the data area off the boundary that --align asks for; leave out one of the two"
    )]
    Misaligned {
        /// As asked.
        reserved: u16,
    },
    /// A fixed root directory that the tree's root does not fit into.
    #[error(
        "root directory needs {needed} entries, long names and label included, and may have {most}; {remedy}"
    )]
    RootTooSmall {
        /// Records that the tree's root takes.
        needed: u64,
        /// Records that it may have.
        most: u16,
        /// What to do.
        remedy: String,
    },
    /// The volume is smaller than any as asked for.
    #[error("--size {} is too small for a {asked} volume; the smallest is --size {}", as_typed(*bytes), as_typed(*least))]
    NoVolumeSoSmall {
        /// The size.
        bytes: u64,
        /// What was asked.
        asked: Asked,
        /// The least size.
        least: u64,
    },
    /// The cluster count would not be one of the type.
    #[error("{asked} is not possible in {}{}; {advice}", as_typed(*bytes), found.as_deref().unwrap_or(""))]
    IllegalCount {
        /// What was asked.
        asked: Asked,
        /// The size.
        bytes: u64,
        /// What it would come to, where one type was meant.
        found: Option<String>,
        /// What would be legal.
        advice: String,
    },
    /// The tree does not fit.
    #[error(
        "image of {} is too small: the source{} needs {} in clusters of {}{}, and there is room for {}; {advice}",
        as_typed(*image_bytes),
        if *complete { "" } else { ", as far as it was not refused," },
        as_typed(needed.saturating_mul((*cluster_bytes).into())),
        as_typed(u64::from(*cluster_bytes)),
        match free {
            0 => String::new(),
            free => format!(" and {} that stay free", as_typed(free.saturating_mul((*cluster_bytes).into()))),
        },
        as_typed(available.saturating_mul((*cluster_bytes).into())),
    )]
    TooSmall {
        /// The size asked for.
        image_bytes: u64,
        /// Whether the demand is of the whole tree.
        complete: bool,
        /// Clusters that the tree fills.
        needed: u64,
        /// Clusters that are to stay free.
        free: u64,
        /// Clusters of the volume.
        available: u64,
        /// Bytes of a cluster.
        cluster_bytes: u32,
        /// A size that would do, if any does.
        size_bytes: Option<u64>,
        /// What would do.
        advice: String,
    },
    /// The consumer that the image is for does not read it.
    #[error(transparent)]
    Refused(Refusal),
    /// No size would do.
    #[error("{asked} cannot hold the source at any size; {advice}")]
    NoSize {
        /// What was asked.
        asked: Asked,
        /// What to change.
        advice: String,
    },
}

impl Misfit {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Refused(refusal) => refusal.blame(),
            Self::SizeOverLimit { .. }
            | Self::SizeNotWholeSectors { .. }
            | Self::RootEntriesOnFat32
            | Self::RootEntriesNotWholeSectors { .. }
            | Self::AlignNotWholeSectors { .. }
            | Self::StartNotWholeSectors { .. }
            | Self::StartInTable { .. }
            | Self::StartOverLimit { .. }
            | Self::HiddenSectorsOfPartition
            | Self::NotOfTable { .. }
            | Self::ClusterOutOfRange { .. } => Blame::CommandLine,
            Self::ReservedTooFew(_)
            | Self::Misaligned { .. }
            | Self::PlaceOverLimit { .. }
            | Self::PlaceTooSmall { .. }
            | Self::RootTooSmall { .. }
            | Self::NoVolumeSoSmall { .. }
            | Self::IllegalCount { .. }
            | Self::TooSmall { .. }
            | Self::NoSize { .. } => Blame::Format,
        }
    }

    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Refused(refusal) => refusal.problem_kind(),
            Self::SizeNotWholeSectors { .. } => ProblemKind::SizeNotWholeSectors,
            Self::SizeOverLimit { .. } | Self::PlaceOverLimit { .. } => ProblemKind::SizeOverLimit,
            Self::RootEntriesOnFat32
            | Self::RootEntriesNotWholeSectors { .. }
            | Self::AlignNotWholeSectors { .. }
            | Self::ClusterOutOfRange { .. }
            | Self::ReservedTooFew(_)
            | Self::StartNotWholeSectors { .. }
            | Self::StartInTable { .. }
            | Self::StartOverLimit { .. }
            | Self::HiddenSectorsOfPartition
            | Self::NotOfTable { .. }
            | Self::Misaligned { .. } => ProblemKind::OptionsDisagree,
            Self::RootTooSmall { .. } => ProblemKind::RootTooSmall,
            Self::NoVolumeSoSmall { .. } | Self::PlaceTooSmall { .. } => {
                ProblemKind::SizeUnderLimit
            }
            Self::IllegalCount { .. } => ProblemKind::NoSuchVolume,
            Self::TooSmall { .. } => ProblemKind::TooSmall,
            Self::NoSize { .. } => ProblemKind::NoSize,
        }
    }

    /// The numbers in it.
    pub fn figures(&self) -> Figures {
        let none = Figures::default();
        match *self {
            Self::Refused(ref refusal) => refusal.figures(),
            Self::SizeNotWholeSectors { bytes, sector_bytes } => Figures {
                bytes: Some(bytes),
                needed_bytes: Some(whole_sectors(bytes, sector_bytes)),
                ..none
            },
            Self::SizeOverLimit { bytes, most, .. } | Self::PlaceOverLimit { bytes, most, .. } => {
                Figures { bytes: Some(bytes), limit_bytes: Some(most), ..none }
            }
            Self::NoVolumeSoSmall { bytes, least, .. }
            | Self::PlaceTooSmall { bytes, least, .. } => {
                Figures { bytes: Some(bytes), needed_bytes: Some(least), ..none }
            }
            Self::IllegalCount { bytes, .. } => Figures { bytes: Some(bytes), ..none },
            Self::TooSmall { image_bytes, size_bytes, .. } => {
                Figures { bytes: Some(image_bytes), needed_bytes: size_bytes, ..none }
            }
            Self::RootTooSmall { needed, most, .. } => {
                Figures { records: Some(needed), limit_records: Some(most.into()), ..none }
            }
            Self::RootEntriesOnFat32
            | Self::RootEntriesNotWholeSectors { .. }
            | Self::AlignNotWholeSectors { .. }
            | Self::ClusterOutOfRange { .. }
            | Self::ReservedTooFew(_)
            | Self::StartNotWholeSectors { .. }
            | Self::StartInTable { .. }
            | Self::StartOverLimit { .. }
            | Self::HiddenSectorsOfPartition
            | Self::NotOfTable { .. }
            | Self::Misaligned { .. }
            | Self::NoSize { .. } => none,
        }
    }
}

/// The next size of whole sectors, or the one before where that would be too large.
fn whole_sectors(bytes: u64, sector_bytes: u64) -> u64 {
    let sectors = bytes.div_ceil(sector_bytes).min(u64::from(u32::MAX));
    sectors * sector_bytes
}
